"""What happened: event types, the envelope around them, and the append-only log that keeps them."""
