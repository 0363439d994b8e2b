"""Learning turns full slots into new weights: batches, targets, losses, learner and reducers."""
