"""What is known, and deciding: pure state from events, the indexes over it, snapshots, the searcher and the ranker."""
