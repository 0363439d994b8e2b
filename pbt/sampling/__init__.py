"""Sampling steps the tables' games and fills slots with what the learning seats experience."""
