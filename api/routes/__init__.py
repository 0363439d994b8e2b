"""The resources, one module per kind."""
