"""Matchmaking: which players sit at a table, live members and frozen snapshots alike."""
