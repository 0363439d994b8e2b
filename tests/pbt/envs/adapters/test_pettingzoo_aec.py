"""The AEC adapter against PettingZoo's own loop and against scripted games.

Their agents die, are paid late, and show masks in odd places. Over 350 lines: one adapter is held
against one scripted environment in every case.
"""

from typing import Any

import numpy as np
import pytest
from gymnasium import spaces
from hypothesis import given, settings
from hypothesis import strategies as st
from pettingzoo import AECEnv
from pettingzoo.classic.connect_four.connect_four import raw_env
from pettingzoo.classic.rlcard_envs.leduc_holdem import raw_env as leduc

from pbt.envs.adapters.pettingzoo_aec import PettingZooAEC
from pbt.envs.contract import SeatTurn
from pbt.errors import EnvError


def play(game: Any, choose: Any, seed: int = 0) -> list[SeatTurn]:
    """Every turn of one game, in order."""
    turns = list(game.reset(seed))
    seen = list(turns)
    while due := {turn.seat: turn for turn in turns if not turn.over}:
        turns = game.step({seat: choose(turn) for seat, turn in due.items()})
        seen += turns
    return seen


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**31 - 1), st.sampled_from([raw_env, leduc]))
def test_same_turns_as_pettingzoos_own_loop(seed: int, build: Any) -> None:
    rng = np.random.default_rng(seed)
    game = PettingZooAEC(build(), "game")
    turns = play(game, lambda turn: (int(rng.choice(np.flatnonzero(turn.mask))),), seed)
    rng, env = np.random.default_rng(seed), build()
    env.reset(seed=seed)
    for turn in turns:
        seen, reward, terminated, truncated, _ = env.last()
        assert turn.seat == game.seat_names.index(env.agent_selection)
        np.testing.assert_array_equal(turn.observation, seen["observation"])
        assert (list(turn.rewards), turn.terminated, turn.truncated) == (
            [reward],
            terminated,
            truncated,
        )
        if not turn.over:
            np.testing.assert_array_equal(turn.mask, seen["action_mask"])
        env.step(None if turn.over else int(rng.choice(np.flatnonzero(seen["action_mask"]))))
    assert not env.agents


class Scripted(AECEnv):
    """Agents act in order, and `script` says what each action causes.

    script  (step, agent, action) -> {agent: (reward, terminated, truncated)}
    """

    metadata = {"name": "scripted"}

    def __init__(
        self,
        agents: list[str],
        script: Any,
        infos: Any = None,
        space: Any = None,
        action_space: Any = None,
    ) -> None:
        super().__init__()
        self.possible_agents = list(agents)
        self.script, self.given = script, infos or (lambda step, agent: {})
        self.space = space or (lambda agent: spaces.Box(0, 100, (1,), np.float32))
        self.acts = action_space or (lambda agent: spaces.Discrete(2))

    def observation_space(self, agent: str) -> Any:
        return self.space(agent)

    def action_space(self, agent: str) -> Any:
        return self.acts(agent)

    def observe(self, agent: str) -> Any:
        space = self.space(agent)
        seen = np.full((1,), self.count, np.float32)
        return (
            seen
            if isinstance(space, spaces.Box)
            else {key: self.mask if key == "action_mask" else seen for key in space.spaces}
        )

    def reset(self, seed: int | None = None, options: Any = None) -> None:
        self.agents = self.possible_agents[:]
        self.rewards = dict.fromkeys(self.agents, 0.0)
        self._cumulative_rewards = dict.fromkeys(self.agents, 0.0)
        self.terminations = dict.fromkeys(self.agents, False)
        self.truncations = dict.fromkeys(self.agents, False)
        self.count, self.mask = 0, np.ones(2, np.int8)
        self.infos = {agent: self.given(0, agent) for agent in self.agents}
        self.agent_selection = self.agents[0]

    def step(self, action: Any) -> None:
        agent = self.agent_selection
        if self.terminations[agent] or self.truncations[agent]:
            self._was_dead_step(action)
            return
        self.count += 1
        self._cumulative_rewards[agent] = 0
        self._clear_rewards()
        for name, (reward, terminated, truncated) in self.script(self.count, agent, action).items():
            self.rewards[name], self.terminations[name], self.truncations[name] = (
                reward,
                terminated,
                truncated,
            )
        self.infos = {name: self.given(self.count, name) for name in self.agents}
        order = self.agents
        start = order.index(agent)
        alive = [
            name
            for name in order[start + 1 :] + order[: start + 1]
            if not (self.terminations[name] or self.truncations[name])
        ]
        self.agent_selection = alive[0] if alive else agent
        self._accumulate_rewards()
        self._deads_step_first()


