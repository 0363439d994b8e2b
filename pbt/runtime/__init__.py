"""Where components live and what happens when one dies."""
