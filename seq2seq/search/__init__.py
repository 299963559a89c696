"""Decoding strategies: they see encode, start and step, and never a model."""
