"""How much is played where the user does not say."""

MATCH_GAMES = 400
SPRT_GAMES = 40_000
"""At most, with a sequential test."""
TOURNAMENT_GAMES = 100
"""Of each match."""
EPISODES = 100
MOST_SEEDS = 1000
"""Of a comparison."""
