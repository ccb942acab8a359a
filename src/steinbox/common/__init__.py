"""What every room uses: array types, checks of arguments, states as arrays and text."""
