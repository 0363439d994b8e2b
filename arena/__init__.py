"""Results: players, matches, ratings, the league, training runs and the command line."""
