"""A rollout worker's state as plain data, and back: open games are rebuilt by replaying their actions, or voided where a game cannot be replayed.

The states of all workers of a run merge into one, as if one worker had played at all tables, which splits again over any number of workers.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from pbt.envs.contract import SeatTurn
from pbt.envs.spaces import ActionCodec
from pbt.errors import CheckpointError, EngineError, EnvError
from pbt.records import PlayerRef
from pbt.sampling.planner import TrainingPlanner
from pbt.sampling.rollout_worker import RolloutWorker
from pbt.sampling.slots import Share
from pbt.sampling.table import NO_SLOT, Seat, Table, unpack_actions
from pbt.transport.messages import GamePlan, JsonState, SeatPlan
from pbt.transport.slab import Slab


def save_worker(worker: RolloutWorker) -> JsonState:
    """Everything but the slabs. Only between two turns of the crank: no action on its way, no table waiting to be stepped."""
    if worker.in_motion:
        raise EngineError("the worker was asked for its state in the middle of a turn")
    return {
        "numbers": list(worker.share.tables),
        "tables": [_save_table(table) for table in worker.tables],
        "idle": [table.index for table in worker.idle],
        "waiting": [[*key, [[table.index, seat.index] for table, seat in asking]] for key, asking in worker.waiting.items()],
        "fillers": [{"pool": f.pool.state(), "produced": f.produced, "dropped": dict(f.dropped)} for f in worker.fillers],
    }


def load_worker(worker: RolloutWorker, state: JsonState, planner: TrainingPlanner, *, replayable: bool) -> int:
    """Put a fresh worker into a saved state; the slabs are filled already. Returns how many open games were voided (all, unless `replayable`)."""
    for filler, saved in zip(worker.fillers, state["fillers"], strict=True):
        filler.pool.load(saved["pool"])
        filler.produced = saved["produced"]
        filler.dropped.update(saved["dropped"])
    worker.idle = [worker.table[number] for number in state["idle"]]
    for table, saved in zip(worker.tables, state["tables"], strict=True):
        if saved is not None:
            _load_table(table, saved, planner)
    for _, role, greedy, asking in state["waiting"]:
        for number, index in asking:
            table = worker.table[number]
            seat = table.seats[index]
            # A frozen player may have got another policy slot than it had.
            worker.waiting.setdefault((seat.policy, role, greedy), []).append((table, seat))
    lost = 0
    for table in worker.tables:
        if table.seats and not (replayable and _replays(worker, table)):
            worker.void(table, "voided: resumed, and this game cannot be replayed")
            lost += 1
    return lost


def _save_table(table: Table) -> JsonState | None:
    if not table.seats:
        return None
    return {
        "plan": table.plan._asdict() | {"seats": [[*_player(seat.player), *seat[1:]] for seat in table.plan.seats]},
        "seats": [asdict(seat) | {"player": _player(seat.player)} for seat in table.seats],
        "actions": [[seat, list(action)] for seat, action in table.actions.items()],
        "due": table.due,
        "history": table.history,
        "steps": table.steps,
        "moves": table.moves,
    }


def _player(player: PlayerRef) -> list[str]:
    return [player.kind, player.name]


def _load_table(table: Table, saved: JsonState, planner: TrainingPlanner) -> None:
    fields: dict[str, Any] = dict(saved["plan"])
    seats = tuple(SeatPlan(PlayerRef(kind, name), *rest) for kind, name, *rest in fields.pop("seats"))
    noise = tuple(fields.pop("noise"))
    plan = planner.reseat(GamePlan(**fields, seats=seats, noise=noise))
    table.clear(plan)
    for seat, seat_plan in zip(saved["seats"], plan.seats, strict=True):
        table.seats.append(replace(Seat(**{**seat, "player": seat_plan.player}), policy=seat_plan.policy))
    table.actions = {seat: tuple(action) for seat, action in saved["actions"]}
    table.due, table.history, table.steps, table.moves = saved["due"], list(saved["history"]), saved["steps"], saved["moves"]


def _replays(worker: RolloutWorker, table: Table) -> bool:
    """Bring a fresh game to where the saved one stood; False when it does not get there, or shows a waiting seat something else than it saw."""
    heads = tuple(len(ActionCodec(table.game.roles[role].action_space).head_sizes) for role in table.game.seat_roles)
    try:
        turns = worker.run_game(lambda: table.game.reset(table.plan.seed), table, "reset")
        taken: dict[int, tuple[int, ...]] = {}
        for seat, action in unpack_actions(table.packed_history(), heads):
            taken[seat] = action
            if len(taken) == _acting(turns):
                turns = _stepped(worker, table, taken)
                taken = {}
    except EnvError:
        return False
    waiting = [turn for turn in turns if not turn.over and turn.seat not in taken]
    seats = [table.seats[turn.seat] for turn in waiting]
    same = all(worker.fillers[seat.role].rows.holds(seat.slot, seat.row, turn) for seat, turn in zip(seats, waiting, strict=True))
    return same and taken == table.actions and _acting(turns) == table.due


def _stepped(worker: RolloutWorker, table: Table, actions: dict[int, tuple[int, ...]]) -> list[SeatTurn]:
    return worker.run_game(lambda: table.game.step(actions), table, "step")


def _acting(turns: list[SeatTurn]) -> int:
    return sum(not turn.over for turn in turns)


# --- many workers ----------------------------------------------------------------------------------------------------------------------------

Places = dict[int, int]
"""Slot in a saved state -> slot in this run, of one role."""

_Queues = Mapping[str, Sequence[Sequence[int]]]


def merge_workers(states: Sequence[JsonState]) -> JsonState:
    """The states of all workers of a run as that of one with all tables and all slots."""
    tables = {number: table for state in states for number, table in zip(state["numbers"], state["tables"], strict=True)}
    return {
        "tables": [tables[number] for number in sorted(tables)],
        "idle": [number for state in states for number in state["idle"]],
        # One entry per worker even for equal policies: frozen players' places differ from worker to worker.
        "waiting": [entry for state in states for entry in state["waiting"]],
        "fillers": [_merge_fillers(fillers) for fillers in zip(*(state["fillers"] for state in states), strict=True)],
    }


def _merge_fillers(fillers: Sequence[JsonState]) -> JsonState:
    parked: dict[str, list[list[int]]] = {}
    for filler in fillers:
        for policy, entries in filler["pool"]["parked"].items():
            parked.setdefault(policy, []).extend(list(entry) for entry in entries)
    free = [slot for filler in fillers for slot in filler["pool"]["free"]]
    dropped = sum((Counter[str](filler["dropped"]) for filler in fillers), Counter[str]())
    return {"pool": {"free": free, "parked": parked}, "produced": sum(filler["produced"] for filler in fillers), "dropped": dict(dropped)}


def split_worker(state: JsonState, queues: _Queues, shares: Sequence[Share]) -> tuple[list[JsonState], dict[str, list[list[int]]], list[Places]]:
    """What each share's worker is to load, the queues with their slots' new numbers, and by role where every slot goes.

    state: merged;  queues: by member, the SlotFull messages of slots that wait for their batch, as lists.
    A table's open slots go to its share; PARKED and waiting ones are spread. One share of exactly the state's slots gets the state as it is.
    Raises: EngineError when the tables differ or there is not enough room.
    """
    numbers = sorted(number for share in shares for number in share.tables)
    if numbers != list(range(len(state["tables"]))):
        raise EngineError(f"the checkpoint has {len(state['tables'])} tables; there are {len(numbers)}, sampling.environments must stay what it was")
    spread = [_Spread(role, filler, state["tables"], queues, shares) for role, filler in enumerate(state["fillers"])]
    if len(shares) == 1 and all(part.same for part in spread):
        places = [{slot: slot for slot in part.slots} for part in spread]
        return [{**state, "numbers": numbers}], {member: [list(full) for full in queue] for member, queue in queues.items()}, places
    for part in spread:
        part.place_all()
    places = [part.places for part in spread]
    moved = {member: [[role, policy, generation, places[role][slot]] for role, policy, generation, slot in queue] for member, queue in queues.items()}
    return [_part(state, share, index, spread) for index, share in enumerate(shares)], moved, places


def _part(state: JsonState, share: Share, index: int, spread: "Sequence[_Spread]") -> JsonState:
    """A share's part of a merged state."""
    own = set(share.tables)
    waiting = [[*key, [entry for entry in asking if entry[0] in own]] for *key, asking in state["waiting"]]
    return {
        "numbers": list(share.tables),
        "tables": [_moved(state["tables"][number], spread) for number in share.tables],
        "idle": [number for number in state["idle"] if number in own],
        "waiting": [entry for entry in waiting if entry[-1]],
        "fillers": [part.filler(index) for part in spread],
    }


