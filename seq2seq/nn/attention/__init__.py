"""Attention: one query at a time or many at once, over keys and values that are projected once."""
