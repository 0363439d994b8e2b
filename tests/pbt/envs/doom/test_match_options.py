"""Options of a match of Doom: what is wrong with them is reported before anything starts."""

import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gymnasium.spaces import MultiDiscrete

from pbt.envs.doom.match import make
from pbt.envs.doom.scene import known
from pbt.errors import EnvOptionsError


def heads(**options: Any) -> list[int]:
    """The number of choices of each head."""
    space = make(**options).roles[0].action_space
    assert isinstance(space, MultiDiscrete)
    sizes: list[int] = space.nvec.tolist()
    return sizes


def test_seven_heads_of_twelve_thousand_actions() -> None:
    assert heads() == [3, 3, 2, 2, 2, 8, 21]
    assert np.prod(heads(buttons="battle")) == 756
    assert heads(buttons="battle", turns=11, turn_limit=10.0) == [3, 3, 2, 2, 11]
    assert np.prod(heads(buttons="arena")) == 54
    assert heads(buttons=["attack", "turn_left"]) == [2, 2]


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"player": 2}, "player: no such option; did you mean players?"),
        ({"players": "two"}, "players = 'two': must be a whole number"),
        ({"players": 1}, "no opponent"),
        ({"players": 12, "bots": 5}, "players + bots = 17: Doom has room for 16"),
        ({"bot_skill": 101}, "must be at most 100"),
        ({"bots": -1}, "bots = -1: must be at least 0"),
        ({"buttons": "ful"}, "buttons = 'ful': no such set of buttons; did you mean full?"),
        ({"buttons": []}, "expected at least one"),
        (
            {"buttons": ["USE", "ATACK"]},
            "buttons.1 = 'ATACK': no such button; did you mean ATTACK?",
        ),
        (
            {"variables": ["HEALTHY"]},
            "variables.0 = 'HEALTHY': no such game variable; did you mean HEALTH?",
        ),
        (
            {"terms": {"pain": {"variable": "HELTH", "loss": 1.0}}},
            "terms.pain.variable = 'HELTH': no such game variable; did you mean HEALTH?",
        ),
        (
            {"terms": {"pain": {"variable": "HEALTH"}}},
            "terms.pain: is always 0 without gain or loss; write pain = {",
        ),
        (
            {"terms": {"pain": {"variable": "HEALTH", "gain": 0, "loss": 0.0}}},
            "terms.pain: is always 0 without gain or loss",
        ),
        ({"turns": 10}, "turns = 10: must be odd, so that one choice turns nothing"),
        ({"turns": 1}, "turns = 1: must be at least 3"),
        ({"turn_limit": 0}, "turn_limit = 0: must be more than 0 degrees per tic"),
        ({"reward": "wins"}, "must be one of 'frags', 'lead'"),
        ({"lock_step": "none"}, "must be one of 'auto', 'helper', 'barrier'"),
        ({"deadline_s": 0}, "deadline_s = 0: must be more than 0 seconds"),
        ({"deadline_s": float("nan")}, "must be more than 0 seconds"),
        ({"warmup_tics": 0}, "warmup_tics = 0: must be at least 1"),
        ({"scenario": "multiduel"}, "did you mean multi_duel?"),
        ({"wad": "nowhere.wad"}, "no such file"),
        ({"wad": "."}, "wad = '.': a folder; expected a WAD or a .pk3"),
        ({"buttons": ["ATTACK", "attack"]}, "buttons: ATTACK stands there more than once"),
    ],
)
def test_a_wrong_option_is_named(options: dict[str, Any], problem: str) -> None:
    with pytest.raises(EnvOptionsError) as raised:
        make(**options)
    assert problem in str(raised.value)


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (
            {"players": 3},
            (
                "players + bots = 3: multi_duel map01 has room for 2, and more crash Doom's "
                'engine; try scenario = "cig"'
            ),
        ),
        ({"players": 2, "bots": 1}, "multi_duel map01 has room for 2"),
        ({"players": 1, "bots": 2}, "multi_duel map01 has room for 2"),
        ({"scenario": "basic"}, "scenario: basic map01 has no places for players of a deathmatch"),
        ({"players": 3, "scenario": "{folder}/mine.cfg"}, "mine map01 has room for 2"),
    ],
)
def test_a_map_without_room_for_everybody_is_refused(
    options: dict[str, Any], problem: str, tmp_path: Path
) -> None:
    (tmp_path / "mine.cfg").write_text(
        "doom_map = map01\ndoom_scenario_path = mine.wad\n", encoding="utf-8"
    )
    (tmp_path / "mine.wad").write_bytes((known().scenarios / "multi_duel.wad").read_bytes())
    with pytest.raises(EnvOptionsError) as raised:
        make(
            **{
                name: value.format(folder=tmp_path) if isinstance(value, str) else value
                for name, value in options.items()
            }
        )
    assert problem in str(raised.value)


@pytest.mark.parametrize(
    "options",
    [
        {"players": 2},
        {"players": 8, "bots": 8, "scenario": "cig"},
        # Where there are places for single players, the engine uses those, too.
        {"players": 1, "bots": 15, "scenario": "cig", "map": "map02"},
        {"players": 16, "scenario": "freedoom2", "map": "map03"},
        # What is on the map of a .pk3, only the engine knows.
        {"players": 16, "wad": "{folder}/mine.pk3", "map": "arena"},
    ],
)
def test_a_map_with_room_is_not_refused(options: dict[str, Any], tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "mine.pk3", "w") as pk3:
        pk3.write(known().scenarios / "multi_duel.wad", "maps/arena.wad")
    make(
        **{
            name: value.format(folder=tmp_path) if isinstance(value, str) else value
            for name, value in options.items()
        }
    )


def test_all_that_is_wrong_is_told_at_once() -> None:
    with pytest.raises(EnvOptionsError) as raised:
        make(players=0, reward="wins", width=0, map="map01", scenario="cik")
    assert len(raised.value.problems) == 4


def test_without_the_library_helper_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pbt.envs.doom.match_options.doom_preload", lambda: None)
    with pytest.raises(EnvOptionsError, match=r'lock_step = .helper.: .*not compiled.*"auto"'):
        make(lock_step="helper")
    make(lock_step="auto")
