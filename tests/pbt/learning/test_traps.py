"""The known traps of recurrent, masked, off-policy learning from slots."""

import math
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from hashlib import sha256
from typing import Any

import pytest
import torch
from torch import Tensor

from pbt.algorithms.batch import Batch
from pbt.config.learning import ModelConfig
from pbt.learning.learner import Learner
from pbt.models.weights import to_bytes
from tests.pbt.learning.one_pass import (
    hyperparams_of,
    numbers_of,
    one_pass,
    targets_on_policy,
    with_log_probs_less,
)
from tests.pbt.learning.thread_group import ThreadGroup
from tests.pbt.models.memories import MEMORIES, memory

Make = Callable[..., Any]


def targets(learner: Learner, batch: Batch) -> tuple[Tensor, Tensor]:
    """(value targets, values of all rows) as the learner computes them."""
    with torch.no_grad():
        observations = {
            name: torch.nan_to_num(leaf, 0.0) for name, leaf in batch.observations.items()
        }
        _, values = learner.model.unroll(
            observations, batch.mask, batch.episode_start, batch.initial_state
        )
        return targets_on_policy(learner, batch, values), values


@pytest.mark.parametrize("vtrace", [True, False])
def test_trap_terminated_stops_and_truncated_bootstraps_from_the_final_observation(
    make_bench: Make, vtrace: bool
) -> None:
    bench = make_bench(
        config=one_pass(vtrace=vtrace, gamma=0.9, gae_lambda=1.0),
        terms=("r",),
        end=0.25,
        cut=0.25,
    )
    learner = bench.learner(hyperparams=hyperparams_of({"r": 1.0}))
    batch = bench.batch(learner.model, slots=64)
    vs, values = targets(learner, batch)
    last_of = {"terminated": 0, "truncated": 0, "running": 0}
    for b in range(batch.slots):
        for t in range(bench.steps):
            if not batch.valid[t, b]:
                continue
            total, discount, k = 0.0, 1.0, t
            while True:
                total, discount = total + discount * float(batch.rewards[k, b, 0]), discount * 0.9
                if batch.terminated[k, b]:
                    last_of["terminated"] += 1
                    break
                if batch.truncated[k, b] or k == bench.steps - 1:
                    total += discount * float(values[k + 1, b])
                    last_of["truncated" if batch.truncated[k, b] else "running"] += 1
                    break
                k += 1
            assert float(vs[t, b]) == pytest.approx(total, abs=1e-4)
    assert min(last_of.values()) > 10


def test_trap_poison_and_a_missing_row_T_leak_nothing(make_bench: Make) -> None:
    """What stands in rows that were never written does not change one bit of the gradient."""
    bench = make_bench(end=0.3, cut=0.3)
    learner = bench.learner()
    batch = bench.batch(learner.model, slots=32)
    absent = batch.terminated[-1] | ~batch.valid[-1]
    assert absent.any()
    assert (~batch.valid).any()
    assert batch.observations["observation"].isnan().any()
    gradient, weight = learner.gradients(batch)
    assert gradient.isfinite().all()
    assert weight == batch.valid.sum()

    filled = {
        "rewards": torch.nan_to_num(batch.rewards, 123.0),
        "acted": {name: torch.nan_to_num(one, 123.0) for name, one in batch.acted.items()},
        "observations": {
            name: torch.nan_to_num(leaf, -77.0) for name, leaf in batch.observations.items()
        },
    }
    other, _ = learner.gradients(replace(batch, **filled))
    assert torch.equal(gradient, other)


def test_trap_no_gradient_through_a_final_observation(make_bench: Make) -> None:
    """A row without a step has no policy, value or entropy loss of its own."""
    bench = make_bench(model_config=ModelConfig(hidden=(16,)), end=0.0, cut=0.4)
    learner = bench.learner()
    batch = bench.batch(learner.model, slots=32)
    before = batch.observations["observation"].clone().requires_grad_()
    # What the loss says of observations instead of weights.
    learner.parameters._parameters = [before]
    flat, _ = learner.gradients(replace(batch, observations={"observation": before}))
    gradient = flat.view_as(before)
    assert (gradient[:-1][~batch.valid] == 0).all()
    assert (gradient[-1][batch.valid[-1]] == 0).all()
    assert (gradient[:-1][batch.valid] != 0).any(-1).all()


@pytest.mark.parametrize("heads", [(4,), (3, 2), (2, 3, 4)])
@pytest.mark.parametrize("core", ["none", *MEMORIES])
def test_trap_at_lag_zero_the_ratio_is_one(
    make_bench: Make, heads: tuple[int, ...], core: str
) -> None:
    """Acting and training use the same mask, state, episode starts and precision: kl is zero."""
    bench = make_bench(
        heads=heads,
        model_config=ModelConfig(hidden=(16,), **memory(core, 8)),
        config=one_pass(learning_rate=0.0),
    )
    learner = bench.learner()
    for seed in range(5):
        stats = learner.update(bench.batch(learner.model, slots=16, seed=seed))
        assert abs(stats.means["kl"]) < 1e-6
        assert stats.means["clip_fraction"] == 0


@pytest.mark.parametrize("core", MEMORIES)
@pytest.mark.parametrize("lost", ["mask", "episode_start", "initial_state"])
def test_trap_the_act_time_mask_and_state_are_used_again(
    make_bench: Make, lost: str, core: str
) -> None:
    """The counterpart of the ratio test: without one of the stored columns the ratio is not one."""
    bench = make_bench(
        model_config=ModelConfig(hidden=(16,), **memory(core, 8)),
        config=one_pass(learning_rate=0.0),
    )
    learner = bench.learner()
    batch = bench.batch(learner.model, slots=16)
    blank = {
        "mask": torch.ones_like(batch.mask),
        "episode_start": torch.zeros_like(batch.episode_start),
        "initial_state": torch.zeros_like(batch.initial_state),
    }
    assert learner.update(replace(batch, **{lost: blank[lost]})).means["kl"] > 1e-4


