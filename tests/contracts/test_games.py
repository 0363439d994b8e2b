"""The contract of games: every registered game keeps it, and every way to break it is noticed."""

import re

import pytest

from pbt.envs.actions import ActionSpec
from pbt.envs.contract import EnvSpec, Game
from pbt.envs.registry import BUILTIN, spec
from pbt.envs.spaces import ObservationCodec
from pbt.envs.testing.check import check_game
from tests.contracts.broken_games import BROKEN, ODD, Sound, broken_spec

# With its default options one game of these takes a second; tests of their own play short ones.
LONG = ("doom_match",)


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.slow] if name in LONG else [])
        for name in sorted(BUILTIN)
    ],
)
def test_registered_game_keeps_the_contract(name: str) -> None:
    registered = spec(name)
    assert registered.name == name
    games = 5 if name in LONG else 20
    report = check_game(registered, seeds=games)
    assert report.problems == () and report.warnings == ()
    assert report.games == games
    assert (report.replayable, report.seed_matters) == (registered.replayable, registered.chance)
    assert sum(report.first_places) + report.draws == report.games
    assert report.steps_per_s > 0
    assert report.mean_decisions >= 1


@pytest.mark.parametrize("name", sorted(BUILTIN))
def test_registered_game_is_a_game_with_supported_spaces(name: str) -> None:
    game = spec(name).make()
    try:
        assert isinstance(game, Game)
        for role in game.roles:
            assert ObservationCodec(role.observation_space).leaves
            assert ActionSpec.of(role.action_space).width
    finally:
        game.close()


@pytest.mark.parametrize("name", sorted(BROKEN))
def test_broken_promise_is_named(name: str) -> None:
    report = check_game(broken_spec(name), seeds=5, max_steps=50)
    assert not report.ok
    assert any(re.search(BROKEN[name][1], problem, re.DOTALL) for problem in report.problems), (
        report.problems
    )


@pytest.mark.parametrize("name", sorted(ODD))
def test_what_training_puts_right_is_one_warning(name: str) -> None:
    report = check_game(broken_spec(name), seeds=5, max_steps=50)
    assert report.problems == ()
    assert len(report.warnings) == 1
    assert report.warnings[0].startswith("seed 0, step ")
    assert report.warnings[0].endswith(f": seat 0 (a): {ODD[name][1]}"), report.warnings


def test_the_sound_game_behind_the_broken_ones_is_sound() -> None:
    report = check_game(
        EnvSpec("sound", Sound, chance=True, replayable=True, winners="more points"),
        seeds=5,
        max_steps=50,
    )
    assert report.problems == () and report.warnings == ()
    assert report.mean_decisions == 6
