"""DQN's formulas against slow twins: loops over single numbers."""

from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from pbt.algorithms.base import LossInputs
from pbt.algorithms.batch import Batch
from pbt.algorithms.dqn import FROZEN_EPSILON, Dqn, EpsilonGreedy, action_values
from pbt.config.learning import DqnConfig
from pbt.learning.reducer import SingleReducer
from pbt.models.acting import Outputs
from pbt.models.distributions import masked_logits

ROWS, SLOTS, CHOICES = 3, 5, 4
# The model that acts, of which this rule asks nothing.
ONE: Any = SimpleNamespace()


def twin_values(logits: Tensor, value: float, mask: Tensor) -> list[float]:
    legal = [choice for choice in range(len(mask)) if mask[choice] or not mask.any()]
    mean = sum(float(logits[choice]) for choice in legal) / len(legal)
    return [
        value + float(logits[choice]) - mean if choice in legal else -np.inf
        for choice in range(len(mask))
    ]


def test_values_of_actions_are_those_of_a_dueling_network() -> None:
    torch.manual_seed(1)
    raw, values = torch.randn(20, CHOICES), torch.randn(20)
    mask = torch.rand(20, CHOICES) < 0.6
    mask[3] = False
    found = action_values(masked_logits(raw, mask, (CHOICES,)), values, mask)
    for row in range(20):
        twin = twin_values(raw[row], float(values[row]), mask[row])
        for choice, expected in enumerate(twin):
            if np.isinf(expected):
                assert found[row, choice] < -1e7
            else:
                assert float(found[row, choice]) == pytest.approx(expected, abs=1e-5)


def acted(rule: EpsilonGreedy, rows: int, mask: Tensor) -> Tensor:
    """Actions of one observation, again and again; the last legal action has the largest value."""
    logits = masked_logits(torch.arange(float(CHOICES)).expand(rows, -1), mask, (CHOICES,))
    uniforms = torch.from_numpy(np.random.default_rng(7).random((rows, 2)))
    outputs = Outputs(logits, torch.zeros(rows), mask)
    return rule.choose(ONE, outputs, uniforms).actions[:, 0]


@pytest.mark.parametrize(("explores", "share"), [(True, 0.3), (False, FROZEN_EPSILON)])
def test_a_share_of_the_actions_is_any_legal_one(explores: bool, share: float) -> None:
    rows, rule = 200_000, EpsilonGreedy(0.0, explores=explores)
    rule.epsilon.fill_(0.3)
    mask = torch.tensor([True, False, True, True]).expand(rows, -1)
    counts = torch.bincount(acted(rule, rows, mask), minlength=CHOICES) / rows
    error = 5 * (share / 3 / rows) ** 0.5
    for choice, expected in enumerate((share / 3, 0.0, share / 3, 1.0 - 2 * share / 3)):
        assert float(counts[choice]) == pytest.approx(expected, abs=error if expected else 0.0)
    if not explores:
        logits = masked_logits(torch.arange(float(CHOICES))[None], mask[:1], (CHOICES,))
        (listed,) = rule.chances(Outputs(logits, torch.zeros(1), mask[:1]))
        assert listed.tolist() == pytest.approx(
            [share / 3, 0.0, share / 3, 1.0 - 2 * share / 3], abs=1e-12
        )


def test_seats_explore_by_a_ladder() -> None:
    rows, rule = 200_000, EpsilonGreedy(3.0, explores=True)
    rule.epsilon.fill_(0.5)
    mask = torch.ones(rows, CHOICES, dtype=torch.bool)
    # Over u in [0, 1), epsilon^(1 + 3u) is (epsilon - epsilon^4) / (3 ln(1 / epsilon)) on average.
    mean = (0.5 - 0.5**4) / (3 * np.log(2.0))
    explored = float((acted(rule, rows, mask) != CHOICES - 1).float().mean()) * CHOICES / 3
    assert explored == pytest.approx(mean, abs=0.005)


def test_without_chance_it_takes_the_best_action_and_keeps_its_value() -> None:
    rule, mask = EpsilonGreedy(0.0, explores=True), torch.tensor([[True, True, False, False]])
    logits = masked_logits(torch.tensor([[1.0, 3.0, 9.0, 2.0]]), mask, (CHOICES,))
    chosen = rule.best(ONE, Outputs(logits, torch.tensor([10.0]), mask))
    assert chosen.actions.tolist() == [[1]]
    assert chosen.columns["action_value"].tolist() == [11.0]


