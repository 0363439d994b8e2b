"""The games of mpe2: scenarios by name, their options, agents of different sizes in one role."""

import sys
from importlib import import_module
from typing import Any

import numpy as np
import pytest
from gymnasium.spaces import Box, Discrete
from pettingzoo.utils.conversions import aec_to_parallel

from pbt.envs import mpe
from pbt.envs.adapters.pettingzoo_parallel import PettingZooParallel
from pbt.envs.contract import EnvSpec, Game
from pbt.envs.testing.check import check_game
from pbt.errors import EnvError, EnvOptionsError

ALL = sorted(mpe.scenarios())


@pytest.mark.parametrize("scenario", ALL)
def test_every_scenario_keeps_the_contract(scenario: str) -> None:
    spec = EnvSpec(
        scenario,
        lambda: mpe.make(scenario=scenario),
        mpe.SPEC.chance,
        mpe.SPEC.replayable,
        mpe.SPEC.winners,
    )
    report = check_game(spec, seeds=4)
    assert (report.problems, report.replayable, report.seed_matters) == ((), True, True)


@pytest.mark.parametrize("scenario", ["simple_push", "simple_tag", "simple_world_comm"])
def test_scenarios_keep_the_contract_with_continuous_actions(scenario: str) -> None:
    spec = EnvSpec(
        scenario,
        lambda: mpe.make(scenario=scenario, continuous_actions=True),
        mpe.SPEC.chance,
        mpe.SPEC.replayable,
        mpe.SPEC.winners,
    )
    report = check_game(spec, seeds=4)
    assert (report.problems, report.replayable, report.seed_matters) == ((), True, True)


@pytest.mark.parametrize("scenario", ALL)
def test_every_scenario_plays_as_behind_pettingzoos_conversion(scenario: str) -> None:
    raw_env = import_module(f"mpe2.{mpe.scenarios()[scenario]}").raw_env
    ours, theirs = mpe.make(scenario=scenario), PettingZooParallel(aec_to_parallel(raw_env()))
    for seed in range(3):
        assert played(ours, seed) == played(theirs, seed)
        assert ours.outcome() == theirs.outcome()


def played(game: Game, seed: int) -> list[tuple[object, ...]]:
    """Every turn of one game with random actions, to the bit."""
    rng, told, turns = np.random.default_rng(seed), list[tuple[object, ...]](), game.reset(seed)
    spaces: list[Any] = [game.roles[role].action_space for role in game.seat_roles]
    counts = [space.n for space in spaces]
    while True:
        told += [
            (
                t.seat,
                t.observation.tobytes(),
                np.array(t.rewards).tobytes(),
                t.terminated,
                t.truncated,
                t.tics,
            )
            for t in turns
        ]
        if turns[0].over:
            return told
        turns = game.step({turn.seat: (int(rng.integers(counts[turn.seat])),) for turn in turns})


def test_agents_that_see_different_things_have_roles_of_their_own() -> None:
    game = mpe.make(scenario="simple_tag", num_adversaries=2, max_cycles=3)
    assert [role.name for role in game.roles] == ["adversary", "agent"]
    assert (game.seat_names, game.seat_roles) == (
        ("adversary_0", "adversary_1", "agent_0"),
        (0, 0, 1),
    )
    turns, moves = game.reset(1), 0
    while any(not turn.over for turn in turns):
        turns, moves = game.step({turn.seat: (1,) for turn in turns}), moves + 1
    assert moves == 3
    assert all(turn.truncated for turn in turns)


# What snapshots of simple_push were trained with before MPE2 computed the whole game itself: what
# each role sees, and options that the game took.
RECORDED_SIGHTS = {
    "adversary": Box(-np.inf, np.inf, (8,), np.float32),
    "agent": Box(-np.inf, np.inf, (19,), np.float32),
}
RECORDED_OPTIONS = {"max_cycles": 7, "dynamic_rescaling": False, "benchmark_data": True}
# One game of seed 145, in which the particles push each other: actions of both seats, the summed
# rewards, and what the adversary saw last.
RECORDED_ACTIONS = ("1142224111111222222311111", "2231113222222111111422222")
RECORDED_RETURNS = (1.7869408357, -41.5405424554)
RECORDED_LAST_SIGHT = (
    *(-1.2711096, -0.1055484, 0.7846518, -1.1129917),
    *(0.9631432, -1.1286154, -0.2001947, 0.1899491),
)


