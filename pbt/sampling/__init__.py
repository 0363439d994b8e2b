"""Acting: tables of games, the policies that play them, and who sits where."""
