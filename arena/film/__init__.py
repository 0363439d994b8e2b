"""Games that are played to be filmed."""