def _moved(table: JsonState | None, spread: "Sequence[_Spread]") -> JsonState | None:
    """A saved table, its seats' slots under their new numbers."""
    if table is None:
        return None
    seats = [seat if seat["slot"] == NO_SLOT else seat | {"slot": spread[seat["role"]].places[seat["slot"]]} for seat in table["seats"]]
    return {**table, "seats": seats}


class _Spread:
    """One role's slots on their way to their new places."""

    def __init__(self, role: int, filler: JsonState, tables: Sequence[JsonState | None], queues: _Queues, shares: Sequence[Share]) -> None:
        self._role, self._filler, self._shares = role, filler, shares
        self._open = [(number, seat["slot"]) for number, table in enumerate(tables) if table for seat in table["seats"] if seat["role"] == role]
        self._open = [(number, slot) for number, slot in self._open if slot != NO_SLOT]
        self._waiting = [full[3] for queue in queues.values() for full in queue if full[0] == role]
        parked = [slot for entries in filler["pool"]["parked"].values() for slot, _ in entries]
        self.slots = sorted([*filler["pool"]["free"], *(slot for _, slot in self._open), *parked, *self._waiting])
        self.places: Places = {}
        self._free = [list(reversed(share.slots[role])) for share in shares]
        self._parked: list[dict[str, list[list[int]]]] = [{} for _ in shares]

    @property
    def same(self) -> bool:
        """The one share has exactly the slots of the state."""
        return self.slots == list(self._shares[0].slots[self._role])

    def place_all(self) -> None:
        owner = {number: index for index, share in enumerate(self._shares) for number in share.tables}
        for number, slot in self._open:
            self._place(slot, owner[number])
        for policy, entries in self._filler["pool"]["parked"].items():
            for slot, row in entries:
                index = self._least_parked(policy)
                self._place(slot, index)
                self._parked[index].setdefault(policy, []).append([self.places[slot], row])
        for slot in self._waiting:
            self._place(slot, max(range(len(self._shares)), key=lambda index: len(self._free[index])))

    def _least_parked(self, policy: str) -> int:
        """The share with room whose tables have the fewest PARKED slots of the policy each: no worker ever parks more of it than it has seats."""
        roomy = [index for index, free in enumerate(self._free) if free] or [0]
        return min(roomy, key=lambda index: len(self._parked[index].get(policy, ())) / max(1, len(self._shares[index].tables)))

    def _place(self, slot: int, index: int) -> None:
        if not self._free[index]:
            room = [len(share.slots[self._role]) for share in self._shares]
            used = len(self._open) + len(self._waiting) + sum(len(entries) for entries in self._filler["pool"]["parked"].values())
            advice = "resume with fewer workers, or raise runtime.waiting_batches"
            raise EngineError(f"the checkpoint holds {used} slots of role {self._role}, too many for the {room} there are; {advice}")
        self.places[slot] = self._free[index].pop()

    def filler(self, index: int) -> JsonState:
        """A share's part. What was counted so far goes to the first one."""
        counted = self._filler if index == 0 else {"produced": 0, "dropped": {}}
        pool = {"free": self._free[index], "parked": self._parked[index]}
        return {"pool": pool, "produced": counted["produced"], "dropped": dict(counted["dropped"])}


# --- slabs -----------------------------------------------------------------------------------------------------------------------------------


def save_slab(slab: Slab, free: set[int]) -> dict[str, Tensor]:
    """The slots that are not free, and their numbers."""
    used = np.array([slot for slot in range(slab.slots) if slot not in free], dtype=np.int64)
    return {"slots": torch.from_numpy(used), **{name: torch.from_numpy(array[used]) for name, array in slab.column.items()}}


def load_slab(slab: Slab, saved: dict[str, Tensor], places: Places) -> None:
    """Put saved slots into their places; one without a place was in nobody's hands. Raises: CheckpointError when the game changed since."""
    used = saved["slots"].numpy()
    kept = [index for index, slot in enumerate(used.tolist()) if slot in places]
    at = [places[used[index]] for index in kept]
    for name, array in slab.column.items():
        found, expected = tuple(saved[name].shape), (len(used), *array.shape[1:])
        if found != expected:
            shapes = f'column "{name}" of role "{slab.layout.role.name}" was saved as {list(found)}, the game now needs {list(expected)}'
            raise CheckpointError(f"checkpoint: {shapes}; the game's spaces or terms changed since: undo that, or train a new population")
        array[at] = saved[name].numpy()[kept]
