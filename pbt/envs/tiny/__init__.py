"""Tiny exact games whose right answers are known, for tests and first steps."""
