"""What a learner trains on: the steps that a replay draws are those that were played."""

from collections.abc import Sequence

import numpy as np
import pytest
import torch
from gymnasium import spaces

from pbt.algorithms.base import ReplayRules
from pbt.algorithms.batch import Batch
from pbt.algorithms.registry import KINDS, columns_of, frozen_rule
from pbt.config.learning import OF_ONE_CHOICE, REPLAYING, AlgorithmName
from pbt.config.schema import RunConfig
from pbt.envs.contract import Role
from pbt.errors import EngineError, SnapshotError
from pbt.learning.batcher import gather
from pbt.learning.experience import UniformReplay
from pbt.models.weights import RULE_PREFIX
from pbt.seeding import generator
from pbt.transport.slab import F32, Column, RoleLayout, Slab, role_layout

STEPS, SLOTS = 4, 6
KEPT = Column("action_value", (), F32, "T", "policy server", np.nan)


def layout() -> RoleLayout:
    seen = spaces.Box(-np.inf, np.inf, (2,), np.float32)
    return role_layout(Role("player", seen, spaces.Discrete(3)), ("reward",), STEPS, 0, (KEPT,))


def played(numbers: Sequence[int], rng: np.random.Generator) -> Slab:
    """Slots in which row t of slot n saw (n, t), chose t modulo 3 and got n + t / 10.

    Some rows are not valid, as those that only carry a final observation.
    """
    slab = Slab(layout(), len(numbers))
    column = slab.column
    rows = np.arange(STEPS + 1)
    for place, number in enumerate(numbers):
        column["obs/observation"][place] = np.stack([np.full(STEPS + 1, number), rows], 1)
        column["actions"][place, :, 0] = rows[:-1] % 3
        column["rewards"][place, :, 0] = number + rows[:-1] / 10
        column["action_value"][place] = number * 100 + rows[:-1]
    column["valid"][...] = rng.random(column["valid"].shape) < 0.7
    column["valid"][:, -1] = True
    column["tics"][...] = 1
    column["version"][...] = 5
    column["initial_state"][...] = 0.0
    return slab


def batch_of(slab: Slab) -> Batch:
    return gather(slab, np.arange(slab.slots))


def drawn(replay: UniformReplay, slab: Slab, count: int = 0) -> list[Batch]:
    return list(replay.parts(batch_of(slab), lambda number: generator(1, "draw", count, number)))


def replay_of(
    rows: int, *, least: int = 1, batch: int = 16, intensity: float = 20.0
) -> UniformReplay:
    rules = ReplayRules(rows, least, batch, intensity)
    return UniformReplay("m0", Slab(layout(), rows // STEPS), rules, torch.device("cpu"))


def test_drawn_steps_are_those_that_were_played_each_with_the_one_behind_it() -> None:
    slab = played(range(SLOTS), np.random.default_rng(1))
    parts = drawn(replay_of(SLOTS * STEPS), slab)
    seen = set()
    for part in parts:
        assert bool(part.valid.all()) and part.valid.shape == (1, 16)
        for slot in range(part.slots):
            (number, row), (after, following) = part.observations["observation"][:, slot].tolist()
            assert (after, following) == (number, row + 1)
            assert int(part.actions[0, slot, 0]) == row % 3
            assert float(part.rewards[0, slot, 0]) == pytest.approx(number + row / 10)
            assert float(part.acted["action_value"][0, slot]) == number * 100 + row
            seen.add((int(number), int(row)))
    valid = {(slot, row) for slot, row in np.argwhere(slab.column["valid"]).tolist()}
    assert seen == valid


def test_every_step_is_as_likely_as_another() -> None:
    slab = played(range(SLOTS), np.random.default_rng(2))
    parts = drawn(replay_of(SLOTS * STEPS, batch=100, intensity=2000.0), slab)
    values = torch.cat([part.acted["action_value"][0] for part in parts]).long()
    counts = np.unique(values.numpy(), return_counts=True)[1]
    expected = len(values) / len(counts)
    # Chi squared with as many degrees of freedom; the seed is fixed, and this is five deviations.
    chance = float(((counts - expected) ** 2 / expected).sum())
    assert chance < len(counts) + 5 * (2 * len(counts)) ** 0.5


def test_the_oldest_steps_make_room() -> None:
    rng = np.random.default_rng(3)
    replay = replay_of(4 * STEPS)
    for first in (0, 3, 6):
        parts = drawn(replay, played(range(first, first + 3), rng), first)
    numbers = {int(one) for part in parts for one in part.observations["observation"][0, :, 0]}
    assert numbers == {5, 6, 7, 8}


def test_it_trains_when_enough_steps_are_there_and_as_often_as_asked() -> None:
    rng, replay = np.random.default_rng(4), replay_of(100, least=30, batch=8, intensity=3.0)
    counts = [len(drawn(replay, played(range(3), rng), turn)) for turn in range(6)]
    # Twelve rows come at once, valid or not; three times as many are trained on.
    assert set(counts[:2]) == {0} and counts[-1] == round(12 * 3.0 / 8)


def test_a_ring_that_is_too_small_is_named() -> None:
    with pytest.raises(
        EngineError, match="replay of 2 slots for batches of 3; raise dqn.replay_rows"
    ):
        drawn(replay_of(2 * STEPS), played(range(3), np.random.default_rng(5)))


def test_a_snapshot_shows_by_its_tensors_how_it_acts() -> None:
    config = RunConfig.model_validate({"env": {"name": "tictactoe"}})
    rules = {name: make(config).rule(explores=False) for name, make in KINDS.items()}
    names = {name: frozenset(rule.state_dict()) for name, rule in rules.items()}
    assert len(set(names.values())) == len(names), "two rules could not be told apart"
    for rule in rules.values():
        stored = ["model/other", *(RULE_PREFIX + tensor for tensor in rule.state_dict())]
        assert type(frozen_rule(config, stored)) is type(rule)
    with pytest.raises(SnapshotError, match="acts by .*unheard, which no algorithm here does"):
        frozen_rule(config, [f"{RULE_PREFIX}unheard"])


def test_what_acting_writes_does_not_depend_on_who_is_a_member() -> None:
    """Slots stand in checkpoints, and members come and go."""
    own = {name: {"algorithm": "dqn"} for name in ("m0", "m1")}
    table = {"env": {"name": "tictactoe"}, "population": {"members": 2}, "members": own}
    before = columns_of(RunConfig.model_validate(table))
    joined = {"members": 2, "joined": {"m2": {"role": "player"}}}
    assert columns_of(RunConfig.model_validate({**table, "population": joined})) == before
    assert [column.name for column in before] == ["log_prob", "value", "action_value"]


@pytest.mark.parametrize("name", KINDS)
def test_what_a_check_without_torch_lists_is_what_algorithms_declare(name: AlgorithmName) -> None:
    config = RunConfig.model_validate({"env": {"name": "tictactoe"}})
    assert (KINDS[name](config).replay is not None) == (name in REPLAYING)
    assert (name == "dqn") == (name in OF_ONE_CHOICE)
