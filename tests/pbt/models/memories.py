"""The memories that a network may have, as config values."""

from typing import Any

MEMORIES = ("gru", "lstm")


def memory(core: str, size: int) -> dict[str, Any]:
    """The keys of [model] for a memory of this size; core: "none" or one of MEMORIES."""
    return {"core": core} if core == "none" else {"core": core, f"{core}_size": size}
