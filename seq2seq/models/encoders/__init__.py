"""Encoders: embedded source tokens to a memory."""
