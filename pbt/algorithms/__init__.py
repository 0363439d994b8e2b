"""Algorithms: the formulas that turn experience into gradients, and what acting keeps for them."""
