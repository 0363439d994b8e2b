"""Reconciling what is wanted with what runs: trainings, matches, games played by hand, replays."""