def test_reward_after_the_opponents_move_belongs_to_ones_own_last_action() -> None:
    def script(step: int, agent: str, action: int) -> Any:
        last = step == 4
        return {"a": (10.0 * step, last, False), "b": (1.0 * step, last, False)}

    turns = play(PettingZooAEC(Scripted(["a", "b"], script)), lambda turn: (0,))
    assert [(t.seat, list(t.rewards), t.over) for t in turns] == [
        (0, [0.0], False),
        (1, [1.0], False),  # from a's first move, before b did anything
        (0, [10.0 + 20.0], False),
        (1, [2.0 + 3.0], False),
        (0, [30.0 + 40.0], True),
        (1, [4.0], True),
    ]
    assert [t.tics for t in turns] == [0, 0, 1, 1, 1, 1]


def test_agent_that_dies_while_another_moves_gets_all_its_rewards_and_the_others_play_on() -> None:
    def script(step: int, agent: str, action: int) -> Any:
        if step == 4:  # a's second move kills c, which had 0.5 pending from b's move, and pays both
            return {"c": (-3.0, True, False), "a": (2.0, False, False)}
        return (
            {"c": (0.5, False, False)}
            if step == 2
            else dict.fromkeys(("a", "b"), (7.0, True, False))
            if step == 5
            else {}
        )

    game = PettingZooAEC(Scripted(["a", "b", "c"], script))
    turns = play(game, lambda turn: (0,))
    final = {t.seat: (list(t.rewards), t.terminated) for t in turns if t.over}
    assert final == {2: ([-3.0], True), 0: ([2.0 + 7.0], True), 1: ([7.0], True)}
    assert [t.seat for t in turns] == [0, 1, 2, 0, 2, 1, 0, 1]
    assert game.outcome().ranking == (0, 1, 2)  # returns 9, 7, -2.5


def test_last_reward_does_not_decide_the_ranking() -> None:
    def script(step: int, agent: str, action: int) -> Any:
        return {
            1: {"a": (5.0, False, False)},
            2: {},
            3: {"a": (-1.0, True, False), "b": (1.0, True, False)},
        }[step]

    game = PettingZooAEC(Scripted(["a", "b"], script))
    play(game, lambda turn: (0,))
    assert game.outcome().ranking == (0, 1)


def test_declared_places_points_and_reason_win_over_rewards() -> None:
    def script(step: int, agent: str, action: int) -> Any:
        return {"a": (5.0, True, False), "b": (0.0, True, False), "c": (0.0, True, False)}

    ends = {
        "a": {"place": 3, "points": 1},
        "b": {"place": 1, "points": 4, "end_reason": "knockout"},
        "c": {"place": 1, "points": 4},
    }
    game = PettingZooAEC(
        Scripted(["a", "b", "c"], script, lambda step, agent: ends[agent] if step else {})
    )
    play(game, lambda turn: (0,))
    outcome = game.outcome()
    assert (outcome.ranking, outcome.points, outcome.reason) == (
        (2, 0, 0),
        (1.0, 4.0, 4.0),
        "knockout",
    )


def test_places_of_some_agents_only_are_refused() -> None:
    game = PettingZooAEC(
        Scripted(
            ["a", "b"],
            lambda *_: dict.fromkeys("ab", (0.0, True, False)),
            lambda s, agent: {"place": 0} if agent == "a" else {},
        )
    )
    play(game, lambda turn: (0,))
    with pytest.raises(EnvError, match="a place for every agent or for none"):
        game.outcome()


def test_truncation_carries_the_final_observation() -> None:
    game = PettingZooAEC(
        Scripted(["a", "b"], lambda step, *_: dict.fromkeys("ab", (0.0, False, step == 3)))
    )
    final = [t for t in play(game, lambda turn: (0,)) if t.over]
    assert [(t.seat, t.terminated, t.truncated, t.observation.tolist()) for t in final] == [
        (0, False, True, [3.0]),
        (1, False, True, [3.0]),
    ]
    assert game.outcome().reason == "truncated"


def test_agents_dropped_without_a_closing_step_still_end_with_their_rewards() -> None:
    class Dropping(Scripted):
        def step(self, action: Any) -> None:
            super().step(action)
            if self.count == 2:
                self.agents = []

    game = PettingZooAEC(Dropping(["a", "b"], lambda step, *_: {"a": (float(step), False, False)}))
    turns = play(game, lambda turn: (0,))
    assert [(t.seat, list(t.rewards), t.terminated) for t in turns if t.over] == [
        (0, [3.0], True),
        (1, [0.0], True),
    ]


@pytest.mark.parametrize("where", ["beside one entry", "beside several", "info"])
def test_masks_are_found_where_games_put_them(where: str) -> None:
    box = spaces.Box(0, 100, (1,), np.float32)
    mask_space = spaces.Box(0, 1, (2,), np.int8)
    seen = {
        "beside one entry": spaces.Dict(observation=box, action_mask=mask_space),
        "beside several": spaces.Dict(near=box, far=box, action_mask=mask_space),
        "info": box,
    }[where]
    infos = (
        (lambda step, agent: {"action_mask": np.array([0, 1], np.int8)})
        if where == "info"
        else None
    )
    env = Scripted(
        ["a", "b"],
        lambda step, *_: dict.fromkeys("ab", (0.0, step == 2, False)),
        infos,
        lambda agent: seen,
    )
    game = PettingZooAEC(env)
    assert game.roles[0].masked
    assert game.roles[0].observation_space == (
        spaces.Dict(near=box, far=box) if where == "beside several" else box
    )
    turns = game.reset(0)
    assert turns[0].mask is not None
    assert turns[0].mask.dtype == np.bool_
    assert turns[0].mask.tolist() == ([False, True] if where == "info" else [True, True])
    assert game.roles[0].observation_space.contains(turns[0].observation)


