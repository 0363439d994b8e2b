"""What checkpoints leave to be folded: games that no resume takes back or scores a round from."""

from collections.abc import Sequence

from arena.league.compaction import Settled
from pbt.saved import SavedRun


def settled_in(state: SavedRun) -> Settled:
    """What a resume from this state leaves."""
    controller = state.controller
    windows = {member: games[0][0] for member, games in controller.window.games.items() if games}
    return Settled(controller.games - 1, windows)


def settled_by_all(kept: Sequence[Settled]) -> Settled:
    """What a resume from any of these leaves; at least one."""
    windows: dict[str, int] = {}
    for one in kept:
        for member, first in one.windows.items():
            windows[member] = min(first, windows.get(member, first))
    return Settled(min(one.through for one in kept), windows)
