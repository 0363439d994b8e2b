"""`env.drop`: leaves of an observation that networks do not see."""

from pathlib import Path

import numpy as np
import pytest
from gymnasium import spaces

from pbt.config.load import config_from_table, options_from
from pbt.envs import registry
from pbt.envs.spaces import ObservationCodec
from pbt.envs.testing.check import check_game
from pbt.envs.viewed_game import own_observation, own_roles
from pbt.errors import EnvViewError

GAME = """
import gymnasium, numpy as np
from gymnasium import spaces
SPACE = spaces.Dict({
    "mission": spaces.Text(9),
    "place": spaces.Box(-1, 1, (2,), np.float32),
    "more": spaces.Tuple((spaces.Discrete(3), spaces.Text(9), spaces.MultiBinary(2))),
})
class Told(gymnasium.Env):
    observation_space, action_space = SPACE, spaces.Discrete(2)
    def see(self):
        more = (self.t % 3, "hello", np.ones(2, np.int8))
        return {"mission": "go", "place": np.full(2, self.x, np.float32), "more": more}
    def reset(self, seed=None, options=None):
        self.t, self.x = 0, np.random.default_rng(seed).random()
        return self.see(), {}
    def step(self, action):
        self.t += 1
        return self.see(), float(action), self.t == 4, False, {}
def make(): return Told()
"""
DROP = ["mission", "more/1"]


@pytest.fixture
def name(tmp_path: Path) -> str:
    (tmp_path / "told.py").write_text(GAME)
    return f"{tmp_path}/told.py:make"


def test_networks_do_not_see_what_is_dropped(name: str) -> None:
    options = {"env.drop": DROP}
    env = registry.spec(name, allow_files=True, options=options)
    assert (env.replayable, env.chance) == (True, True)
    game = env.make(**options)
    (role,) = game.roles
    place, numbers = spaces.Box(-1, 1, (2,), np.float32), spaces.MultiBinary(2)
    assert role.observation_space == spaces.Dict(
        {"place": place, "more": spaces.Tuple((spaces.Discrete(3), numbers))}
    )
    (turn,) = game.reset(3)
    assert role.observation_space.contains(turn.observation)
    assert own_roles(game)[0].observation_space["mission"] == spaces.Text(9)
    assert own_observation(turn)["mission"] == "go" and len(own_observation(turn)["more"]) == 3
    (turn,) = game.step({0: (1,)})
    leaves = ObservationCodec(role.observation_space).arrays(turn.observation)
    assert leaves["more/0"].tolist() == [1] and leaves["more/1"].tolist() == [1, 1]


def test_a_check_takes_it_as_a_config_does(name: str) -> None:
    options = options_from(['env.drop=["mission", "more/1"]'])
    assert options == {"env.drop": DROP}
    env = registry.spec(name, allow_files=True, measured=(True, True))
    report = check_game(replaced(env, options), 3)
    assert report.problems == () and report.replayable


def test_other_leaves_are_another_game() -> None:
    table = {"env": {"name": "memory", "drop": ["b", "a", "b"]}}
    assert config_from_table(table, "x").env.game_options == {"env.drop": ["a", "b"]}


def test_a_seat_that_would_see_nothing_is_named(name: str) -> None:
    options = {"env.drop": [*DROP, "place", "more/0", "more/2"]}
    with pytest.raises(EnvViewError, match=r"drops all that a seat sees \(.*place.*leave at least"):
        registry.spec(name, allow_files=True, options=options)


def test_a_leaf_that_no_seat_observes_is_named() -> None:
    env = registry.spec("hide_and_seek")
    with pytest.raises(EnvViewError, match=r"env.drop: nothing: no seat of this game observes"):
        env.make(**{"env.drop": ["nothing"]})


def replaced(env, options):  # type: ignore[no-untyped-def]
    from dataclasses import replace
    from functools import partial

    return replace(env, make=partial(env.make, **options))
