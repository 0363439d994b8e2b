"""A learner's evidence: right where nothing is wrong, and without any effect on the training."""

from dataclasses import replace

import pytest
import torch

from pbt.algorithms.batch import Batch
from pbt.algorithms.dqn import Dqn
from pbt.config.learning import DqnConfig, ModelConfig
from pbt.learning.attesting import PATIENCE, Attestor, rows_acted_by
from pbt.learning.experience import OnPolicy
from pbt.learning.learner import Learner
from tests.pbt.learning.conftest import Bench
from tests.pbt.learning.one_pass import one_pass

FLAT = ModelConfig(hidden=(16,))


def of_version(batch: Batch, version: int) -> Batch:
    return replace(batch, version=torch.full_like(batch.version, version))


@pytest.mark.parametrize("minibatches", [1, 3])
def test_what_it_says_of_an_update(minibatches: int) -> None:
    bench = Bench(config=one_pass(learning_rate=1e-2, minibatches=minibatches, epochs=2))
    learner = bench.learner()
    attestor = Attestor(learner)
    first = attestor.begin(2)
    assert (first.version, first.values, first.actor) == (0, {}, None)
    assert attestor.attests and attestor.take() is None
    said = []
    attestor.begin(2)
    for _ in range(4):
        batch = bench.batch(learner.model, version=learner.version)
        attestor.update(batch)
        said.append(attestor.take())
    assert [one is not None for one in said] == [True, True, False, False]
    one = said[0]
    assert one is not None and (one.version, one.oldest, one.factors) == (1, 0, {})
    shaping = {"shaping.ammo": 1.5, "shaping.kill": 0.5}
    assert one.values == {
        "learning_rate": 1e-2,
        "entropy_coef": bench.config.entropy_coef,
        "adam_beta1": bench.config.adam_beta1,
        **{name: weight * bench.config.reward_scale for name, weight in shaping.items()},
    }
    assert one.actor is not None and one.trained is not None
    assert one.actor.rows > 20 and one.actor.largest < 1e-5 < one.actor.allowed
    assert one.trained.rows > 10 and one.trained.largest < 1e-5


def test_it_changes_nothing() -> None:
    bench = Bench(config=one_pass(learning_rate=1e-2, minibatches=2, epochs=2))
    watched, alone = bench.learner(), bench.learner()
    attestor = Attestor(watched)
    for turn in range(6):
        if turn % 3 == 0:
            attestor.begin(2)
        # A batch is changed by the learner that trains on it, so each gets its own.
        mine, other = (bench.batch(alone.model, seed=turn, version=turn) for _ in range(2))
        assert attestor.update(mine) == alone.update(other)
        attestor.take()
    assert all(torch.equal(a, alone.state()[name]) for name, a in watched.state().items())


def test_rows_of_an_earlier_version_are_compared_with_the_weights_of_that_version() -> None:
    """As where the lag is not zero: the rows come back when the learner has gone on."""
    bench = Bench()
    learner = bench.learner()
    attestor = Attestor(learner)
    attestor.begin(1)
    late = [bench.batch(learner.model, seed=seed, version=0) for seed in range(3)]
    for _ in range(3):
        attestor.update(of_version(bench.batch(learner.model, seed=9), 77))
        said = attestor.take()
        assert said is None or said.actor is None
    attestor.update(late[0])
    said = attestor.take()
    assert said is not None and said.actor is not None and said.actor.largest < 1e-5
    attestor.update(late[1])
    assert attestor.take() is None, "one sample is enough"


def test_replayed_steps_are_compared_and_their_gradient_still_comes() -> None:
    """Observations that are floats are read by the backward pass after the comparison."""
    config = one_pass(learning_rate=1e-2)
    bench = Bench(config=config, model_config=FLAT, heads=(3,))
    dqn, model, given = Dqn(DqnConfig()), bench.model(), bench.hyperparams()
    model.rule = dqn.rule(explores=True)
    hyperparams = replace(given, values={**given.values, "epsilon_end": 0.1})
    learner = Learner(model, config, hyperparams, bench.terms, key=(1, "m0"), algorithm=dqn)
    # The steps of a batch are trained on as if they had been drawn.
    learner.experience = OnPolicy(1, 1)
    attestor, batch, other = Attestor(learner), *(bench.batch(bench.model()) for _ in range(2))
    batch = replace(batch, acted={"action_value": dqn.recomputed(model, other).detach()})
    attestor.begin(1)
    attestor.update(batch)
    said = attestor.take()
    assert said is not None and said.trained is not None and learner.version == 1
    assert said.trained.rows > 20 and said.trained.largest < 1e-5


