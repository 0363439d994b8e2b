"""Everything shared or sent: the slab table, messages, published weights. The only part that
knows processes may exist.
"""
