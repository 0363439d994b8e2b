"""The PettingZoo parallel and the Gymnasium adapter."""

from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces
from pettingzoo import ParallelEnv

from pbt.envs.adapters.gymnasium_env import GymnasiumGame
from pbt.envs.adapters.pettingzoo_parallel import PettingZooParallel
from pbt.errors import EnvError

SEEN = spaces.Box(0, 100, (1,), np.float32)


class Table(ParallelEnv):
    """Agents act at once.

    script  step -> {agent: (reward, terminated, truncated)} for the agents at the table
    joins   step -> agents that sit down then
    """

    metadata = {"name": "table"}

    def __init__(
        self,
        agents: list[str],
        script: Any,
        infos: Any = None,
        joins: Any = None,
        leaves: Any = None,
    ) -> None:
        self.possible_agents = list(agents)
        self.script, self.given, self.joins, self.leaves = (
            script,
            infos or (lambda step, agent: {}),
            joins or {},
            leaves or {},
        )

    def observation_space(self, agent: str) -> Any:
        return SEEN

    def action_space(self, agent: str) -> Any:
        return spaces.Discrete(2)

    def _views(self, agents: Any) -> Any:
        return {a: np.full(1, self.count, np.float32) for a in agents}, {
            a: self.given(self.count, a) for a in agents
        }

    def reset(self, seed: int | None = None, options: Any = None) -> Any:
        self.count = 0
        late = {agent for agents in self.joins.values() for agent in agents}
        self.agents = [agent for agent in self.possible_agents if agent not in late]
        return self._views(self.agents)

    def step(self, actions: Any) -> Any:
        assert set(actions) == set(self.agents)
        self.count += 1
        self.agents = self.agents + self.joins.get(self.count, [])
        told = {
            agent: self.script(self.count).get(agent, (0.0, False, False)) for agent in self.agents
        }
        views, infos = self._views(self.agents)
        self.agents = [
            a
            for a in self.agents
            if not (told[a][1] or told[a][2]) and a not in self.leaves.get(self.count, ())
        ]
        return (
            views,
            {a: t[0] for a, t in told.items()},
            {a: t[1] for a, t in told.items()},
            {a: t[2] for a, t in told.items()},
            infos,
        )


def play(game: Any) -> list[Any]:
    turns = game.reset(3)
    seen = [("reset", t) for t in turns]
    step = 0
    while due := [t.seat for t in turns if not t.over]:
        step += 1
        turns = game.step(dict.fromkeys(due, (1,)))
        seen += [(step, t) for t in turns]
    return seen


def test_agents_end_one_by_one_with_their_own_rewards_and_final_observations() -> None:
    script = {
        1: {"a": (1.0, False, False)},
        2: {"b": (4.0, True, False), "c": (1.0, False, False)},
        3: {"a": (2.0, False, True), "c": (9.0, True, False)},
    }
    game = PettingZooParallel(Table(["a", "b", "c"], lambda step: script[step]))
    turns = play(game)
    assert [
        (s, t.seat, t.rewards[0], t.terminated, t.truncated, t.observation.tolist(), t.tics)
        for s, t in turns
        if s != "reset"
    ] == [
        (1, 0, 1.0, False, False, [1.0], 1),
        (1, 1, 0.0, False, False, [1.0], 1),
        (1, 2, 0.0, False, False, [1.0], 1),
        (2, 0, 0.0, False, False, [2.0], 1),
        (2, 1, 4.0, True, False, [2.0], 1),
        (2, 2, 1.0, False, False, [2.0], 1),
        (3, 0, 2.0, False, True, [3.0], 1),
        (3, 2, 9.0, True, False, [3.0], 1),
    ]
    assert (game.outcome().ranking, game.outcome().reason) == ((2, 1, 0), "truncated")


def test_agents_may_join_late_or_never() -> None:
    ends = {3: {"a": (0.0, True, False), "b": (1.0, True, False)}}
    game = PettingZooParallel(
        Table(["a", "b", "c"], lambda step: ends.get(step, {}), joins={2: ["b"], 99: ["c"]})
    )
    turns = [(s, t.seat, t.over, t.tics) for s, t in play(game)]
    assert turns == [
        ("reset", 0, False, 0),
        (1, 0, False, 1),
        (2, 0, False, 1),
        (2, 1, False, 0),
        (3, 0, True, 1),
        (3, 1, True, 1),
        (3, 2, True, 0),
    ]


def test_an_agent_that_vanishes_is_named() -> None:
    game = PettingZooParallel(Table(["a", "b"], lambda step: {}, leaves={2: ["b"]}), "magic")
    with pytest.raises(EnvError, match=r"'magic': agent 'b' left env.agents at step 2 \(seed 3\)"):
        play(game)


def test_masks_terms_tics_and_places_come_from_info() -> None:
    env = Table(
        ["a", "b"],
        lambda step: dict.fromkeys("ab", (1.0, step == 2, False)),
        lambda step, agent: {
            "action_mask": [0, 1],
            "tics": 3,
            "reward_terms": {"speed": 2.0},
            "place": "ba".index(agent),
        },
    )
    env.reward_terms = ("speed",)
    game = PettingZooParallel(env)
    turns = play(game)
    assert game.roles[0].masked
    assert [(t.mask.tolist(), t.tics) for _, t in turns[:4]] == [([False, True], 0)] * 2 + [
        ([False, True], 3)
    ] * 2
    assert list(turns[2][1].rewards) == [1.0, 2.0]
    assert game.outcome().ranking == (1, 0)


def test_errors_and_wrong_seats() -> None:
    game = PettingZooParallel(Table(["a", "b"], lambda step: 1 / 0), "table")
    game.reset(5)
    with pytest.raises(EnvError, match=r"expected exactly the seats that are due, \[0, 1\]"):
        game.step({0: (0,)})
    with pytest.raises(
        EnvError, match=r"'table' raised ZeroDivisionError.*seed 5, step 1, seat a, b"
    ) as raised:
        game.step({0: (0,), 1: (0,)})
    assert isinstance(raised.value.__cause__, ZeroDivisionError)


class Counter(gymnasium.Env):
    """Truncates after three steps and rewards action 1 of a shifted space.

    It counts on after the end, so that an observation taken after a reset would show.
    """

    observation_space = SEEN
    action_space = spaces.Discrete(2, start=5)

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        self.count = 0
        return np.zeros(1, np.float32), {"action_mask": np.array([1, 0])}

    def step(self, action: int) -> Any:
        assert action in (5, 6)
        self.count += 1
        return (
            np.full(1, self.count, np.float32),
            float(action == 6),
            False,
            self.count == 3,
            {"tics": 2, "action_mask": np.array([0, 1])},
        )


def test_gymnasium_truncation_mask_and_shifted_actions() -> None:
    game = GymnasiumGame(Counter(), "counter")
    turns = [t for _, t in play(game)]
    assert [
        (t.observation.tolist(), t.rewards[0], t.truncated, t.terminated, t.tics) for t in turns
    ] == [
        ([0.0], 0.0, False, False, 0),
        ([1.0], 1.0, False, False, 2),
        ([2.0], 1.0, False, False, 2),
        ([3.0], 1.0, True, False, 2),
    ]
    assert [t.mask.tolist() for t in turns[:2]] == [[True, False], [False, True]]
    assert (game.outcome().ranking, game.outcome().reason) == ((0,), "truncated")
    with pytest.raises(EnvError, match="expected seat 0 of a running episode"):
        game.step({0: (0,)})