def test_it_does_not_keep_weights_for_ever() -> None:
    bench = Bench(model_config=FLAT)
    learner = bench.learner()
    attestor = Attestor(learner)
    attestor.begin(1)
    for _ in range(PATIENCE):
        assert attestor._kept is not None
        attestor.update(of_version(bench.batch(learner.model, slots=2), 77))
    assert attestor._kept is None


def test_rows_are_not_compared_after_an_update_that_took_no_step() -> None:
    """The version stays, but the statistics of observations go on."""
    bench = Bench(model_config=FLAT)
    learner = bench.learner()
    attestor = Attestor(learner)
    attestor.begin(2)
    broken = of_version(bench.batch(learner.model), 77)
    broken.rewards[...] = float("nan")
    attestor.update(broken)
    said = attestor.take()
    assert said is not None and said.values == {} and learner.version == 0
    attestor.update(bench.batch(learner.model, version=0))
    said = attestor.take()
    assert said is not None and said.actor is None and said.values


def test_altered_log_probabilities_and_rows_show(monkeypatch: pytest.MonkeyPatch) -> None:
    bench = Bench(config=one_pass(minibatches=2))
    for alter in ("stored", "mask", "learner"):
        learner = bench.learner()
        attestor = Attestor(learner)
        attestor.begin(1)
        batch = bench.batch(learner.model)
        if alter == "stored":
            batch.acted["log_prob"][...] += 0.01
        elif alter == "mask":
            batch = replace(batch, mask=torch.ones_like(batch.mask))
        else:
            gradients = learner._gradients
            monkeypatch.setattr(
                learner,
                "_gradients",
                lambda part, reducer, g=gradients: g(
                    replace(part, mask=torch.ones_like(part.mask)), reducer
                ),
            )
        attestor.update(batch)
        said = attestor.take()
        assert said is not None and said.actor is not None and said.trained is not None
        wrong = said.trained if alter == "learner" else said.actor
        assert wrong.largest > 5e-3
        assert (said.actor.largest < 1e-5) == (alter == "learner")


def test_slots_with_the_same_numbers_are_told_apart() -> None:
    """A first policy is uniform in all states, so slots differ in actions and observations only."""
    config = one_pass(learning_rate=1e-2, minibatches=2)
    bench = Bench(model_config=FLAT, config=config, steps=1)
    learner = bench.learner()
    uniform = bench.model()
    for parameter in uniform.heads.parameters():
        torch.nn.init.zeros_(parameter)
    attestor = Attestor(learner)
    attestor.begin(1)
    attestor.update(bench.batch(uniform, slots=40, version=0))
    said = attestor.take()
    assert said is not None and said.trained is not None
    assert said.trained.rows > 5 and said.trained.largest < 1e-5


def test_a_batch_without_valid_rows_is_not_compared() -> None:
    bench = Bench(model_config=FLAT)
    learner = bench.learner()
    attestor = Attestor(learner)
    attestor.begin(1)
    batch = bench.batch(learner.model)
    attestor.update(replace(batch, valid=torch.zeros_like(batch.valid)))
    said = attestor.take()
    assert said is None or (said.actor is None and said.trained is None)


def test_rows_that_the_batch_does_not_have_show(monkeypatch: pytest.MonkeyPatch) -> None:
    bench = Bench()
    learner = bench.learner()
    attestor = Attestor(learner)
    attestor.begin(1)
    update, other = learner.update, bench.batch(learner.model, seed=5)
    monkeypatch.setattr(learner, "update", lambda batch, *given: update(other, *given))
    attestor.update(bench.batch(learner.model, seed=6))
    said = attestor.take()
    assert said is not None and said.trained is not None
    assert said.trained.largest == float("inf")


def test_rows_that_weights_can_compute_again() -> None:
    bench = Bench(end=0.3, cut=0.2)
    batch = bench.batch(bench.learner().model, slots=40)
    rng = torch.Generator().manual_seed(0)
    batch = replace(batch, version=torch.randint(0, 2, batch.version.shape, generator=rng))
    own = batch.valid & (batch.version == 1)
    assert torch.equal(rows_acted_by(batch, 1, recurrent=False), own)
    found = rows_acted_by(batch, 1, recurrent=True)
    for slot in range(batch.slots):
        fresh = True  # the state before row 0 is stored
        for row in range(len(own)):
            fresh = bool(own[row, slot]) and (fresh or bool(batch.episode_start[row, slot]))
            assert bool(found[row, slot]) == fresh
    assert 0 < int(found.sum()) < int(own.sum())
