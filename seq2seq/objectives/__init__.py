"""Training objectives: what is summed over the tokens of a batch."""
