"""What the adapter shows of an OpenSpiel game is what OpenSpiel says."""

import subprocess
import sys
from typing import Any

import numpy as np
import pyspiel
import pytest

from pbt.envs.adapters import openspiel_in_c
from pbt.envs.adapters.openspiel import OpenSpielGame, openspiel_game
from pbt.envs.contract import Readable
from pbt.envs.registry import spec
from pbt.errors import EnvError, EnvNameError, EnvOptionsError
from pbt.seeding import generator


def game_of(name: str, **options: Any) -> OpenSpielGame:
    return openspiel_game(f"openspiel:{name}", **options)


@pytest.mark.parametrize(
    ("name", "options"),
    [("leduc_poker", {"players": 3}), ("kuhn_poker", {}), ("connect_four", {}), ("2048", {})],
)
def test_every_turn_is_what_openspiel_says(name: str, options: dict[str, Any]) -> None:
    """Observation, mask, rewards and ranking agree with a second state, walked beside the first."""
    game, rng = game_of(name, **options), generator(1, "test")
    for seed in range(30):
        turns = game.reset(seed)
        rewards = np.zeros(len(game.seat_names))
        while not turns[0].over:
            (turn,) = turns
            twin = game._state.clone()
            sees = twin.information_state_tensor if "poker" in name else twin.observation_tensor
            assert turn.seat == twin.current_player()
            assert turn.observation.dtype == np.float32 and turn.observation.reshape(
                -1
            ).tolist() == sees(turn.seat)
            assert (
                turn.mask is not None and np.flatnonzero(turn.mask).tolist() == twin.legal_actions()
            )
            rewards[turn.seat] += turn.rewards[0]
            turns = game.step({turn.seat: (int(rng.choice(np.flatnonzero(turn.mask))),)})
        assert [turn.seat for turn in turns] == list(range(len(game.seat_names))) and all(
            turn.terminated for turn in turns
        )
        rewards += [turn.rewards[0] for turn in turns]
        assert rewards.tolist() == game._state.returns()
        assert game.outcome().ranking == tuple(
            sum(other > own for other in rewards) for own in rewards
        )


def test_cards_fall_as_often_as_openspiel_says() -> None:
    """Leduc's first two cards: 30 equally likely deals.

    Chi-square over 6 000 seeds: 29 degrees of freedom, 58.3 is the 0.1 % point.
    """
    game = game_of("leduc_poker")
    deals = np.zeros((6, 6))
    for seed in range(6000):
        game.reset(seed)
        deals[tuple(game._state.history())] += 1
    assert not np.diag(deals).any()
    seen = deals[~np.eye(6, dtype=bool)]
    assert ((seen - 200) ** 2 / 200).sum() < 58.3


@pytest.mark.parametrize("name", ["leduc_poker", "othello", "hex"])
def test_a_game_in_c_has_the_words_of_openspiel(name: str) -> None:
    """Asked at every move, and at the end of a game alone."""
    game, other, rng = spec(f"openspiel:{name}").make(), game_of(name), generator(2, "test")
    for seed, each in ((1, True), (2, False), (3, True)):
        turns = game.reset(seed)
        other.reset(seed)
        assert isinstance(game, Readable)
        while not turns[0].over:
            seat, action = turns[0].seat, (int(rng.choice(np.flatnonzero(turns[0].mask))),)
            if each:
                assert game.position() == other.position()
                assert game.action_name(seat, action) == other.action_name(seat, action)
            turns = game.step({seat: action})
            other.step({seat: action})
        assert game.position() == other.position()
        assert (game.position() is None) == (name == "leduc_poker")


def test_with_options_and_another_openspiel_its_own_game_plays(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    registered = spec("openspiel:hex")
    assert isinstance(registered.make(board_size=5), OpenSpielGame)
    assert isinstance(registered.make(board_size=11), OpenSpielGame)
    shown = "openspiel:leduc_poker"
    monkeypatch.setitem(openspiel_in_c.RULES, "openspiel:hex", openspiel_in_c.RULES[shown])
    assert isinstance(registered.make(), OpenSpielGame)


def test_a_shape_of_rank_three_stays_one() -> None:
    assert game_of("connect_four").roles[0].observation_space.shape == (3, 6, 7)


def test_every_game_of_turns_with_a_tensor_is_known() -> None:
    kinds = pyspiel.GameType
    found = [
        game
        for game in pyspiel.registered_games()
        if game.dynamics == kinds.Dynamics.SEQUENTIAL and game.default_loadable
    ]
    shown = [
        game.short_name
        for game in found
        if game.provides_information_state_tensor or game.provides_observation_tensor
    ]
    assert len(shown) > 60
    for name in shown:
        assert spec(f"openspiel:{name}").name == f"openspiel:{name}"


REFUSED: dict[str, tuple[str, dict[str, Any], type[EnvError], str]] = {
    "unknown": (
        "tictactoe",
        {},
        EnvNameError,
        "has no game 'tictactoe'; did you mean 'openspiel:tic_tac_toe'",
    ),
    "parameters in the name": (
        "kuhn_poker(players=3)",
        {},
        EnvNameError,
        "expected openspiel:kuhn_poker, with the parameters in env.options",
    ),
    "unknown parameter": (
        "kuhn_poker",
        {"plyers": 3},
        EnvOptionsError,
        "plyers: no parameter of openspiel:kuhn_poker; it has players",
    ),
    "wrong value": (
        "kuhn_poker",
        {"players": 99},
        EnvOptionsError,
        "openspiel:kuhn_poker does not take these",
    ),
    "wrong type": (
        "kuhn_poker",
        {"players": [1]},
        EnvOptionsError,
        "openspiel:kuhn_poker does not take these",
    ),
    "all at once": (
        "goofspiel",
        {},
        EnvError,
        "all of its players move at once; .*env.options.turn_based = true",
    ),
    "no tensor": ("tarok", {}, EnvError, "describes its states in words only"),
    "a crowd": ("mfg_crowd_modelling", {}, EnvError, "a mean-field game"),
    "a file": (
        "efg_game",
        {"filename": "/etc/passwd"},
        EnvError,
        "only the local command line opens files by path",
    ),
    "a file within": (
        "misere",
        {"game": "efg_game(filename=/etc/passwd)"},
        EnvError,
        "only the local command line opens files by path",
    ),
}


@pytest.mark.parametrize(
    ("name", "options", "error", "message"), REFUSED.values(), ids=REFUSED.keys()
)
def test_what_cannot_be_played_is_refused_with_a_reason(
    name: str, options: dict[str, Any], error: type[EnvError], message: str
) -> None:
    with pytest.raises(error, match=message):
        spec(f"openspiel:{name}").make(**options)


def test_where_it_is_not_installed_the_error_says_how_to_install_it() -> None:
    code = """
import sys
sys.modules["pyspiel"] = None  # as if it were not there
from pbt.envs.registry import names, spec
from pbt.errors import EnvError
assert names()
try:
    spec("openspiel:leduc_poker")
except EnvError as error:
    print(error)
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    )
    assert (
        "env 'openspiel:leduc_poker': OpenSpiel is not installed; `pip install "
        "'pbt-arena[openspiel]'`"
    ) in done.stdout
