"""Texts as vectors: the encoders, each where it is better."""
