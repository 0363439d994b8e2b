"""From full slots to better weights: V-trace, losses, batches, the learner, and the reducer
between learners.
"""
