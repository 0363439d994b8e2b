"""Programs that play along: `exec:./bot.py` (docs/guests.md)."""
