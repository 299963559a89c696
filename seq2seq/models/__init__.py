"""Encoders, decoders, and the sequence-to-sequence model that joins them."""
