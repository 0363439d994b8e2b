"""Atari: ours beside the engine itself, the contract, options, and what is refused."""

import os
import random
import sys
from dataclasses import replace
from functools import partial
from typing import Any

import ale_py
import numpy as np
import pytest
from numpy.typing import NDArray

from pbt.envs.adapters.atari import SEVERAL_PLAYERS, AtariEnv, AtariOptions
from pbt.envs.contract import Game
from pbt.envs.registry import spec
from pbt.envs.testing.check import check_game
from pbt.errors import EnvError, EnvNameError, EnvOptionsError
from pbt.seeding import generator


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
def test_a_step_is_four_frames_of_the_engine(
    colours: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of the second game at a table, whose first left its traces in the engine."""
    monkeypatch.setattr(AtariOptions, "__post_init__", lambda self: None)
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
    idle = played(make(), 0, 60, 0)
    assert np.array_equal(played(make(sticky_actions=1.0), 0, 60, 3), idle)
    assert not np.array_equal(played(make(), 0, 60, 3), idle)


class Lives:
    """An engine whose player gets a life and loses two."""

    def __init__(self, engine: Any) -> None:
        self._engine, self._left = engine, iter([4, 3, 2])

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)

    def lives(self) -> int:
        return next(self._left)


def test_a_life_is_lost_also_after_one_was_won() -> None:
    env = AtariEnv("breakout", AtariOptions(life_loss=True, frame_skip=1))
    env.reset(seed=0)
    env._lives, env._ale = 3, Lives(env._ale)
    assert [env.step(np.int64(0))[2] for _ in range(3)] == [False, True, True]


@pytest.mark.parametrize("name", ["qbert", "tetris"])
def test_a_game_begins_as_the_engine_does_it(name: str) -> None:
    """After a restored start these two go on otherwise."""
    env, own = AtariEnv(name, AtariOptions(frame_skip=1)), engine(name)
    for _ in range(2):
        seen, _ = env.reset(seed=1)
        own.reset_game()
        for _ in range(int(generator(1, "atari").integers(31))):
            own.act(0)
        for step in range(200):
            action = step // 7 % len(env._moves)
            last, (seen, score, *_) = seen, env.step(np.int64(action))
            assert score == own.act(env._moves[action])
            screen = np.array(own.getScreenGrayscale())[:, :, None]
            assert np.array_equal(seen.max(initial=0), np.maximum(screen, seen).max())
            assert (seen >= screen).all() and last.shape == seen.shape


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
    longer = spec("atari:pong").make(frame_skip=2)
    longer.reset(0)
    seen = [longer.step({0: (0,)})[0].observation for _ in range(5)]
    assert np.array_equal(turns[-1].observation, seen[-1])


@pytest.mark.parametrize("action", [-1, 6, 18, 99])
def test_actions_that_the_engine_would_take_without_a_word_are_refused(action: int) -> None:
    env = AtariEnv("pong", AtariOptions())
    env.reset(seed=0)
    with pytest.raises(ValueError, match=f"action {action}; expected 0 to 5"):
        env.step(np.int64(action))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"frame_skip": 0}, "frame_skip = 0: expected a whole number from 1 to 1000"),
        ({"noops": -1}, "noops = -1: expected a whole number from 0 to 10000"),
        ({"sticky_actions": 2}, "sticky_actions = 2: expected 0.0 to 1.0"),
        ({"life_loss": 1}, "life_loss = 1: expected true or false"),
        ({"noops": 0}, "noops = 0: expected 1 or more, or sticky_actions above 0.0"),
        ({"mode": 0.0}, "mode = 0.0: expected one of [0, 4, 8,"),
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
    with pytest.raises(EnvNameError, match=r"of 104; did you mean atari:breakout"):
        spec("atari:brekout")


@pytest.mark.parametrize("name", ["combat", "joust", "maze_craze", "warlords"])
def test_a_game_that_would_end_the_process_is_refused_with_another(name: str) -> None:
    with pytest.raises(EnvNameError, match=f"expected pettingzoo:atari/{name}") as raised:
        spec(f"atari:{name}")
    spec(str(raised.value).split()[-1], allow_files=True, measured=(True, True)).make().close()


@pytest.mark.slow
def test_every_game_loads() -> None:
    """Each in a process of its own, since an engine may end it."""
    names = [name for name in ale_py.roms.get_all_rom_ids() if name not in SEVERAL_PLAYERS]
    assert len(names) == 104
    for name in names:
        child = os.fork()
        if not child:
            try:
                spec(f"atari:{name}").make().reset(0)
                os._exit(0)
            finally:
                os._exit(1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0, name


def test_without_the_package_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ale_py", None)
    with pytest.raises(EnvError, match=r"pip install 'pbt-arena\[atari\]'"):
        spec("atari:breakout")
