"""The magnet of APPO: an average of the weights, and the divergence from its policy."""

import copy
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import torch

from pbt.learning.learner import Learner
from tests.pbt.learning.one_pass import one_pass

Make = Callable[..., Any]
COEF, DECAY, STEPS = 0.7, 0.9, 3


def test_the_magnet_follows_the_weights_and_pulls_the_policy(
    make_bench: Make, weights_of: Callable[[Learner], Any]
) -> None:
    config = one_pass(learning_rate=1e-2, magnet_coef=COEF, magnet_decay=DECAY)
    bench = make_bench(config=config)
    learner: Learner = bench.learner()
    magnet, models = None, [copy.deepcopy(learner.model)]
    for update in range(STEPS):
        batch = bench.batch(models[-1], seed=update, version=update)
        told = learner.update(batch).means["magnet_kl"]
        # Before its first step the weights themselves are the magnet.
        assert (told > 1e-6) == (update > 1) and abs(told) < 1.0
        now = weights_of(learner)
        magnet = now if magnet is None else DECAY * magnet + (1.0 - DECAY) * now
        models.append(copy.deepcopy(learner.model))
    torch.testing.assert_close(learner.state()["algorithm.magnet"], magnet)
    check_pull(learner, bench.batch(models[-1], seed=9, version=STEPS), magnet)


def check_pull(learner: Learner, batch: Any, magnet: Any) -> None:
    """The gradient differs by that of the divergence, as torch computes it, from one without."""
    pulled, _ = learner.gradients(batch)
    one = learner.config.model_copy(update={"magnet_coef": 0.0})
    plain = Learner(
        copy.deepcopy(learner.model), one, learner.hyperparams, ("kill", "ammo"), key=(1, "m")
    )
    without, _ = plain.gradients(batch)
    logits, _ = unrolled(plain.model, batch)
    with torch.no_grad(), learner.parameters.at(magnet):
        wanted, _ = unrolled(learner.model, batch)
    total = sum(
        torch.distributions.kl_divergence(
            torch.distributions.Categorical(logits=own),
            torch.distributions.Categorical(logits=other),
        )[batch.valid].sum()
        for own, other in zip(
            torch.split(logits[:-1], (3, 2), -1), torch.split(wanted[:-1], (3, 2), -1), strict=True
        )
    )
    pull = plain.parameters.gradient_of(total, batch.valid.sum())[:-1]
    assert pull.abs().max() > 1e-3
    torch.testing.assert_close(pulled - without, COEF * pull, rtol=1e-3, atol=1e-4)


def unrolled(model: Any, batch: Any) -> Any:
    seen = {name: torch.nan_to_num(one) for name, one in batch.observations.items()}
    return model.unroll(seen, batch.mask, batch.episode_start, batch.initial_state)


def test_a_copy_takes_the_magnet_over(make_bench: Make) -> None:
    config = one_pass(learning_rate=1e-2, magnet_coef=COEF)
    donor, taker = (make_bench(config=config).learner(member=name) for name in ("m0", "m1"))
    donor.update(make_bench(config=config).batch(donor.model))
    taker.copy_from(donor.state())
    for name in ("magnet", "steps"):
        assert torch.equal(taker.state()[f"algorithm.{name}"], donor.state()[f"algorithm.{name}"])


def test_a_learner_goes_on_with_another_magnet(make_bench: Make) -> None:
    before = make_bench(config=one_pass(learning_rate=1e-2, magnet_coef=COEF)).learner()
    before.update(make_bench(config=before.config).batch(before.model))
    config = one_pass(learning_rate=1e-2, magnet_coef=3 * COEF, magnet_decay=0.5)
    after = make_bench(config=config).learner()
    after.load_state(before.state())
    assert torch.equal(after.state()["algorithm.magnet"], before.state()["algorithm.magnet"])
    assert "magnet_kl" in after.update(make_bench(config=config).batch(after.model)).means


def test_without_a_magnet_nothing_is_kept(make_bench: Make) -> None:
    learner = make_bench(config=one_pass()).learner()
    assert not [name for name in learner.state() if name.startswith("algorithm.")]
    batch = make_bench().batch(learner.model)
    assert "magnet_kl" not in learner.update(replace(batch)).means
    with pytest.raises(Exception, match="algorithm.magnet"):
        make_bench(config=one_pass(magnet_coef=1.0)).learner().load_state(learner.state())
