"""Checkpoints: the state of a whole run, in one form for every placement, and its files on disk."""
