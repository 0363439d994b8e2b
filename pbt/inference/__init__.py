"""Inference: acting for many tables at once, by a policy server in this process or in another."""