def test_a_mask_that_appears_late_or_has_another_size_is_named() -> None:
    late = PettingZooAEC(
        Scripted(
            ["a"], lambda *_: {}, lambda step, agent: {"action_mask": np.ones(2)} if step else {}
        ),
        "late",
    )
    late.reset(0)
    with pytest.raises(EnvError, match="'late'.*appeared in info after play began"):
        late.step({0: (0,)})
    wide = PettingZooAEC(
        Scripted(["a"], lambda *_: {}, lambda step, agent: {"action_mask": np.ones(3)}), "wide"
    )
    with pytest.raises(EnvError, match="action_mask has 3 entries .* 2 choices"):
        wide.reset(0)


def test_masks_of_several_heads_lie_side_by_side() -> None:
    def infos(step: int, agent: str) -> Any:
        return {"action_mask": (np.array([1, 0]), np.array([0, 1, 1]))}

    game = PettingZooAEC(
        Scripted(
            ["a"],
            lambda *_: {},
            infos,
            action_space=lambda agent: spaces.MultiDiscrete([2, 3], start=[0, 5]),
        )
    )
    mask = game.reset(0)[0].mask
    assert mask is not None
    assert mask.tolist() == [True, False, False, True, True]


def test_roles_are_seats_with_equal_spaces_named_after_their_agents() -> None:
    def space(agent: str) -> Any:
        return (
            spaces.Box(0, 100, (1,), np.float32)
            if agent.startswith("wolf")
            else spaces.Box(0, 99, (1,), np.float32)
        )

    game = PettingZooAEC(
        Scripted(["wolf_0", "sheep_0", "wolf_1", "sheep_1"], lambda *_: {}, space=space)
    )
    assert ([role.name for role in game.roles], game.seat_roles) == (
        ["wolf", "sheep"],
        (0, 1, 0, 1),
    )
    same = PettingZooAEC(
        Scripted(
            ["agent_0", "agent_1", "agent_2"],
            lambda *_: {},
            space=lambda a: spaces.Box(0, int(a[-1]) // 2 + 1, (1,), np.float32),
        )
    )
    assert [role.name for role in same.roles] == ["role_0", "role_1"]
    assert [role.name for role in PettingZooAEC(Scripted(["x", "y"], lambda *_: {})).roles] == [
        "player"
    ]


def test_reward_terms_and_tics_come_from_info() -> None:
    env = Scripted(
        ["a"],
        lambda step, *_: {"a": (2.0, step == 2, False)},
        lambda step, agent: {"tics": 4, "reward_terms": {"speed": 0.5 * step}},
    )
    env.reward_terms = ("speed", "style")
    game = PettingZooAEC(env)
    assert game.reward_terms == ("reward", "speed", "style")
    turns = play(game, lambda turn: (0,))
    assert [(t.tics, list(t.rewards)) for t in turns] == [
        (0, [0.0, 0.0, 0.0]),
        (4, [2.0, 0.5, 0.0]),
        (4, [2.0, 1.0, 0.0]),
    ]


def test_an_error_of_the_game_names_game_seed_step_and_seat() -> None:
    def script(step: int, agent: str, action: int) -> Any:
        if step == 3:
            raise ValueError("no such card")
        return {}

    game = PettingZooAEC(Scripted(["a", "b"], script), "cards")
    with pytest.raises(
        EnvError, match=r"game 'cards' raised ValueError: no such card \(seed 77, step 3, seat a\)"
    ) as raised:
        play(game, lambda turn: (0,), seed=77)
    assert isinstance(raised.value.__cause__, ValueError)


def test_actions_for_the_wrong_seat_are_refused() -> None:
    game = PettingZooAEC(Scripted(["a", "b"], lambda *_: {}))
    with pytest.raises(
        EnvError, match=r"seats \[\]; expected exactly the seats that are due, \[\]"
    ):
        game.step({})
    game.reset(0)
    for actions in ({1: (0,)}, {}, {0: (0,), 1: (0,)}):
        with pytest.raises(EnvError, match=r"expected exactly the seats that are due, \[0\]"):
            game.step(actions)


def test_actions_of_shifted_spaces_arrive_shifted() -> None:
    seen = []

    def script(step: int, agent: str, action: Any) -> Any:
        seen.append(action.tolist())
        return {"a": (0.0, True, False)}

    game = PettingZooAEC(
        Scripted(
            ["a"], script, action_space=lambda agent: spaces.MultiDiscrete([2, 3], start=[0, 5])
        )
    )
    game.reset(0)
    game.step({0: (1, 2)})
    assert seen == [[1, 7]]
