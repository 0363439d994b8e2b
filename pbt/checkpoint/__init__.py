"""Checkpoints: the state of a whole run, in one form for all placements, and its files on disk."""
