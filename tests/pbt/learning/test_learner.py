"""The learner as an object: clocks, state, hyperparameters, broken gradients and statistics."""

import math
from collections.abc import Callable
from dataclasses import asdict, replace
from itertools import chain
from typing import Any

import pytest
import torch
from safetensors.torch import load
from torch import Tensor
from torch.distributions import Categorical

from pbt.algorithms.batch import zeroed_observations
from pbt.config.learning import ModelConfig
from pbt.learning.learner import Learner
from pbt.models.weights import to_bytes
from pbt.population.certificates import values_problem
from tests.pbt.learning.one_pass import (
    equal_states,
    hyperparams_of,
    one_pass,
    targets_on_policy,
)
from tests.pbt.models.memories import MEMORIES, memory

Make = Callable[..., Any]
Weights = Callable[[Learner], Tensor]


def test_learning_rate_zero_leaves_every_bit_of_the_weights(
    make_bench: Make, weights_of: Weights
) -> None:
    bench = make_bench(config=one_pass(learning_rate=0.0, epochs=2))
    learner = bench.learner()
    before = weights_of(learner)
    stats = learner.update(bench.batch(learner.model))
    assert stats.grad_norm > 0
    assert torch.equal(before, weights_of(learner))
    learner.set_hyperparams(hyperparams_of(learner.hyperparams.shaping, learning_rate=1e-3))
    learner.update(bench.batch(learner.model))
    assert not torch.equal(before, weights_of(learner))


@pytest.mark.parametrize("epochs", [1, 3])
def test_clocks_and_lag(make_bench: Make, epochs: int) -> None:
    bench = make_bench(config=one_pass(epochs=epochs, minibatches=2))
    learner = bench.learner()
    batch = bench.batch(learner.model)
    first = learner.update(batch)
    assert learner.version == first.version == 1
    assert learner.frames == first.frames == batch.frames == int(batch.tics[batch.valid].sum())
    assert first.rows == int(batch.valid.sum())
    assert (first.lag_mean, first.lag_max) == (0.0, 0)
    mixed = batch.version.clone()
    mixed[0][batch.valid[0]] = 1
    second = learner.update(replace(batch, version=mixed))
    assert second.lag_max == 1
    fresh = float(batch.valid[0].sum())
    assert second.lag_mean == pytest.approx(1 - fresh / second.rows)
    assert learner.frames == 2 * batch.frames


@pytest.mark.parametrize("core", MEMORIES)
def test_saved_loaded_continued_is_bit_identical(make_bench: Make, core: str) -> None:
    model_config = ModelConfig(hidden=(16,), normalize_observations=True, **memory(core, 8))
    bench = make_bench(
        config=one_pass(learning_rate=1e-2, epochs=2, minibatches=2),
        model_config=model_config,
    )
    one = bench.learner()
    batches = [bench.batch(bench.model(5), seed=seed) for seed in range(6)]
    for batch in batches[:3]:
        one.update(batch)
    saved = load(to_bytes(one.state()))
    two = bench.learner(seed=9)
    two.load_state(saved)
    for batch in batches[3:]:
        assert asdict(one.update(batch)) == asdict(two.update(batch))
    assert equal_states(one.state(), two.state())
    assert not equal_states(saved, one.state())


def test_a_copy_takes_weights_moments_and_normaliser_but_not_the_clocks(make_bench: Make) -> None:
    bench = make_bench(model_config=ModelConfig(hidden=(16,), normalize_observations=True))
    winner, loser = bench.learner(seed=0, member="m0"), bench.learner(seed=1, member="m1")
    for seed in range(3):
        winner.update(bench.batch(winner.model, seed=seed))
    loser.update(bench.batch(loser.model))
    clocks = (loser.version, loser.frames)
    loser.copy_from(winner.state())
    assert (loser.version, loser.frames) == clocks
    assert clocks != (winner.version, winner.frames)
    mine, theirs = loser.state(), winner.state()
    assert all(torch.equal(mine[name], theirs[name]) for name in mine if name != "clocks")
    assert {"adam.exp_avg", "adam.exp_avg_sq", "adam.step"} <= mine.keys()
    batch = bench.batch(bench.model(5), seed=9)
    winner.update(batch)
    assert not torch.equal(
        loser.state()["model.heads.weight"], winner.state()["model.heads.weight"]
    ), "the copy must not share memory"


