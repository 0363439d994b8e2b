"""Inference: a policy server, in this process or in another, acts for many tables at once."""