class Tabled:
    """A stand-in for a network: it gives the logits and values of a table."""

    def __init__(self, logits: Tensor, values: Tensor) -> None:
        self.logits, self.values = logits, values

    def unroll(self, observations: Any, mask: Tensor, start: Tensor, state: Tensor) -> Any:
        return masked_logits(self.logits, mask, (CHOICES,)), self.values


def batch_of(rng: np.random.Generator) -> Batch:
    """Ends of episodes, final observations behind truncations, and rows that are not valid."""
    mask = torch.from_numpy(rng.random((ROWS + 1, SLOTS, CHOICES)) < 0.7)
    mask[..., 0] = True
    terminated = torch.from_numpy(rng.random((ROWS, SLOTS)) < 0.3)
    shape = (ROWS, SLOTS)
    return Batch.of(
        {
            "obs/observation": torch.zeros(ROWS + 1, SLOTS, 1),
            "mask": mask,
            "episode_start": torch.zeros(ROWS + 1, SLOTS, dtype=torch.bool),
            "valid": torch.from_numpy(rng.random(shape) < 0.8),
            "rewards": torch.zeros(*shape, 1),
            "terminated": terminated,
            "truncated": torch.zeros(shape, dtype=torch.bool),
            "tics": torch.ones(shape, dtype=torch.int32),
            "actions": torch.zeros(*shape, 1, dtype=torch.int64),
            "version": torch.zeros(shape, dtype=torch.int32),
            "initial_state": torch.zeros(SLOTS, 0),
            "action_value": torch.zeros(shape),
        }
    )


# Parameters of the two networks.
OWN, OTHER = 1.0, 2.0


class TwoNetworks:
    """A model that computes with `own`, and within `at(vector)` with `other`."""

    def __init__(self) -> None:
        self.own, self.other = (
            Tabled(torch.randn(ROWS + 1, SLOTS, CHOICES), 3 * torch.randn(ROWS + 1, SLOTS))
            for _ in range(2)
        )
        self.present = self.own

    def unroll(self, *rest: Any) -> Any:
        return self.present.unroll(*rest)

    @contextmanager
    def at(self, vector: Tensor) -> Iterator[None]:
        self.present = self.own if float(vector) == OWN else self.other
        yield
        self.present = self.own


@pytest.mark.parametrize("begun", [True, False])
@pytest.mark.parametrize("double", [True, False])
def test_the_loss_is_that_of_single_steps(double: bool, begun: bool) -> None:
    """Before the first step the target is what was loaded, so the present network."""
    batch, model = batch_of(np.random.default_rng(3)), TwoNetworks()
    own, other = model.own, model.other if begun else model.own
    rewards = torch.where(batch.valid, torch.randn(ROWS, SLOTS), 0.0)
    discounts = torch.where(batch.valid & ~batch.terminated, 0.9, 0.0)
    memory = {"target": torch.tensor([OTHER]), "steps": torch.tensor([0 if begun else -1])}
    given = torch.tensor([OWN]), batch, rewards, discounts, dict[str, float]()
    inputs = LossInputs(*given, SingleReducer(), None, memory, model.at)
    network: Any = model
    loss = Dqn(DqnConfig(double=double)).loss(network, inputs)

    def values(table: Tabled, row: int, slot: int) -> list[float]:
        where = table.logits[row, slot], float(table.values[row, slot]), batch.mask[row, slot]
        return twin_values(*where)

    total = 0.0
    for row in range(ROWS):
        for slot in range(SLOTS):
            if not batch.valid[row, slot]:
                continue
            now, after = values(own, row, slot), values(own, row + 1, slot)
            targets = values(other, row + 1, slot)
            best = int(np.argmax(after if double else targets))
            goal = float(rewards[row, slot]) + float(discounts[row, slot]) * targets[best]
            distance = abs(now[0] - goal)
            total += 0.5 * distance**2 if distance < 1.0 else distance - 0.5
            assert float(loss.targets[row, slot]) == pytest.approx(goal, abs=1e-4)
            assert float(loss.evidence[row, slot]) == pytest.approx(now[0], abs=1e-4)
    assert float(loss.total) == pytest.approx(total, rel=1e-5)
    assert float(loss.sums["loss"]) == pytest.approx(total, rel=1e-5)


def test_the_target_follows_every_so_many_steps() -> None:
    algorithm, weights = Dqn(DqnConfig(target_steps=3)), torch.zeros(4)
    memory = algorithm.memory(weights)
    for step in range(1, 8):
        weights += 1.0
        algorithm.after_step(memory, weights)
        assert memory["target"].tolist() == [float(1 + 3 * ((step - 1) // 3))] * 4
