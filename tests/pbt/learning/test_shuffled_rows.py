"""Parts that are drawn from the single steps of a batch (`learning.shuffle`)."""

from collections.abc import Callable
from typing import Any

import pytest
import torch

from pbt.algorithms.batch import Batch, rows_of
from pbt.config.learning import LearningConfig, ModelConfig
from pbt.config.load import config_from_table
from pbt.errors import ConfigError
from pbt.learning.attesting import Attestor
from pbt.learning.learner import Learner
from pbt.learning.reducer import SingleReducer
from tests.pbt.learning.one_pass import one_pass

Make = Callable[..., Any]
MODEL = ModelConfig(hidden=(16,))


def by_rows(**changes: Any) -> LearningConfig:
    return one_pass(**{"shuffle": "rows", "vtrace": False} | changes)


def gae_by_hand(learner: Learner, batch: Batch) -> tuple[torch.Tensor, torch.Tensor]:
    """Advantages and value targets, [T, B] float64, step by step; 0 where not valid."""
    steps, slots = batch.valid.shape
    leaves = {name: leaf.nan_to_num() for name, leaf in batch.observations.items()}
    with torch.no_grad():
        _, now = learner.model.unroll(leaves, batch.mask, batch.episode_start, batch.initial_state)
    rewards, config = learner._rewards(batch).double(), learner.config
    advantages = torch.zeros(steps, slots, dtype=torch.float64)
    targets = advantages.clone()
    for slot in range(slots):
        for t in reversed(range(steps)):
            if not batch.valid[t, slot]:
                continue
            value = float(batch.acted["value"][t, slot])
            found = float(rewards[t, slot]) - value
            if not batch.terminated[t, slot]:
                acted = t + 1 < steps and bool(batch.valid[t + 1, slot])
                following = batch.acted["value"][t + 1, slot] if acted else now[t + 1, slot]
                found += config.gamma * float(following)
                if acted:
                    later = float(advantages[t + 1, slot])
                    found += config.gamma * config.gae_lambda * later
            advantages[t, slot], targets[t, slot] = found, found + value
    return advantages, targets


@pytest.mark.parametrize("seed", range(5))
def test_targets_are_those_of_gae_by_the_values_of_acting(make_bench: Make, seed: int) -> None:
    """Where nothing acted, behind a slot and after a truncation, the present weights say it."""
    bench = make_bench(config=by_rows(gamma=0.9, gae_lambda=0.7), model_config=MODEL, steps=9)
    learner, batch = bench.learner(seed=1), bench.batch(bench.model(2), seed=seed)
    assert not batch.valid.all(), "no truncation"
    advantages, targets = gae_by_hand(learner, batch)
    fixed = learner.algorithm.fixed(learner.model, learner.loss_inputs(batch, SingleReducer()))
    for name, expected in (("advantage", advantages), ("target", targets)):
        found = fixed.acted[name][batch.valid].double()
        torch.testing.assert_close(found, expected[batch.valid], rtol=1e-5, atol=1e-5)


def test_every_step_is_in_one_part_of_each_pass(make_bench: Make) -> None:
    config = by_rows(minibatches=4, epochs=3)
    bench = make_bench(config=config, model_config=MODEL, steps=9)
    learner, batch = bench.learner(), bench.batch(bench.model(2), slots=8)
    parts = list(learner._parts(batch))
    assert len(parts) == 12
    steps = rows_of(batch).acted["log_prob"].flatten().sort().values
    for taken in range(0, 12, 4):
        own = [part.acted["log_prob"].flatten() for part in parts[taken : taken + 4]]
        assert max(len(one) for one in own) - min(len(one) for one in own) <= 1
        assert torch.equal(torch.cat(own).sort().values, steps)
    slot_of = {float(value): slot for slot, value in _with_slots(batch)}
    assert len({slot_of[float(value)] for value in parts[0].acted["log_prob"].flatten()}) > 4


def _with_slots(batch: Batch) -> list[tuple[int, float]]:
    steps, slots = batch.valid.nonzero(as_tuple=True)
    return list(zip(slots.tolist(), batch.acted["log_prob"][steps, slots].tolist(), strict=True))


def test_one_part_gives_the_gradient_of_the_whole_batch(make_bench: Make) -> None:
    """At the weights that acted, targets by GAE are the same by slots and by rows."""
    found = []
    for shuffle in ("slots", "rows"):
        config = by_rows(shuffle=shuffle, entropy_coef=0.1, normalize_advantages=True)
        bench = make_bench(config=config, model_config=MODEL)
        learner = bench.learner(seed=3)
        batch = bench.batch(bench.model(3), seed=4)
        (part,) = learner._parts(batch)
        gradient, weight = learner.gradients(part)
        found.append(gradient / weight)
    torch.testing.assert_close(*found, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("normalized", [False, True])
def test_an_update_counts_steps_and_is_attested(make_bench: Make, normalized: bool) -> None:
    config = by_rows(minibatches=2, epochs=2, learning_rate=1e-2, normalize_returns=normalized)
    bench = make_bench(config=config, model_config=MODEL)
    learner = bench.learner(seed=3)
    attestor = Attestor(learner)
    attestor.begin(2)
    for version in range(2):
        batch = bench.batch(learner.model, seed=version, version=version)
        stats = attestor.update(batch)
        assert stats.taken_steps == 4 and stats.rows == int(batch.valid.sum())
        said = attestor.take()
        assert said is not None
        if version == 0:
            assert said.trained is not None and said.trained.rows > 0
            assert said.trained.largest <= said.trained.allowed


def test_it_needs_gae_and_no_memory() -> None:
    table = {"env": {"name": "tictactoe"}, "learning": {"shuffle": "rows"}}
    with pytest.raises(ConfigError, match="set learning.vtrace = false"):
        config_from_table(table, "x")
    table["learning"] = {"shuffle": "rows", "vtrace": False}  # type: ignore[dict-item]
    config_from_table(table, "x")
    with pytest.raises(ConfigError, match="needs the steps before each step"):
        config_from_table({**table, "model": {"core": "gru"}}, "x")
