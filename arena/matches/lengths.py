"""How much is played where the user does not say."""

MATCH_GAMES = 400
SPRT_GAMES = 40_000
"""At most, with a sequential test."""
TOURNAMENT_GAMES = 100
"""Of each match."""
EPISODES = 100
MOST_SEEDS = 1000
"""Of a comparison."""
MOST_GAMES = 1_000_000
"""Of a match, also episodes. All are planned before the first begins, which takes memory."""
MOST_ROUNDS = 1000
"""Of a tournament."""
MOST_PROCESSES = 1024
MOST_SEED = 2**31 - 1
LONGEST_MOVE_S = 86_400.0
