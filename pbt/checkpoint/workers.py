"""A rollout worker's state as columns, and back; the contents of its slots as tensors.

Open games are rebuilt by replaying their actions, and voided where a game cannot be replayed.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor

from pbt.envs.contract import Action
from pbt.envs.groups import Decisions, Turns
from pbt.errors import CheckpointError, EngineError
from pbt.records import PlayerRef
from pbt.sampling.rollout_worker import RolloutWorker
from pbt.sampling.seats import Indices, Seats
from pbt.sampling.table import Table
from pbt.saved import (
    GameColumns,
    SavedFiller,
    SavedWorker,
    SeatColumns,
    TableColumns,
    WaitingColumns,
)
from pbt.transport.messages import UNKNOWN_VERSION, GamePlan, SeatPlan
from pbt.transport.slab import ROUND, Slab

Places = dict[int, int]
"""Slot in a saved state -> slot in this run, of one role."""
_OF_PLAN = [name for name in GameColumns.__struct_fields__ if name in GamePlan._fields]
_OF_TABLE = ("due", "steps", "moves")
_OF_SEAT = [
    name
    for name in SeatColumns.__struct_fields__
    if name not in ("table", "index", "kind", "name", "version_start")
]


def save_worker(worker: RolloutWorker) -> SavedWorker:
    """Return a worker's state without its slabs.

    Raises: EngineError within a turn, when an action is on its way or a table is to be stepped.
    """
    if worker.in_motion:
        raise EngineError("the worker was asked for its state in the middle of a turn")
    playing, numbers = [table for table in worker.tables if table.playing], worker.state.number
    position, seat = np.divmod(worker.asking.waiting, worker.seats.per_table)
    return SavedWorker(
        tables=TableColumns.of((one.index, float(one.levels[one.index])) for one in worker.tables),
        games=saved_games(playing),
        seats=saved_seats(playing, worker.seats),
        waiting=WaitingColumns(table=numbers[position].tolist(), seat=seat.tolist()),
        idle=numbers[worker.idle].tolist(),
        fillers=[
            SavedFiller(filler.pool.state(), filler.produced, dict(filler.dropped))
            for filler in worker.fillers
        ],
    )


def saved_games(playing: Sequence[Table]) -> GameColumns:
    begun = [_begun_move(table) for table in playing]
    return GameColumns(
        table=[table.index for table in playing],
        **{name: [getattr(table.plan, name) for table in playing] for name in _OF_PLAN},
        **{name: [getattr(table, name) for table in playing] for name in _OF_TABLE},
        history=[
            table.state.history.flat(table.position)
            + [part for seat, action in move for part in (seat, *action)]
            for table, move in zip(playing, begun, strict=True)
        ],
        actions=[[(seat, list(action)) for seat, action in move] for move in begun],
    )


def saved_seats(playing: Sequence[Table], seats: Seats) -> SeatColumns:
    """The seats' columns, without their witnesses, which belong to one start of a population."""
    own = np.array([seat for table in playing for seat in table.seats], np.int64)
    players = [one.player for table in playing for one in table.plan.seats]
    first = seats.version_start[own].tolist()
    return SeatColumns(
        table=[table.index for table in playing for _ in table.seats],
        index=(own % seats.per_table).tolist(),
        kind=[player.kind for player in players],
        name=[player.name for player in players],
        version_start=[None if one == UNKNOWN_VERSION else one for one in first],
        **{name: getattr(seats, name)[own].tolist() for name in _OF_SEAT},
    )


def _begun_move(table: Table) -> list[tuple[int, Action]]:
    """(seat, action) of the seats that have acted in a move for which others are due."""
    seats, specs = table.state.seats, table.state.history.packing.specs
    move = []
    for number, seat in enumerate(table.seats):
        if seats.chosen[seat]:
            (action,) = specs[number].listed(seats.action[seat : seat + 1, : specs[number].width])
            move.append((number, action))
    return move


class Reseater(Protocol):
    """Finds places for the frozen players of games that go on."""

    def reseat(self, plan: GamePlan) -> GamePlan:
        """Return the plan of the same game; its frozen players may have other policy indices."""

    def gone(self, plan: GamePlan) -> str:
        """Return a live player of the game that has left the population, empty where none has."""