@pytest.mark.parametrize("coefficient", ["value_coef", "entropy_coef"])
def test_each_part_of_the_loss_has_its_coefficient_and_sign(
    make_bench: Make, coefficient: str
) -> None:
    """The gradient is linear in the coefficients; its slope is the gradient of that part alone."""
    found = []
    for value in (0.0, 2.0):
        learner = make_bench(
            config=one_pass(**{"value_coef": 0.5, "entropy_coef": 0.1, coefficient: value})
        ).learner()
        batch = make_bench().batch(learner.model)
        found.append(learner.gradients(batch)[0])
    logits, values = learner.model.unroll(
        zeroed_observations(batch), batch.mask, batch.episode_start, batch.initial_state
    )
    if coefficient == "entropy_coef":
        heads = [Categorical(logits=part.double()) for part in logits[:-1].split([3, 2], -1)]
        part = -sum(head.entropy() for head in heads)[batch.valid].sum()
    else:
        targets = targets_on_policy(learner, batch, values.detach())
        part = (targets - values[:-1])[batch.valid].square().sum()
    parameters = list(learner.model.parameters())
    slopes = torch.autograd.grad(part, parameters, allow_unused=True, materialize_grads=True)
    expected = 2.0 * torch.cat([slope.flatten() for slope in slopes])
    torch.testing.assert_close(found[1] - found[0], expected.float(), atol=1e-4, rtol=1e-3)


def test_a_batch_without_one_valid_step_changes_nothing(make_bench: Make) -> None:
    bench = make_bench(model_config=ModelConfig(hidden=(16,), normalize_observations=True))
    learner = bench.learner()
    batch = bench.batch(learner.model)
    before = learner.state()
    stats = learner.update(replace(batch, valid=torch.zeros_like(batch.valid)))
    assert (stats.rows, stats.frames, stats.skipped_steps) == (0, 0, 0)
    assert equal_states(before, learner.state())


def test_clipping_bounds_the_step_and_the_norm_is_reported_unclipped(make_bench: Make) -> None:
    bench = make_bench(config=one_pass(max_grad_norm=1e-3))
    learner = bench.learner()
    batch = bench.batch(learner.model)
    gradient, weight = learner.gradients(batch)
    stats = learner.update(batch)
    assert stats.grad_norm == pytest.approx(float((gradient / weight).norm()), rel=1e-5)
    assert stats.grad_norm > 1e-2
    first_moment = learner.state()["adam.exp_avg"]
    assert float(first_moment.norm()) == pytest.approx(
        (1 - learner.hyperparams.values["adam_beta1"]) * 1e-3, rel=1e-3
    )


def test_steps_equal_plain_adam_on_a_plain_model(make_bench: Make, weights_of: Weights) -> None:
    bench = make_bench(config=one_pass(max_grad_norm=1e9, learning_rate=1e-2))
    learner, model = bench.learner(), bench.model()
    adam = torch.optim.Adam(model.parameters(), lr=1e-2, betas=(0.9, 0.999), eps=1e-6)
    for seed, beta1 in enumerate((0.9, 0.9, 0.8, 0.5)):
        batch = bench.batch(learner.model, seed=seed)
        values = {**learner.hyperparams.values, "adam_beta1": beta1}
        learner.set_hyperparams(replace(learner.hyperparams, values=values))
        gradient, weight = learner.gradients(batch)
        adam.param_groups[0]["betas"] = (beta1, 0.999)
        parameters = list(model.parameters())
        for parameter, part in zip(
            parameters, (gradient / weight).split([p.numel() for p in parameters]), strict=True
        ):
            parameter.grad = part.view_as(parameter)
        adam.step()
        learner.apply(gradient / weight)
        torch.testing.assert_close(
            weights_of(learner),
            torch.cat([p.detach().flatten() for p in parameters]),
            atol=1e-6,
            rtol=1e-5,
        )


def test_minibatches_depend_on_seed_member_and_version_alone(make_bench: Make) -> None:
    bench = make_bench(config=one_pass(minibatches=4, epochs=2))

    def parts(learner: Learner) -> list[list[float]]:
        return [
            part.initial_state.flatten().tolist()
            for part in learner._parts(bench.batch(bench.model()))
        ]

    torch.manual_seed(0)
    first = parts(bench.learner())
    torch.manual_seed(1)
    assert parts(bench.learner()) == first
    assert sorted(chain(*first[:4])) == sorted(chain(*first[4:])), "an epoch sees every slot once"
    assert first[:4] != first[4:]
    assert parts(bench.learner(member="m1")) != first
    later = bench.learner()
    later.version = 8
    assert parts(later) != first
    few = [*bench.learner()._parts(bench.batch(bench.model(), slots=2))]
    assert [part.slots for part in few] == [1] * 4, "a part for each slot, in two epochs"


def test_explained_variance_and_value_statistics(make_bench: Make) -> None:
    bench = make_bench(config=one_pass(learning_rate=0.0, gamma=0.0), terms=("r",))
    learner = bench.learner(hyperparams=hyperparams_of({"r": 1.0}, learning_rate=0.0))
    batch = bench.batch(learner.model, slots=32)
    rewards = torch.where(batch.valid, batch.acted["value"], torch.nan).unsqueeze(-1)
    perfect = learner.update(replace(batch, rewards=rewards))
    assert perfect.means["explained_variance"] == pytest.approx(1.0, abs=1e-4)
    assert perfect.means["value_loss"] == pytest.approx(0.0, abs=1e-6)
    shifted = learner.update(replace(batch, rewards=rewards + 1.0))
    assert shifted.means["explained_variance"] == pytest.approx(1.0, abs=1e-4)
    assert shifted.means["value_loss"] == pytest.approx(1.0, abs=1e-4)
    assert shifted.means["value"] == pytest.approx(
        float(batch.acted["value"][batch.valid].mean()), abs=1e-5
    )


