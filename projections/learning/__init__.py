"""What the owner's accesses teach: keys, their weights, the ranker's, and the bar."""
