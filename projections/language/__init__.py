"""Texts as words: stems by language, scripts without spaces, and what a phrase says beyond its words."""
