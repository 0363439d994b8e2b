"""MinAtar's games: the package's own beside ours, the contract, options, and what is refused."""

import random
import sys
from dataclasses import replace
from functools import partial
from typing import Any

import minatar
import numpy as np
import pytest

from pbt.envs.adapters.minatar import GAMES
from pbt.envs.registry import spec
from pbt.envs.testing.check import check_game
from pbt.errors import EnvError, EnvNameError, EnvOptionsError


@pytest.mark.parametrize("name", GAMES)
def test_a_game_keeps_the_contract(name: str) -> None:
    registered = spec(f"minatar:{name}")
    report = check_game(replace(registered, make=partial(registered.make, max_steps=200)))
    assert report.problems == ()
    assert (report.games, len(report.seats)) == (20, 1)
    assert report.replayable and report.seed_matters


@pytest.mark.parametrize("all_actions", [False, True])
@pytest.mark.parametrize("name", GAMES)
def test_a_game_is_the_packages_own(name: str, all_actions: bool) -> None:
    """Of the second game at a table, whose first left its traces in the package's object."""
    game = spec(f"minatar:{name}").make(all_actions=all_actions)
    draw = random.Random(3)
    game.reset(1)
    game.step({0: (1,)})
    own = minatar.Environment(name)
    own.seed(7)
    own.reset()
    (turn,) = game.reset(7)
    moves = list(range(6)) if all_actions else own.minimal_action_set()
    assert game.roles[0].action_space.n == len(moves)  # type: ignore[attr-defined]
    for _ in range(300):
        assert np.array_equal(turn.observation, own.state().transpose(2, 0, 1))
        if turn.over:
            break
        action = draw.randrange(len(moves))
        reward, over = own.act(moves[action])
        (turn,) = game.step({0: (action,)})
        assert (turn.rewards[0], turn.terminated, turn.truncated) == (reward, over, False)


def test_a_game_is_drawn_by_its_planes() -> None:
    registered = spec("minatar:breakout")
    (turn,) = registered.make().reset(0)
    assert registered.draw is not None
    lines = registered.draw({"observation": turn.observation}, 0).splitlines()
    assert lines[1] == lines[2] == lines[3] == "4 4 4 4 4 4 4 4 4 4"
    assert lines[9].count("1") == 1 and lines[9].count(".") == 9
    assert len(lines) == 10


def test_an_episode_is_cut_off() -> None:
    game = spec("minatar:freeway").make(max_steps=3)
    game.reset(0)
    turns = [game.step({0: (0,)})[0] for _ in range(3)]
    assert [turn.truncated for turn in turns] == [False, False, True]
    assert not turns[-1].terminated


def test_without_sticky_actions_every_action_is_the_chosen_one() -> None:
    game = spec("minatar:breakout").make(sticky_actions=0.0)
    (turn,) = game.reset(5)
    for _ in range(5):
        before = int(turn.observation[0, 9].argmax())
        (turn,) = game.step({0: (1,)})
        assert int(turn.observation[0, 9].argmax()) == max(0, before - 1)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"sticky_actions": 1.5}, "sticky_actions = 1.5: expected 0.0 to 1.0"),
        ({"sticky_actions": True}, "sticky_actions = True: expected 0.0 to 1.0"),
        ({"max_steps": 0}, "max_steps = 0: expected a whole number from 1 to 1000000000"),
        ({"max_steps": 2.0}, "max_steps = 2.0: expected a whole number from 1 to 1000000000"),
        ({"ramping": 1}, "ramping = 1: expected true or false"),
        ({"all_actions": "no"}, "all_actions = 'no': expected true or false"),
        ({"difficulty": 2}, "difficulty = 2: minatar:breakout does not take this"),
    ],
    ids=str,
)
def test_wrong_options_are_named(options: dict[str, Any], message: str) -> None:
    with pytest.raises(EnvOptionsError) as raised:
        spec("minatar:breakout").make(**options)
    assert message in str(raised.value)


def test_a_game_that_would_always_be_the_same_is_refused() -> None:
    with pytest.raises(EnvOptionsError, match="above 0.0: all games are one else"):
        spec("minatar:space_invaders").make(sticky_actions=0.0)


@pytest.mark.parametrize("action", [-1, 3, 99])
def test_actions_that_are_none_are_refused(action: int) -> None:
    game = spec("minatar:breakout").make()
    game.reset(0)
    with pytest.raises(EnvError, match=f"action {action}; expected 0 to 2"):
        game.step({0: (action,)})


def test_an_unknown_game_is_told_with_the_nearest() -> None:
    with pytest.raises(EnvNameError, match="did you mean minatar:seaquest"):
        spec("minatar:seequest")
    with pytest.raises(EnvNameError, match="it has asterix, breakout, freeway"):
        spec("minatar:xyz")


def test_without_the_package_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "minatar", None)
    with pytest.raises(EnvError, match=r"pip install 'pbt-arena\[minatar\]'"):
        spec("minatar:breakout").make()
