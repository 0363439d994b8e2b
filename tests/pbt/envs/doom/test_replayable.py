"""A game of Doom is decided by its seed and actions, whatever the engine played before."""

import shutil
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from pbt.envs import registry
from pbt.envs.doom import game as doom
from pbt.envs.doom.scene import known
from pbt.envs.measuring import as_played
from pbt.envs.testing.playthrough import Referee, play

# After 150 decisions with seed 1 the player runs, and the weapon swings.
RUNNING, DECISIONS = 1, 150


@pytest.fixture
def own_scenario(tmp_path: Path) -> str:
    """The path of a user's own scenario with a weapon and room to run."""
    for name in ("multi.cfg", "multi_deathmatch.wad"):
        shutil.copy(known().scenarios / name, tmp_path / name)
    return str(tmp_path / "multi.cfg")


def digest(game: doom.DoomGame, seed: int, decisions: int) -> str:
    return play(Referee(game), "doom", seed, seed, decisions).digest


def test_a_game_is_the_same_after_another_one_in_which_the_player_ran() -> None:
    with closing(doom.make(scenario="multi")) as fresh:
        alone = digest(fresh, 0, 20)
    with closing(doom.make(scenario="multi")) as used:
        digest(used, RUNNING, DECISIONS)
        assert digest(used, 0, 20) == alone


def test_a_game_shorter_than_the_weapon_swings_is_forgotten_as_well() -> None:
    with closing(doom.make(scenario="multi", max_tics=9, frame_skip=3)) as game:
        assert len({digest(game, 0, 20) for _ in range(3)}) == 1


def test_an_own_scenario_is_measured(own_scenario: str, monkeypatch: pytest.MonkeyPatch) -> None:
    env = registry.spec("doom", allow_files=True)
    assert as_played(env, {"scenario": own_scenario}).replayable
    # The engine remembers how far the weapon swung.
    monkeypatch.setattr(doom.DoomGame, "_forget", lambda game, engine: None)
    assert not as_played(env, {"scenario": own_scenario}).replayable
    # Neither a scenario of ViZDoom's nor one that is refused here is measured.
    assert as_played(env, {"scenario": "multi"}) == env
    assert as_played(replace(env, replayable=False), {"scenario": own_scenario}).replayable is False
