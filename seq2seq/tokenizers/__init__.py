"""Text to ids and back: word-level and subword tokenizers."""
