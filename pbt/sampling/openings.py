"""Openings: the first moves of a game, which are drawn from its seed and not asked of players."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from pbt.envs.actions import ActionSpec
from pbt.envs.contract import Action
from pbt.sampling.rows import RowWriter
from pbt.sampling.seats import Indices
from pbt.sampling.table import Table, TableState
from pbt.seeding import hashed


def opening_action(
    seed: int, ply: int, seat: int, mask: NDArray[np.bool_] | None, spec: ActionSpec
) -> Action:
    """A random legal action, as the player "random" draws it.

    It depends on the seed, the ply and the seat only, so both games of a pair open alike.
    """
    return spec.drawn(mask, hashed(_keys(seed, ply, seat, spec.width)))


def draw_openings(
    tables: Sequence[Table], state: TableState, seats: Indices, rows: RowWriter
) -> None:
    """Draw what seats of one role do next in the openings of their games: `opening_action` of many.

    tables  of the worker, by position
    seats   [N]
    rows    of their role
    """
    if not len(seats):
        return
    at = state.seats.slot[seats], state.seats.row[seats]
    rows.fingerprint(*at, state.origins(seats))
    positions = seats // state.seats.per_table
    seeds = [tables[position].plan.opening_seed for position in positions.tolist()]
    numbers = seats - positions * state.seats.per_table
    width, moves = rows.spec.width, state.moves[positions].tolist()
    places = zip(seeds, moves, numbers.tolist(), strict=True)
    keys = [key for place in places for key in _keys(*place, width)]
    actions = rows.spec.random_act({}, rows.mask[at], hashed(keys).reshape(-1, width))
    state.seats.action[seats, : rows.spec.width] = actions.astype(rows.actions.dtype)


def _keys(seed: int, ply: int, seat: int, width: int) -> list[tuple[int | str, ...]]:
    """The keys of the numbers of which the player "random" makes an action of `width` parts."""
    return [(seed, "opening", ply, seat, part) for part in range(width)]
