"""Adapters: environments of other libraries, and a user's own file, behind the game contract."""
