"""Trains a population: a config, a name and a data directory become league rows and files."""
