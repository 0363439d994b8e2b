"""A rollout worker's state as plain data, and back.

Open games are rebuilt by replaying their actions, and voided where a game cannot be replayed.
"""

from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor

from pbt.envs.contract import Action, SeatTurn
from pbt.errors import CheckpointError, EngineError, EnvError
from pbt.records import PlayerRef
from pbt.sampling.rollout_worker import RolloutWorker
from pbt.sampling.table import Seat, Table
from pbt.transport.messages import GamePlan, JsonState, SeatPlan
from pbt.transport.slab import Slab

Places = dict[int, int]
"""Slot in a saved state -> slot in this run, of one role."""


def save_worker(worker: RolloutWorker) -> JsonState:
    """Return a worker's state without its slabs.

    Raises: EngineError within a turn, when an action is on its way or a table is to be stepped.
    """
    if worker.in_motion:
        raise EngineError("the worker was asked for its state in the middle of a turn")
    return {
        "numbers": list(worker.share.tables),
        "tables": [_save_table(table) for table in worker.tables],
        "idle": [table.index for table in worker.idle],
        "levels": [
            [table.index, level]
            for table in worker.tables
            if (level := float(table.levels[table.index]))
        ],
        "waiting": [
            [*key, [[table.index, seat.index] for table, seat in asking]]
            for key, asking in worker.waiting.items()
        ],
        "fillers": [
            {"pool": f.pool.state(), "produced": f.produced, "dropped": dict(f.dropped)}
            for f in worker.fillers
        ],
    }


class Reseater(Protocol):
    """Finds places for the frozen players of games that go on."""

    def reseat(self, plan: GamePlan) -> GamePlan:
        """Return the plan of the same game; its frozen players may have other policy indices."""

    def gone(self, plan: GamePlan) -> str:
        """Return a live player of the game that has left the population, empty where none has."""


def load_worker(
    worker: RolloutWorker, state: JsonState, planner: Reseater, *, replayable: bool
) -> int:
    """Put a fresh worker into a saved state, after its slabs were filled.

    Returns how many open games were voided: those of players that have left the population, those
    that did not replay, and all of them unless `replayable`.
    """
    for filler, saved in zip(worker.fillers, state["fillers"], strict=True):
        filler.pool.load(saved["pool"])
        filler.produced = saved["produced"]
        filler.dropped.update(saved["dropped"])
    worker.idle = [worker.table[number] for number in state["idle"]]
    # Checkpoints of earlier programs have none.
    for number, level in state.get("levels", ()):
        worker.table[number].levels[number] = level
    for table, saved in zip(worker.tables, state["tables"], strict=True):
        if saved is not None:
            _load_table(table, saved, planner)
    for _, role, greedy, asking in state["waiting"]:
        for number, index in asking:
            table = worker.table[number]
            seat = table.seats[index]
            # A frozen player may have another policy index than it had.
            worker.waiting.setdefault((seat.policy, role, greedy), []).append((table, seat))
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


def _save_table(table: Table) -> JsonState | None:
    if not table.seats:
        return None
    return {
        "plan": table.plan._asdict()
        | {"seats": [[*_player(seat.player), *seat[1:]] for seat in table.plan.seats]},
        "seats": [_save_seat(seat) for seat in table.seats],
        "actions": [[seat, list(action)] for seat, action in table.actions.items()],
        "due": table.due,
        "history": table.history,
        "steps": table.steps,
        "moves": table.moves,
    }


def _save_seat(seat: Seat) -> JsonState:
    """Return a seat without its witness, which belongs to one start of a population."""
    saved = asdict(seat) | {"player": _player(seat.player)}
    return {name: value for name, value in saved.items() if name not in ("weights", "answers")}


def _player(player: PlayerRef) -> list[str]:
    return [player.kind, player.name]


def _load_table(table: Table, saved: JsonState, planner: Reseater) -> None:
    fields: dict[str, Any] = dict(saved["plan"])
    seats = tuple(
        SeatPlan(PlayerRef(kind, name), *rest) for kind, name, *rest in fields.pop("seats")
    )
    noise = tuple(fields.pop("noise"))
    plan = planner.reseat(GamePlan(**fields, seats=seats, noise=noise))
    table.clear(plan)
    for seat, seat_plan in zip(saved["seats"], plan.seats, strict=True):
        known = {**seat, "player": seat_plan.player, **_first_action(seat, saved)}
        table.seats.append(replace(Seat(**known), policy=seat_plan.policy))
    table.actions = {seat: tuple(action) for seat, action in saved["actions"]}
    table.due, table.history = saved["due"], list(saved["history"])
    table.steps, table.moves = saved["steps"], saved["moves"]


def _first_action(seat: JsonState, table: JsonState) -> JsonState:
    """Return what is known of the first action of a saved seat's player.

    Checkpoints of earlier programs lack `acted`. Those programs noted the first version only where
    no opening ply of the seat came before the player's first action.
    """
    if "acted" in seat:
        return {}
    opening = table["plan"]["opening_plies"]
    if seat["steps"] == 0 or table["moves"] < opening:
        return {"acted": False, "version_start": None}
    return {"acted": True, "version_start": None if opening else seat["version_start"]}


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

    Raises: CheckpointError when the game changed since.
    """
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
