"""Trainings as processes: what is wanted is in the league, what is there is looked at, and the difference is acted on."""