@pytest.mark.parametrize("kept", [(), ("entropy_coef",), ("learning_rate", "entropy_coef")])
def test_annealing_shrinks_values_linearly_with_the_members_clock(
    make_bench: Make, kept: tuple[str, ...]
) -> None:
    bench = make_bench(config=one_pass(anneal_to=0.1, not_annealed=kept))
    learner = Learner(
        bench.model(0),
        bench.config,
        bench.hyperparams(),
        bench.terms,
        key=(1, "m0"),
        stop_at_frames=1000,
    )
    for frames, share in {0: 1.0, 500: 0.55, 1000: 0.1, 5000: 0.1}.items():
        learner.frames = frames
        learner.update(bench.batch(learner.model))
        used = learner.values_used()
        for name in ("learning_rate", "entropy_coef"):
            full = learner.hyperparams.values[name]
            assert used[name] == pytest.approx(full * (1.0 if name in kept else share))


# Of "Accelerated methods for deep reinforcement learning", section 5.3: 7e-4 at 80 steps.
@pytest.mark.parametrize(
    ("steps", "rate"),
    [(80, 7e-4), (320, 2 * 7e-4), (720, 3 * 7e-4), (2560, 3.96e-3), (20, 7e-4 / 2)],
)
def test_the_learning_rate_grows_with_the_square_root_of_the_batch(
    make_bench: Make, steps: int, rate: float
) -> None:
    bench = make_bench(config=one_pass(batch_steps=steps, scale_with_batch=80))
    shaping = dict.fromkeys(bench.terms, 1.0)
    learner = bench.learner(hyperparams=hyperparams_of(shaping, learning_rate=7e-4))
    learner.update(bench.batch(learner.model))
    used = learner.values_used()
    assert used["learning_rate"] == pytest.approx(rate, rel=1e-3)
    assert used["learning_rate"] == 7e-4 * math.sqrt(steps / 80)
    assert learner.hyperparams.values["learning_rate"] == 7e-4
    assert used["adam_beta1"] == 0.9
    # The certificates expect what was used of what the league has.
    league, factors = learner.hyperparams.flat(), learner.factors()
    assert values_problem(used, league, factors, bench.config.reward_scale) is None


def test_a_scaled_rate_trains_as_the_product_does_and_none_as_ever(make_bench: Make) -> None:
    def trained(rate: float, **changes: Any) -> dict[str, Tensor]:
        config = one_pass(batch_steps=2560, minibatches=2, epochs=2, **changes)
        bench = make_bench(config=config)
        shaping = dict.fromkeys(bench.terms, 1.0)
        learner = bench.learner(hyperparams=hyperparams_of(shaping, learning_rate=rate))
        for seed in range(3):
            learner.update(bench.batch(bench.model(5), seed=seed))
        return learner.state()

    plain = trained(7e-4)
    assert equal_states(trained(7e-4, scale_with_batch=0), plain)
    assert equal_states(trained(7e-4, scale_with_batch=2560), plain)
    scaled = trained(7e-4, scale_with_batch=80)
    assert equal_states(scaled, trained(7e-4 * math.sqrt(2560 / 80)))
    assert not equal_states(scaled, plain)


def test_annealing_and_the_size_of_the_batch_both_count(make_bench: Make) -> None:
    changes = {"anneal_to": 0.0, "batch_steps": 320, "scale_with_batch": 80}
    for kept, left in ((), 0.75), (("learning_rate",), 1.0):
        bench = make_bench(config=one_pass(not_annealed=kept, **changes))
        key, shaping = (1, "m0"), bench.hyperparams()
        learner = Learner(
            bench.model(0), bench.config, shaping, bench.terms, key=key, stop_at_frames=1000
        )
        learner.frames = 250
        assert learner.factors() == {"learning_rate": 2 * left, "entropy_coef": 0.75}


def test_annealed_to_nothing_the_weights_stand_still(make_bench: Make, weights_of: Weights) -> None:
    bench = make_bench(config=one_pass(anneal_to=0.0))
    learner = Learner(
        bench.model(0),
        bench.config,
        bench.hyperparams(),
        bench.terms,
        key=(1, "m0"),
        stop_at_frames=1000,
    )
    learner.frames = 1000
    before = weights_of(learner)
    learner.update(bench.batch(learner.model))
    assert torch.equal(before, weights_of(learner))
