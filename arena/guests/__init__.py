"""Guests: programs outside the league, such as `exec:./bot.py`, that play in its matches.

Their protocol is described in docs/guests.md.
"""
