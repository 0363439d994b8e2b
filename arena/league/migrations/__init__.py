"""Alembic's migration scripts, which `arena.league.migrate` runs when a league needs an upgrade."""
