"""Players: found by name, loaded with their weights, carried from one league to another.

`load_player` is what scripts and notebooks import from here. It is imported on first use, because
it loads torch and the rest of this package is used without it.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from arena.players.load import load_player as load_player


def __getattr__(name: str) -> Any:
    """Module attribute access (PEP 562). Raises: AttributeError for every other name."""
    if name == "load_player":
        from arena.players.load import load_player

        return load_player
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
