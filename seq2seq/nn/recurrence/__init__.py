"""Recurrences as one operation each, with their backward pass written out: faster on a CPU."""
