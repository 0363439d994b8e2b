"""The report of a population: one HTML file that a browser opens without a network.

`read.py` reads the facts, the other modules are pure functions that draw them.
"""
