"""The statistics of games, as pure functions: scores, ratings, sequential tests, intervals."""
