"""The engine: games, models, sampling, learning and population-based training.

It knows no database and no HTTP.
"""

__version__ = "0.2.0"
