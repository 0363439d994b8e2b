"""A whole loss, with a network of dense layers and its gradient, of several members at once."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor

from pbt.algorithms.appo import Appo
from pbt.algorithms.base import Algorithm
from pbt.algorithms.batch import Batch
from pbt.algorithms.dqn import Dqn
from pbt.config.learning import DqnConfig, ModelConfig
from pbt.learning.learner import Learner
from pbt.learning.reducer import SingleReducer
from tests.pbt.learning.one_pass import one_pass

Make = Callable[..., Any]
MEMBERS = 3
PPO = one_pass(ratio_clip=1.2, value_clip=0.2, entropy_coef=0.1)
CASES = {
    "appo": (PPO, None),
    "a2c": (one_pass(ppo_clip=False, vtrace=False, normalize_advantages=False), None),
    "magnet": (one_pass(magnet_coef=0.7), None),
    "dqn": (PPO, Dqn(DqnConfig())),
}


def stacked(parts: list[dict[str, Tensor]]) -> dict[str, Tensor]:
    return {name: torch.stack([part[name] for part in parts]) for name in parts[0]}


def member_batch(bench: Any, seed: int) -> Batch:
    batch: Batch = bench.batch(bench.model(seed), seed=seed)
    # Any numbers will do for what DQN keeps of its actions.
    return replace(batch, acted={**batch.acted, "action_value": batch.acted["value"]})


@pytest.mark.parametrize("case", CASES)
def test_each_member_gets_what_it_gets_alone(make_bench: Make, case: str) -> None:
    """Parameters, batches, memories and coefficients have a leading axis of members."""
    config, algorithm = CASES[case]
    plain = ModelConfig(hidden=(16,), activation="tanh")
    bench = make_bench(config=config, model_config=plain, heads=(3,))
    own: Algorithm = Appo(config) if algorithm is None else algorithm
    model, given = bench.model(), bench.hyperparams()
    model.rule = own.rule(explores=True)
    hyperparams = replace(given, values={**given.values, "epsilon_end": 0.1})
    learner = Learner(model, config, hyperparams, bench.terms, key=(1, "m0"), algorithm=own)
    vectors = torch.stack([learner.parameters.vector + 0.1 * n for n in range(MEMBERS)])
    batches = stacked([member_batch(bench, seed).tensors() for seed in range(MEMBERS)])
    memories = stacked([own.memory(0.9 * vector) for vector in vectors])
    if "steps" in memories:
        # The first member has not begun, so that its memory is what it has.
        memories["steps"] = torch.tensor([[-1], [0], [5]])
    coefficients = torch.tensor([0.0, 0.1, 0.3])

    def loss(vector: Tensor, batch: Any, memory: Any, coefficient: Any) -> tuple[Tensor, Any]:
        with learner.parameters.at(vector):
            inputs = learner.loss_inputs(Batch.of(batch), SingleReducer())
            values = {**inputs.values, "entropy_coef": coefficient}
            told = own.loss(learner.model, replace(inputs, memory=memory, values=values))
        return told.total, (told.targets, told.sums)

    of_one = torch.func.grad_and_value(loss, has_aux=True)
    of_all = vectors, batches, memories, coefficients
    together = torch.vmap(of_one)(*(clones(part) for part in of_all))
    for member in range(MEMBERS):
        alone = of_one(*(clones(part, member) for part in of_all))
        torch.testing.assert_close(
            taken(together, member), alone, rtol=1e-4, atol=1e-4, equal_nan=False
        )
    gradients = together[0]
    assert gradients.shape == vectors.shape and gradients.abs().amax(1).min() > 1e-3


def clones(part: Any, member: int | None = None) -> Any:
    """Tensors that a loss may write into. member: of this one alone; None: of all."""
    if isinstance(part, dict):
        return {name: clones(one, member) for name, one in part.items()}
    return (part if member is None else part[member]).clone()


def taken(told: Any, member: int) -> Any:
    """One member's of what was told of all."""
    if isinstance(told, Tensor):
        return told[member]
    if isinstance(told, dict):
        return {name: taken(one, member) for name, one in told.items()}
    return tuple(taken(one, member) for one in told)
