"""The embedded corpus: aligned English-German sentence pairs from a small synchronous grammar."""
