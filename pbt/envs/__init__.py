"""Games: the contract every game meets, the adapters that make foreign games meet it, and the
registry of names.
"""