def load_worker(
    worker: RolloutWorker, state: SavedWorker, planner: Reseater, *, replayable: bool
) -> int:
    """Put a fresh worker into a saved state, after its slabs were filled.

    Returns how many open games were voided: those of players that have left the population, those
    that did not replay, and all of them unless `replayable`.
    """
    for filler, saved in zip(worker.fillers, state.fillers, strict=True):
        filler.pool.load(saved.pool)
        filler.produced = saved.produced
        filler.dropped.update(saved.dropped)
    worker.idle = [worker.table[number].position for number in state.idle]
    for number, level in zip(state.tables.table, state.tables.level, strict=True):
        worker.table[number].levels[number] = level
    _load_games(worker, state, planner)
    places = zip(state.waiting.table, state.waiting.seat, strict=True)
    waiting = [worker.table[number].seats[seat] for number, seat in places]
    worker.asking.wait(np.array(waiting, np.int64))
    worker.group.replaying = True
    try:
        return sum(_is_lost(worker, table, planner, replayable) for table in worker.tables)
    finally:
        worker.group.replaying = False


def _is_lost(worker: RolloutWorker, table: Table, planner: Reseater, replayable: bool) -> bool:
    """Replay the open game of a table, if there is one; returns whether it had to be voided."""
    if not table.playing:
        return False
    if gone := planner.gone(table.plan):
        _void_abandoned(worker, table, gone)
        return True
    if replayable and _replays(worker, table):
        return False
    worker.void(table.position, "voided: resumed, and this game cannot be replayed")
    return True


def _void_abandoned(worker: RolloutWorker, table: Table, gone: str) -> None:
    """Void a game of a player that has left, and drop what that player's slots hold."""
    left = PlayerRef("member", gone)
    seats = [
        seat for seat, own in zip(table.seats, table.plan.seats, strict=True) if own.player == left
    ]
    worker.void(table.position, f"voided: {gone} left the population")
    for seat in seats:
        role, policy = int(worker.seats.role[seat]), int(worker.seats.policy[seat])
        worker.fillers[role].discard_parked(policy)


def _load_games(worker: RolloutWorker, state: SavedWorker, planner: Reseater) -> None:
    """Seat the players of all open games where they sat."""
    seats: dict[int, list[dict[str, Any]]] = {}
    for row in state.seats.rows():
        seats.setdefault(row["table"], []).append(row)
    for row in state.games.rows():
        table, own = worker.table[row["table"]], seats[row["table"]]
        planned = {name: row[name] for name in _OF_PLAN}
        seated = tuple(
            SeatPlan(
                PlayerRef(seat["kind"], seat["name"]),
                seat["policy"],
                seat["began_generation"],
                seat["learning"],
            )
            for seat in own
        )
        table.plan = planner.reseat(GamePlan(**planned, seats=seated))
        keys = np.array([seat["key"] for seat in own], np.uint64)
        table.state.begin(np.array([table.position]), [table.plan], keys)
        _load_seats(worker.seats, table, own)
        _load_moves(table, row)


def _load_seats(seats: Seats, table: Table, own: Sequence[Mapping[str, Any]]) -> None:
    for seat, plan, saved in zip(table.seats, table.plan.seats, own, strict=True):
        for name in _OF_SEAT:
            getattr(seats, name)[seat] = saved[name]
        seats.policy[seat] = plan.policy  # a frozen player may have another one than it had
        first = saved["version_start"]
        seats.version_start[seat] = UNKNOWN_VERSION if first is None else first


def _load_moves(table: Table, row: Mapping[str, Any]) -> None:
    """Take over how far a game is. row: of `GameColumns`."""
    state, position = table.state, table.position
    begun = sum(1 + len(action) for _, action in row["actions"])
    state.history.set(position, row["history"][: len(row["history"]) - begun])
    state.due[position], state.came[position] = row["due"], len(row["actions"])
    state.steps[position], state.moves[position] = row["steps"], row["moves"]
    for number, action in row["actions"]:
        seat = table.seats[number]
        state.seats.action[seat, : len(action)] = action
        state.seats.chosen[seat] = True


