"""Programs that the service starts, each as one process with its own standard input and output."""
