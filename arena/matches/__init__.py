"""Matches: planned games between frozen players, how they are played, and what is said of them."""
