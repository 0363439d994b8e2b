"""Programs that the service starts: each is one process with its own standard input and output."""
