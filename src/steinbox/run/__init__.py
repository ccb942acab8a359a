"""A run: what was asked, the loop, the result, its warnings, its checkpoint."""
