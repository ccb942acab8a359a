"""What asv measures."""
