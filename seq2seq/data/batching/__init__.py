"""Which sentences share a batch: pure plans over lengths."""
