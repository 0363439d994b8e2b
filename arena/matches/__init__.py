"""Matches: planned games between frozen players, how they are played and reported."""
