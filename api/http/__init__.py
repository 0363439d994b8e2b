"""What every HTTP request passes before its route: limits, tokens, problems, caching, logging."""
