"""The contract test that ships: it plays a game, replays it, and names every broken promise."""
