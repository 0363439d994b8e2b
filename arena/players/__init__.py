"""Players: finding them by name, loading their weights, and moving them between leagues.

Scripts and notebooks import `load_player` from here. It is imported on first use, because it loads
torch, and the rest of this package is used without torch.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from arena.players.load import load_player as load_player


def __getattr__(name: str) -> Any:
    """Module attribute access (PEP 562). Raises: AttributeError unless it is `load_player`."""
    if name == "load_player":
        from arena.players.load import load_player

        return load_player
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
