"""Adapters: environments of other libraries, and a user's own file, as games of the contract."""
