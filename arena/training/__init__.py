"""Training a population: from a config, a name and a data directory to league rows and files."""
