"""ViZDoom scenarios as games: one engine process per seat."""