def _replays(worker: RolloutWorker, table: Table) -> bool:
    """Replay a saved game in a fresh one; returns whether it got to where the saved one stood.

    It did not when other seats are due or over, or a waiting one sees anything else than its slot
    holds.
    """
    group, seats, own = worker.group, worker.seats, np.array([table.position])
    entries = seats.at(own)
    over, seats.over[entries] = seats.over[entries], False
    turns, past = group.begin(own), table.actions()
    while past:
        seats.over[entries[turns.seat[turns.over]]] = True
        due = _acting(turns)
        move, past = dict(past[: len(due)]), past[len(due) :]
        if group.failures or not len(due) or list(move) != due.tolist():
            return False
        actions = np.zeros((len(move), seats.action.shape[1]), seats.action.dtype)
        for index, action in enumerate(move.values()):
            actions[index, : len(action)] = action
        turns = group.step(own, Decisions(np.repeat(own, len(due)), due, actions))
    seats.over[entries[turns.seat[turns.over]]] = True
    due, chosen = _acting(turns), seats.chosen[entries]
    as_saved = np.array_equal(seats.over[entries], over)
    if group.failures or not as_saved or len(due) != worker.state.due[table.position]:
        return False
    seats.due[entries[due]] = True
    return bool(np.isin(np.flatnonzero(chosen), due).all()) and all(
        _sees_the_same(worker, turns, int(index))
        for index in np.flatnonzero(~turns.over)
        if not chosen[turns.seat[index]]
    )


def _acting(turns: Turns) -> Indices:
    """The seats of one table that must act, in ascending order."""
    return np.sort(turns.seat[~turns.over])


def _sees_the_same(worker: RolloutWorker, turns: Turns, index: int) -> bool:
    """Whether a seat of a replayed game sees what its slot holds; it holds what it sees now."""
    seat = int(turns.position[index]) * worker.seats.per_table + int(turns.seat[index])
    rows, at = worker.fillers[worker.seats.role[seat]].rows, np.array([seat])
    place = worker.seats.slot[at], worker.seats.row[at]
    held = [column[place] for column in (*rows.observations, rows.mask)]
    unseen = worker.group.observe(np.array([index]), *place)
    now = [column[place] for column in (*rows.observations, rows.mask)]
    return not unseen and all(map(np.array_equal, held, now))


def save_slab(slab: Slab, free: set[int]) -> dict[str, Tensor]:
    """Return the contents of the slots that are not free, and their numbers."""
    used = np.array([slot for slot in range(slab.slots) if slot not in free], dtype=np.int64)
    return {
        "slots": torch.from_numpy(used),
        **{name: torch.from_numpy(array[used]) for name, array in slab.column.items()},
    }


def load_slab(slab: Slab, saved: dict[str, Tensor], places: Places) -> None:
    """Put saved slots into their places; those without a place are no longer needed.

    Rows that were acted without rounds count as acted before the first learning phase.

    Raises: CheckpointError when the game changed since, or other columns were saved.
    """
    _check_columns(slab, saved)
    used = saved["slots"].numpy()
    kept = [index for index, slot in enumerate(used.tolist()) if slot in places]
    at = [places[used[index]] for index in kept]
    for name, array in slab.column.items():
        if name == ROUND and name not in saved:
            array[at] = 0
            continue
        shape, expected = tuple(saved[name].shape), (len(used), *array.shape[1:])
        if shape != expected:
            shapes = (
                f'column "{name}" of role "{slab.layout.role.name}" was saved as '
                f"{list(shape)}, the game now needs {list(expected)}"
            )
            raise CheckpointError(
                f"checkpoint: {shapes}; the game's spaces or terms changed since: undo that, "
                "or train a new population"
            )
        array[at] = saved[name].numpy()[kept]


def _check_columns(slab: Slab, saved: Mapping[str, Tensor]) -> None:
    found, expected = saved.keys() - {"slots", ROUND}, slab.column.keys() - {ROUND}
    if found != expected:
        unknown, missing = (sorted(found - expected), sorted(expected - found))
        raise CheckpointError(
            f'checkpoint: slots of role "{slab.layout.role.name}": unknown columns {unknown}, '
            f"missing columns {missing}; the algorithm or the game changed since: undo that, or "
            "train a new population"
        )


def save_replay(slab: Slab) -> dict[str, Tensor]:
    """Return the contents of a replay: the slots with steps in them."""
    unused = np.flatnonzero(~slab.column["valid"].any(axis=1)).tolist()
    return save_slab(slab, set(unused))


def load_replay(slab: Slab, saved: dict[str, Tensor]) -> None:
    """Put the saved slots of a replay into their places. Raises: as `load_slab`."""
    load_slab(slab, saved, {slot: slot for slot in range(slab.slots)})


def count_valid(saved: dict[str, Tensor], slots: Sequence[int]) -> int:
    """Return the number of valid rows in these saved slots."""
    chosen = np.isin(saved["slots"].numpy(), slots)
    return int(saved["valid"].numpy()[chosen].sum())
