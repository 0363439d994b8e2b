"""Atari: ours beside the engine itself, the contract, options, and what is refused."""

import random
import sys
from dataclasses import replace
from functools import partial
from typing import Any

import ale_py
import numpy as np
import pytest
from numpy.typing import NDArray

from pbt.envs.adapters.atari import AtariEnv, AtariOptions
from pbt.envs.contract import Game
from pbt.envs.registry import spec
from pbt.envs.testing.check import check_game
from pbt.errors import EnvError, EnvNameError, EnvOptionsError


def engine(name: str) -> Any:
    ale = ale_py.ALEInterface()
    ale.setFloat("repeat_action_probability", 0.0)
    ale.setInt("random_seed", 0)
    ale.loadROM(ale_py.roms.get_rom_path(name))
    ale.reset_game()
    return ale


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("pong", {"max_frames": 400}),
        ("breakout", {"sticky_actions": 0.25, "life_loss": True, "colours": True}),
        ("space_invaders", {"clip_rewards": True, "all_actions": True, "max_frames": 400}),
    ],
    ids=str,
)
def test_a_game_keeps_the_contract(name: str, options: dict[str, Any]) -> None:
    registered = spec(f"atari:{name}")
    report = check_game(replace(registered, make=partial(registered.make, **options)), 6)
    assert report.problems == ()
    assert (report.games, len(report.seats)) == (6, 1)
    assert report.replayable and report.seed_matters


@pytest.mark.parametrize("colours", [False, True])
def test_a_step_is_four_frames_of_the_engine(colours: bool) -> None:
    """Of the second game at a table, whose first left its traces in the engine."""
    game = spec("atari:breakout").make(noops=0, colours=colours)
    game.reset(0)
    for _ in range(60):
        game.step({0: (1,)})
    own, draw, scored = engine("breakout"), random.Random(1), 0.0

    def screen() -> NDArray[np.uint8]:
        seen = own.getScreenRGB() if colours else own.getScreenGrayscale()
        return np.array(seen).reshape(210, 160, 3 if colours else 1)

    (turn,) = game.reset(3)
    assert np.array_equal(turn.observation, screen())
    moves, last = [move.value for move in own.getMinimalActionSet()], screen()
    for _ in range(400):
        action, score, frames = draw.randrange(len(moves)), 0, [last]
        for _ in range(4):
            score += own.act(moves[action])
            frames.append(screen())
            if own.game_over():
                break
        (turn,) = game.step({0: (action,)})
        assert turn.rewards == [score] and turn.tics == len(frames) - 1
        scored, last = scored + score, frames[-1]
        assert np.array_equal(turn.observation, np.maximum(*frames[-2:]))
        assert turn.terminated == own.game_over()
        if turn.over:
            break
    assert turn.over and scored > 0


def played(game: Game, seed: int, steps: int, action: int = 1) -> list[NDArray[np.uint8]]:
    turns = game.reset(seed)
    seen = [turns[0].observation]
    for _ in range(steps):
        if turns[0].over:
            break
        turns = game.step({0: (action,)})
        seen.append(turns[0].observation)
    return seen


def test_a_game_begins_with_as_many_noops_as_its_seed_draws() -> None:
    game = spec("atari:pong").make()
    starts = {seed: played(game, seed, 40, 3) for seed in range(6)}
    assert len({np.stack(seen).tobytes() for seen in starts.values()}) > 3
    again = spec("atari:pong").make()
    assert all(np.array_equal(played(again, seed, 40, 3), starts[seed]) for seed in (4, 2))


def test_sticky_actions_are_drawn_for_each_frame() -> None:
    """At a chance of 1 nothing is ever chosen, so every action is doing nothing."""
    make = spec("atari:pong").make
    idle = played(make(noops=0), 0, 60, 0)
    assert np.array_equal(played(make(noops=0, sticky_actions=1.0), 0, 60, 3), idle)
    assert not np.array_equal(played(make(noops=0), 0, 60, 3), idle)


def test_a_game_may_end_with_a_life_and_rewards_may_be_clipped() -> None:
    long = played(spec("atari:breakout").make(), 1, 2_000)
    short = played(spec("atari:breakout").make(life_loss=True), 1, 2_000)
    assert len(short) < len(long)
    game = spec("atari:space_invaders").make(clip_rewards=True)
    assert game.reward_terms == ("reward", "clipping")
    turns, paid = game.reset(0), []
    while not turns[0].over:
        turns = game.step({0: (1,)})
        paid.append(tuple(turns[0].rewards))
    assert {score + clipped for score, clipped in paid} == {0.0, 1.0}
    assert max(score for score, _ in paid) >= 5


def test_a_game_is_cut_off_at_the_frame() -> None:
    game = spec("atari:pong").make(max_frames=10)
    game.reset(0)
    turns = [game.step({0: (0,)})[0] for _ in range(3)]
    assert [turn.tics for turn in turns] == [4, 4, 2]
    assert turns[-1].truncated and not turns[-1].terminated


@pytest.mark.parametrize("action", [-1, 6, 18, 99])
def test_actions_that_the_engine_would_take_without_a_word_are_refused(action: int) -> None:
    env = AtariEnv("pong", AtariOptions())
    env.reset(seed=0)
    with pytest.raises(ValueError, match=f"action {action}; expected 0 to 5"):
        env.step(np.int64(action))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"frame_skip": 0}, "frame_skip = 0: expected a whole number of 1 or more"),
        ({"noops": -1}, "noops = -1: expected a whole number of 0 or more"),
        ({"sticky_actions": 2}, "sticky_actions = 2: expected 0.0 to 1.0"),
        ({"life_loss": 1}, "life_loss = 1: expected true or false"),
        ({"mode": 3}, "mode = 3: expected one of [0, 4, 8,"),
        ({"difficulty": 7}, "difficulty = 7: expected one of [0, 1]"),
        ({"lives": 2}, "lives = 2: atari:breakout does not take this"),
    ],
    ids=str,
)
def test_wrong_options_are_named(options: dict[str, Any], message: str) -> None:
    with pytest.raises(EnvOptionsError) as raised:
        spec("atari:breakout").make(**options)
    assert message in str(raised.value)


def test_an_unknown_game_is_told_with_the_nearest() -> None:
    with pytest.raises(EnvNameError, match=r"of 108; did you mean atari:breakout"):
        spec("atari:brekout")


def test_without_the_package_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ale_py", None)
    with pytest.raises(EnvError, match=r"pip install 'pbt-arena\[atari\]'"):
        spec("atari:breakout")
