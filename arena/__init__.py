"""The package of results: players, matches, ratings, the league, training, the command line."""
