"""Markov chains side by side: Metropolis-Hastings with several proposals."""
