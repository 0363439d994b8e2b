"""Pure networks: encoders, a recurrent core, heads, and distributions over actions."""
