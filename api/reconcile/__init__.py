"""Reconciling what is wanted with what runs: trainings, matches, games by hand, replays."""