def test_trap_one_ratio_for_all_heads_jointly(make_bench: Make) -> None:
    """Two heads off by 1.15 each: their product leaves a clip of 1.2, though neither does alone."""
    bench = make_bench(config=one_pass(learning_rate=0.0, ratio_clip=1.2), end=0.0, cut=0.0)
    learner = bench.learner()
    batch = bench.batch(learner.model)
    for heads, outside in ((1, 0), (2, 1)):
        lessened = with_log_probs_less(batch, heads * math.log(1.15))
        assert learner.update(lessened).means["clip_fraction"] == outside


def test_trap_an_all_zero_mask_gives_no_nan(make_bench: Make) -> None:
    bench = make_bench()
    learner = bench.learner()
    batch = bench.batch(learner.model)
    batch.mask[:, ::2] = False
    gradient, _ = learner.gradients(batch)
    assert gradient.isfinite().all()


def test_trap_reward_terms_are_weighted_by_the_learner(make_bench: Make) -> None:
    """Reward terms arrive unweighted; shaping weights and the reward scale are applied here.

    A change by PBT takes effect at once.
    """
    bench = make_bench(config=one_pass(reward_scale=2.0))
    plain = make_bench(config=one_pass(), terms=("only",))
    shaped = bench.learner()
    entropy_coef = shaped.hyperparams.values["entropy_coef"]
    single = plain.learner(hyperparams=hyperparams_of({"only": 1.0}, 1e-3, entropy_coef))
    batch = bench.batch(shaped.model)
    for kill, ammo in ((1.0, 0.0), (0.25, -3.0)):
        shaped.set_hyperparams(replace(shaped.hyperparams, shaping={"ammo": ammo, "kill": kill}))
        weighted = 2.0 * (kill * batch.rewards[..., :1] + ammo * batch.rewards[..., 1:])
        torch.testing.assert_close(
            shaped.gradients(batch)[0],
            single.gradients(replace(batch, rewards=weighted))[0],
            atol=1e-4,
            rtol=1e-4,
        )


def shards_of(batch: Batch, cuts: list[int]) -> list[Batch]:
    return [batch.select(part) for part in torch.arange(batch.slots).tensor_split(cuts)]


@pytest.mark.parametrize("cuts", [[8], [3, 9]], ids=["two equal", "three unequal"])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"ppo_clip": False},
        {"vtrace": False},
        {"max_grad_norm": 1e-3},
        {"normalize_advantages": False},
        {"normalize_returns": True},
        {"core": "lstm"},
        {"normalize_returns": True, "value_clip": 0.2},
    ],
    ids=str,
)
def test_trap_shards_through_the_reducer_equal_one_learner(
    make_bench: Make,
    weights_of: Callable[[Learner], Tensor],
    options: dict[str, Any],
    cuts: list[int],
) -> None:
    """Shards are weighted by valid steps, and their replicas are equal by hash.

    Advantages are normalised and norms clipped after the sum over the shards.
    """
    core = options.get("core", "gru")
    bench = make_bench(
        config=one_pass(
            learning_rate=1e-3, epochs=2, **{k: v for k, v in options.items() if k != "core"}
        ),
        model_config=ModelConfig(hidden=(16,), normalize_observations=True, **memory(core, 8)),
    )
    behaviour = bench.model(seed=7)
    batch = bench.batch(behaviour, slots=16)
    # Shards that differ in length and in scale, so that a mean of means would show.
    batch.rewards[:, :8] *= 5.0
    parts = shards_of(batch, cuts)
    assert len({int(part.valid.sum()) for part in parts}) > 1

    whole = bench.learner()
    stats = [whole.update(batch) for _ in range(3)]
    group = ThreadGroup(len(parts), timeout_s=60)
    replicas = [bench.learner() for _ in parts]

    def train(shard: int) -> list[Any]:
        return [replicas[shard].update(parts[shard], group.reducers[shard]) for _ in range(3)]

    with ThreadPoolExecutor(len(parts)) as pool:
        results = list(pool.map(train, range(len(parts))))

    assert len({sha256(to_bytes(replica.state())).hexdigest() for replica in replicas}) == 1
    torch.testing.assert_close(weights_of(replicas[0]), weights_of(whole), atol=1e-5, rtol=0)
    assert replicas[0].frames == whole.frames == 3 * batch.frames
    for one, many in zip(stats, results[0], strict=True):
        assert numbers_of(many) == pytest.approx(numbers_of(one), rel=2e-3, abs=1e-4)


def test_trap_the_normaliser_moves_only_behind_the_last_step(make_bench: Make) -> None:
    """The statistics are part of the policy, so they move after the step.

    Otherwise the ratio at lag zero would not be one.
    """
    bench = make_bench(
        model_config=ModelConfig(hidden=(16,), normalize_observations=True),
        config=one_pass(learning_rate=0.0),
    )
    learner = bench.learner()
    batch = bench.batch(learner.model)
    before = learner.model.state_dict()["encoder.parts.0.moments.mean"].clone()
    assert abs(learner.update(batch).means["kl"]) < 1e-6
    after = learner.model.state_dict()["encoder.parts.0.moments.mean"]
    assert not torch.equal(before, after)
    seen = batch.observations["observation"][:-1][batch.valid].double()
    torch.testing.assert_close(after, seen.mean(0))
