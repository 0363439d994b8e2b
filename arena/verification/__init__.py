"""Verification of a population, a match or the imports: what `arena verify` does."""
