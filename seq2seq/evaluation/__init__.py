"""Translating, scoring and showing what a model does."""
