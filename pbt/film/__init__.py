"""Films: games as videos of what every seat sees, side by side. Needs the extra `video`."""
