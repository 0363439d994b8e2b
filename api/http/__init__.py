"""What every HTTP request passes, whatever it asks: limits, tokens, problems, caching, logging."""
