"""The engine: games, models, sampling, learning, population-based training. Knows no database
and no HTTP.
"""

__version__ = "0.1.0"
