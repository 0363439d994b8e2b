"""Backups of a data directory: made while trainings run, restored into another folder."""
