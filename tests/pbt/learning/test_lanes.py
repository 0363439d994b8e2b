"""The rows of a rollout in lanes: every row once, behind the row before it, wherever it stood."""

import random
from dataclasses import dataclass

import numpy as np
import pytest
import torch
from gymnasium import spaces
from numpy.typing import NDArray

from pbt.algorithms.appo import Appo
from pbt.algorithms.batch import Batch
from pbt.envs.contract import Role
from pbt.learning.lanes import gather_lanes, lanes_of
from pbt.transport.slab import RoleLayout, Slab, role_layout

STEPS = 5


def layout_of(state_size: int) -> RoleLayout:
    role = Role("player", spaces.Box(-np.inf, np.inf, (2,), np.float32), spaces.Discrete(3))
    return role_layout(role, ("score",), STEPS, state_size, Appo.columns, rounds=True)


@dataclass
class Run:
    """What one seat did in one game: rows, whether its game began there, and how it ended.

    end  "terminated", "truncated", "open": the rollout ended
    """

    origin: tuple[int, int, int]
    first_step: int
    rows: int
    fresh: bool
    end: str


def some_runs(seed: int, seats: int, turns: int, truncated: float = 0.5) -> list[Run]:
    """The runs of a rollout in which every seat takes so many rows.

    truncated: share of the games that end so
    """
    random_, runs = random.Random(seed), []
    for seat in range(seats):
        left, count, first, fresh = turns, random_.randrange(50), random_.randrange(9), False
        while left:
            rows = min(left, random_.randint(1, 2 * STEPS))
            left -= rows
            end = "truncated" if random_.random() < truncated else "terminated"
            end = end if left else "open"
            runs.append(Run((seat // 2, count, seat % 2), first, rows, fresh, end))
            count, first, fresh = count + 1, random_.randrange(3), True
    return runs


class Filler:
    """Writes runs into slots as a worker would: in full slots, or behind other games in one."""

    def __init__(self, slab: Slab, seed: int) -> None:
        self.slab, self.random = slab, random.Random(seed)
        self.free = list(range(slab.slots))
        self.random.shuffle(self.free)
        self.used: list[int] = []
        self.parked: list[tuple[int, int]] = []

    def write(self, run: Run) -> None:
        column = self.slab.column
        if run.fresh and self.parked and self.random.random() < 0.7:
            slot, row = self.parked.pop(self.random.randrange(len(self.parked)))
        else:
            slot, row = self.take(), 0
            column["initial_state"][slot] = 0.0 if run.fresh else number(run, 0)
        for step in range(run.rows):
            if row == STEPS:
                slot, row = self.take(), 0
                column["initial_state"][slot] = number(run, step)
            self.row(run, step, slot, row)
            row += 1
        if run.end != "terminated":
            self.see(run, run.rows, slot, row)
            row += run.end == "truncated"
        if run.fresh and row < STEPS and run.end != "open":
            self.parked.append((slot, row))

    def take(self) -> int:
        slot = self.free.pop()
        self.slab.poison(np.array([slot]))
        self.used.append(slot)
        return slot

    def row(self, run: Run, step: int, slot: int, row: int) -> None:
        column, last = self.slab.column, step == run.rows - 1
        self.see(run, step, slot, row)
        if row == STEPS - 1 and not (last and run.end == "terminated"):
            self.see(run, step + 1, slot, STEPS)
        column["origin"][slot, row] = (*run.origin, run.first_step + step)
        column["valid"][slot, row] = True
        column["terminated"][slot, row] = last and run.end == "terminated"
        column["truncated"][slot, row] = last and run.end == "truncated"
        for name in ("rewards", "actions", "tics", "version", "log_prob", "value"):
            column[name][slot, row] = 1
        column["rewards"][slot, row] = number(run, step)

    def see(self, run: Run, step: int, slot: int, row: int) -> None:
        column = self.slab.column
        column["episode_start"][slot, row] = run.fresh and step == 0
        column["mask"][slot, row] = True
        for name in column:
            if name.startswith("obs/"):
                column[name][slot, row] = number(run, step) % 100


def number(run: Run, step: int) -> int:
    """What stands for a row of a run in all columns that hold numbers."""
    table, count, seat = run.origin
    return 1 + 7 * table + 11 * count + 3 * seat + 5 * (run.first_step + step)


def filled(runs: list[Run], state_size: int, seed: int) -> tuple[Slab, NDArray[np.int64]]:
    """A slab with these runs, and its used slots in any order."""
    slab = Slab(layout_of(state_size), 40 + 3 * len(runs))
    filler = Filler(slab, seed)
    # A seat's games follow each other; seats mix.
    for run in sorted(runs, key=lambda run: (run.origin[1], filler.random.random())):
        filler.write(run)
    slots = np.array(filler.used)
    np.random.default_rng(seed).shuffle(slots)
    return slab, slots


def batch_of(runs: list[Run], state_size: int, seed: int) -> Batch:
    slab, slots = filled(runs, state_size, seed)
    return gather_lanes(slab, slots)


def walk(batch: Batch, runs: list[Run]) -> None:
    """Follow each lane: its runs are the ones that were written, each row behind its own."""
    found = []
    rewards, valid = batch.rewards[..., 0], batch.valid
    (observation,) = (leaf.flatten(2)[..., 0] for leaf in list(batch.observations.values())[:1])
    for lane in range(batch.slots):
        row = 0
        while row < len(valid):
            if not valid[row, lane]:
                row += 1
                continue
            begin = row
            while row < len(valid) and valid[row, lane]:
                row += 1
                if batch.terminated[row - 1, lane] or (
                    row < len(valid) and batch.episode_start[row, lane]
                ):
                    break
            ended = bool(batch.terminated[row - 1, lane])
            values = tuple(int(one) for one in rewards[begin:row, lane])
            seen = observation[begin : row + (not ended), lane].tolist()
            found.append((values, ended, bool(batch.episode_start[begin, lane]), seen))
    expected = []
    for run in runs:
        ended = run.end == "terminated"
        values = tuple(number(run, step) for step in range(run.rows))
        seen = [float(number(run, step) % 100) for step in range(run.rows + (not ended))]
        expected.append((values, ended, run.fresh, seen))
    assert sorted(found) == sorted(expected)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("state_size", [0, 3])
def test_each_run_is_there_once_with_what_bootstraps_it(seed: int, state_size: int) -> None:
    runs = some_runs(seed, 12, 3 * STEPS)
    walk(batch_of(runs, state_size, seed), runs)


@pytest.mark.parametrize("state_size", [0, 3])
def test_the_batch_does_not_depend_on_the_slots(state_size: int) -> None:
    runs = some_runs(3, 10, 2 * STEPS)
    one, two = (batch_of(runs, state_size, seed) for seed in (1, 2))
    for name, tensor in one.tensors().items():
        assert torch.equal(tensor, two.tensors()[name]), name


def test_a_lane_begins_with_the_memory_of_its_run() -> None:
    runs = some_runs(4, 10, 2 * STEPS)
    batch = batch_of(runs, 3, 1)
    fresh = batch.episode_start[0]
    assert (batch.initial_state[fresh] == 0).all() and not fresh.all()
    begun = batch.initial_state[~fresh]
    assert torch.equal(begun[:, 0], batch.rewards[0, ~fresh, 0]) and (begun > 0).all()


@pytest.mark.parametrize("seats", [30, 200])
def test_nine_of_ten_places_are_rows_where_games_end_by_themselves(seats: int) -> None:
    for seed in range(5):
        batch = batch_of(some_runs(seed, seats, 4 * STEPS, truncated=0.1), 0, seed)
        assert batch.valid.float().mean() >= 0.9


def test_a_replay_gets_pieces_of_its_own_length() -> None:
    runs = some_runs(5, 6, 4 * STEPS)
    slab, slots = filled(runs, 0, 1)
    batch = gather_lanes(slab, slots, most=STEPS)
    assert batch.valid.shape[0] == STEPS and batch.valid.sum() == sum(run.rows for run in runs)


def test_no_poison_is_left() -> None:
    batch = batch_of(some_runs(6, 9, 2 * STEPS), 0, 1)
    for name, tensor in batch.tensors().items():
        assert not tensor.is_floating_point() or not tensor.isnan().any(), name
    slab, slots = filled(some_runs(6, 9, 2 * STEPS), 0, 1)
    assert (lanes_of(slab, slots).slots[:-1][lanes_of(slab, slots).valid] >= 0).all()
