"""Matchmaking chooses the players of every game, live members and frozen snapshots alike."""
