"""What a push costs: prices, tokens, and the transcripts that they are counted on."""
