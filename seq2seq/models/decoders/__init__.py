"""Decoders: a memory and embedded target tokens to hidden vectors, at once or step by step."""
