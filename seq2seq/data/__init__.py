"""Parallel text: where it comes from, and how it becomes batches."""
