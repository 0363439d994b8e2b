"""The listed probabilities of a network are those by which it acts, step by step."""

import numpy as np
import pytest
import torch

from arena.players.chances import answers
from pbt.config.learning import ModelConfig
from pbt.envs.contract import Role
from pbt.envs.registry import spec
from pbt.errors import PlayerError
from pbt.models.policy_model import PolicyModel, build_model
from pbt.seeding import generator
from pbt.transport.slab import role_layout
from tests.pbt.models.memories import MEMORIES, memory


def network(core: str, role: Role | None = None) -> PolicyModel:
    game = spec("connect_four").make()
    config = ModelConfig(hidden=(16,), policy_gain=3.0, **memory(core, 8))
    layout = role_layout(role or game.roles[0], game.reward_terms, 1, config.state_size)
    return build_model(layout, config, seed=4)


@pytest.mark.parametrize("core", ["none", *MEMORIES])
def test_sequences_of_any_length_are_answered_as_acting_step_by_step_does(core: str) -> None:
    model, rng, longest, count = network(core), generator(1, core), 5, 12
    seen = rng.integers(0, 2, (longest, count, 6, 7, 2)).astype(np.int8)
    legal = rng.random((longest, count, 7)) < 0.7
    legal[..., 3] = True
    begins = rng.integers(0, longest, count)
    starts = np.arange(longest)[:, None] == begins
    found = answers(model, {"observation": seen}, legal, starts)
    uniforms = torch.from_numpy(rng.random((1, 1)))
    for place, begin in enumerate(begins.tolist()):
        state = torch.zeros(1, model.state_size)
        for row in range(begin, longest):
            with torch.inference_mode():
                acted, best = (
                    model.act(
                        {"observation": torch.from_numpy(seen[row, [place]])},
                        torch.from_numpy(legal[row, [place]]),
                        torch.tensor([row == begin]),
                        state,
                        uniforms,
                        greedy=greedy,
                    )
                    for greedy in (False, True)
                )
            state = acted.state
        chance = found.chances[place, int(acted.actions[0, 0])]
        assert np.log(chance) == pytest.approx(float(acted.columns["log_prob"][0]), abs=1e-5)
        assert found.best[place] == int(best.actions[0, 0])
        assert found.values[place] == pytest.approx(float(acted.columns["value"][0]), abs=1e-5)
    assert found.chances.sum(axis=1) == pytest.approx(1.0)
    assert (found.chances[~legal[-1]] == 0).all() and found.chances.max() > 0.5


def test_actions_of_several_parts_are_refused() -> None:
    game = spec("gymnasium:Pendulum-v1", allow_files=True).make()
    model = network("none", game.roles[0])
    game.close()
    with pytest.raises(PlayerError, match="expected one choice"):
        answers(model, {}, np.ones((1, 1, 0), np.bool_), np.ones((1, 1), np.bool_))
