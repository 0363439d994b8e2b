"""Games as videos: what every seat sees, side by side. Needs the extra `video`."""
