"""Alembic's scripts, shipped as package data and run by `arena.league.database` when a league is
opened for writing.
"""
