"""Layers: attention, positions, feed-forward. They see vectors and never a vocabulary."""