@pytest.mark.parametrize("options", [{}, RECORDED_OPTIONS])
def test_stored_snapshots_of_simple_push_fit_it(options: dict[str, object]) -> None:
    game = mpe.make(scenario="simple_push", **options)
    assert {role.name: role.observation_space for role in game.roles} == RECORDED_SIGHTS
    assert all(role.action_space == Discrete(5) and not role.masked for role in game.roles)
    assert (game.seat_names, game.seat_roles) == (("adversary_0", "agent_0"), (0, 1))
    assert tuple(game.reward_terms) == ("reward",)


def test_a_recorded_game_of_simple_push_goes_as_it_went() -> None:
    game = mpe.make()
    turns, returns = game.reset(145), np.zeros(2)
    for actions in zip(*RECORDED_ACTIONS, strict=True):
        turns = game.step({seat: (int(action),) for seat, action in enumerate(actions)})
        returns += [turn.rewards[0] for turn in turns]
    assert all(turn.truncated for turn in turns)
    assert returns.tolist() == pytest.approx(RECORDED_RETURNS, abs=1e-5)
    assert turns[0].observation.tolist() == pytest.approx(RECORDED_LAST_SIGHT, abs=1e-5)
    assert game.outcome().ranking == (0, 1)


def test_one_role_fills_observations_with_zeros() -> None:
    apart, together = mpe.make(), mpe.make(one_role=True)
    assert [role.observation_space.shape for role in apart.roles] == [(8,), (19,)]
    assert [role.observation_space.shape for role in together.roles] == [(19,)]
    assert together.seat_roles == (0, 0)
    seen, filled = apart.reset(5), together.reset(5)
    for _ in range(3):
        for mine, long in zip(seen, filled, strict=True):
            assert np.array_equal(
                long.observation, np.pad(mine.observation, (0, 19 - len(mine.observation)))
            )
            assert long.observation.dtype == np.float32 and list(mine.rewards) == list(long.rewards)
        seen, filled = apart.step({0: (1,), 1: (4,)}), together.step({0: (1,), 1: (4,)})


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (
            {"scenario": "simple_pusch"},
            "scenario = 'simple_pusch': no such scenario; did you mean simple_push?",
        ),
        (
            {"scenario": "chess"},
            (
                "scenario = 'chess': no such scenario; there are collect_treasure, simple, "
                "simple_adversary, "
            ),
        ),
        ({"scenario": ["simple_push"]}, "no such scenario"),
        ({"max_cycle": 3}, "max_cycle: no such option of simple_push; did you mean max_cycles?"),
        ({"max_cycles": 0}, "max_cycles = 0: must be at least 1; the default is 25"),
        ({"max_cycles": "3"}, "max_cycles = '3': must be a whole number; the default is 25"),
        ({"max_cycles": True}, "max_cycles = True: must be a whole number"),
        ({"dynamic_rescaling": 1}, "dynamic_rescaling = 1: must be true or false"),
        ({"continuous_actions": 1}, "continuous_actions = 1: must be true or false"),
        ({"render_mode": "human"}, "render_mode: no such option"),
        (
            {"scenario": "simple_spread", "local_ratio": "half"},
            "local_ratio = 'half': must be a number",
        ),
        (
            {"scenario": "simple_spread", "num_agent_neighbors": -1},
            "num_agent_neighbors = -1: scenario simple_spread raised AssertionError",
        ),
        ({"one_role": 1}, "one_role = 1: must be true or false"),
        (
            {"scenario": "simple_speaker_listener", "one_role": True},
            "agents have different actions (speaker_0 Discrete(3), listener_0 Discrete(5))",
        ),
    ],
)
def test_wrong_options_are_named(options: dict[str, object], problem: str) -> None:
    with pytest.raises(EnvOptionsError) as raised:
        mpe.make(**options)
    assert problem in str(raised.value)


def test_numbers_may_be_whole_where_fractions_are_meant() -> None:
    assert len(mpe.make(scenario="simple_spread", N=2, local_ratio=1).seat_names) == 2


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    mpe.scenarios.cache_clear()
    monkeypatch.setitem(sys.modules, "mpe2", None)
    with pytest.raises(
        EnvError, match="MPE games need the package mpe2, .*install it: pip install mpe2"
    ):
        mpe.make()
