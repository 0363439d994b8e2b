"""A rollout worker's state as columns, and back; the contents of its slots as tensors.

Open games are rebuilt by replaying their actions, and voided where a game cannot be replayed.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor

from pbt.envs.contract import Action, SeatTurn
from pbt.errors import CheckpointError, EngineError, EnvError
from pbt.records import PlayerRef
from pbt.sampling.rollout_worker import RolloutWorker
from pbt.sampling.table import Seat, Table
from pbt.saved import (
    GameColumns,
    SavedFiller,
    SavedWorker,
    SeatColumns,
    TableColumns,
    WaitingColumns,
)
from pbt.transport.messages import GamePlan, SeatPlan
from pbt.transport.slab import Slab

Places = dict[int, int]
"""Slot in a saved state -> slot in this run, of one role."""
_OF_PLAN = [name for name in GameColumns.__struct_fields__ if name in GamePlan._fields]
_OF_TABLE = ("due", "steps", "moves")
_OF_SEAT = [name for name in SeatColumns.__struct_fields__ if name not in ("table", "kind", "name")]


def save_worker(worker: RolloutWorker) -> SavedWorker:
    """Return a worker's state without its slabs.

    Raises: EngineError within a turn, when an action is on its way or a table is to be stepped.
    """
    if worker.in_motion:
        raise EngineError("the worker was asked for its state in the middle of a turn")
    asking = [one for waiting in worker.waiting.values() for one in waiting]
    return SavedWorker(
        tables=TableColumns.of((one.index, float(one.levels[one.index])) for one in worker.tables),
        games=game_columns([table for table in worker.tables if table.seats]),
        seats=seat_columns([(table, seat) for table in worker.tables for seat in table.seats]),
        waiting=WaitingColumns.of((table.index, seat.index) for table, seat in asking),
        idle=[table.index for table in worker.idle],
        fillers=[
            SavedFiller(filler.pool.state(), filler.produced, dict(filler.dropped))
            for filler in worker.fillers
        ],
    )


def game_columns(tables: Sequence[Table]) -> GameColumns:
    return GameColumns(
        table=[table.index for table in tables],
        **_columns([table.plan for table in tables], _OF_PLAN),
        **_columns(tables, _OF_TABLE),
        history=[list(table.history) for table in tables],
        actions=[[(seat, list(own)) for seat, own in one.actions.items()] for one in tables],
    )


def seat_columns(seated: Sequence[tuple[Table, Seat]]) -> SeatColumns:
    """The seats' columns, without their witnesses, which belong to one start of a population."""
    return SeatColumns(
        table=[table.index for table, _ in seated],
        kind=[seat.player.kind for _, seat in seated],
        name=[seat.player.name for _, seat in seated],
        **_columns([seat for _, seat in seated], _OF_SEAT),
    )


def _columns(objects: Sequence[object], names: Iterable[str]) -> dict[str, list[Any]]:
    return {name: [getattr(one, name) for one in objects] for name in names}


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
    worker.idle = [worker.table[number] for number in state.idle]
    for number, level in zip(state.tables.table, state.tables.level, strict=True):
        worker.table[number].levels[number] = level
    _load_games(worker, state, planner)
    for number, index in zip(state.waiting.table, state.waiting.seat, strict=True):
        table = worker.table[number]
        seat = table.seats[index]
        asking = (seat.policy, seat.role, table.plan.greedy)
        worker.waiting.setdefault(asking, []).append((table, seat))
    lost = 0
    for table in worker.tables:
        if table.seats and (gone := planner.gone(table.plan)):
            _void_abandoned(worker, table, gone)
            lost += 1
        elif table.seats and not (replayable and _replays(worker, table)):
            worker.void(table, "voided: resumed, and this game cannot be replayed")
            lost += 1
    return lost


def _void_abandoned(worker: RolloutWorker, table: Table, gone: str) -> None:
    """Void a game of a player that has left, and drop what that player's slots hold."""
    seats = [seat for seat in table.seats if seat.player == PlayerRef("member", gone)]
    worker.void(table, f"voided: {gone} left the population")
    for seat in seats:
        worker.fillers[seat.role].discard_parked(seat.policy)


def _load_games(worker: RolloutWorker, state: SavedWorker, planner: Reseater) -> None:
    """Seat the players of all open games where they sat."""
    seats: dict[int, list[Seat]] = {}
    for row in state.seats.rows():
        table, player = row.pop("table"), PlayerRef(row.pop("kind"), row.pop("name"))
        seats.setdefault(table, []).append(Seat(player=player, **row))
    for row in state.games.rows():
        table, own = worker.table[row["table"]], seats[row["table"]]
        planned = {name: row[name] for name in _OF_PLAN}
        seated = tuple(
            SeatPlan(seat.player, seat.policy, seat.began_generation, seat.learning) for seat in own
        )
        table.clear(planner.reseat(GamePlan(**planned, seats=seated)))
        for seat, plan in zip(own, table.plan.seats, strict=True):
            seat.policy = plan.policy  # a frozen player may have another one than it had
        table.seats, table.history = own, list(row["history"])
        table.actions = {seat: tuple(action) for seat, action in row["actions"]}
        table.due, table.steps, table.moves = row["due"], row["steps"], row["moves"]


def _replays(worker: RolloutWorker, table: Table) -> bool:
    """Replay a saved game in a fresh one; returns whether it got to where the saved one stood.

    It did not when a waiting seat sees anything else than what its slot holds.
    """
    try:
        turns = worker.run_game(table.begin, table, "reset")
        taken: dict[int, Action] = {}
        for seat, action in table.packing.unpack(table.packed_history()):
            taken[seat] = action
            if len(taken) == _acting(turns):
                turns = _stepped(worker, table, taken)
                taken = {}
    except EnvError:
        return False
    waiting = [turn for turn in turns if not turn.over and turn.seat not in taken]
    seats = [table.seats[turn.seat] for turn in waiting]
    same = all(
        worker.fillers[seat.role].rows.holds(seat.slot, seat.row, turn)
        for seat, turn in zip(seats, waiting, strict=True)
    )
    return same and taken == table.actions and _acting(turns) == table.due


def _stepped(worker: RolloutWorker, table: Table, actions: dict[int, Action]) -> list[SeatTurn]:
    return worker.run_game(lambda: table.game.step(actions), table, "step")


def _acting(turns: list[SeatTurn]) -> int:
    return sum(not turn.over for turn in turns)


def save_slab(slab: Slab, free: set[int]) -> dict[str, Tensor]:
    """Return the contents of the slots that are not free, and their numbers."""
    used = np.array([slot for slot in range(slab.slots) if slot not in free], dtype=np.int64)
    return {
        "slots": torch.from_numpy(used),
        **{name: torch.from_numpy(array[used]) for name, array in slab.column.items()},
    }


def load_slab(slab: Slab, saved: dict[str, Tensor], places: Places) -> None:
    """Put saved slots into their places; those without a place are no longer needed.

    Raises: CheckpointError when the game changed since, or other columns were saved.
    """
    _check_columns(slab, saved)
    used = saved["slots"].numpy()
    kept = [index for index, slot in enumerate(used.tolist()) if slot in places]
    at = [places[used[index]] for index in kept]
    for name, array in slab.column.items():
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
    found, expected = saved.keys() - {"slots"}, slab.column.keys()
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
