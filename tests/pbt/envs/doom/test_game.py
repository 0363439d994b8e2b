"""Doom scenarios as games: what they show, what ends them, and what options they take."""

from pathlib import Path

import numpy as np
import pytest

from pbt.envs import registry
from pbt.envs.doom.buttons import heads_of, one_head_of, turn_values
from pbt.envs.doom.game import DoomGame, make
from pbt.envs.doom.screen import ScreenSampler
from pbt.envs.registry import absolute_options
from pbt.errors import EnvError, EnvOptionsError
from tests.pbt.envs.doom.scene import ending_wad, play

# --- actions and screens --------------------------------------------------------------------------


def test_buttons_that_exclude_each_other_share_a_head() -> None:
    buttons = [
        "MOVE_LEFT",
        "ATTACK",
        "MOVE_RIGHT",
        "SELECT_WEAPON1",
        "SELECT_WEAPON3",
        "TURN_LEFT_RIGHT_DELTA",
        "SPEED",
    ]
    heads = heads_of(buttons, turn_values(21, 12.5))
    assert heads.sizes == (3, 2, 3, 21, 2)
    assert heads.pressed((0, 0, 0, 10, 0)) == [0.0] * 7
    assert heads.pressed((2, 1, 1, 20, 0)) == [0.0, 1.0, 1.0, 1.0, 0.0, 12.5, 0.0]
    assert heads.pressed((1, 0, 2, 0, 1)) == [1.0, 0.0, 0.0, 0.0, 1.0, -12.5, 1.0]


def test_a_single_head_presses_one_button_at_most() -> None:
    heads = one_head_of(["MOVE_LEFT", "ATTACK"], ())
    assert [heads.pressed((choice,)) for choice in range(3)] == [[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]]
    assert turn_values(5, 10.0) == (-10.0, -5.0, 0.0, 5.0, 10.0)
    turning = one_head_of(["ATTACK", "TURN_LEFT_RIGHT_DELTA"], turn_values(21, 12.5))
    assert turning.sizes == (22,)
    assert [turning.pressed((choice,)) for choice in (1, 2, 21)] == [
        [1.0, 0.0],
        [0.0, -12.5],
        [0.0, 12.5],
    ]


@pytest.mark.parametrize(
    "sizes",
    [
        ((120, 160), (72, 128)),
        ((120, 160), (120, 160)),
        ((6, 8), (3, 2)),
        ((7, 5), (3, 3)),
        ((4, 4), (9, 6)),
    ],
)
def test_sampling_takes_the_nearest_pixel(sizes: tuple[tuple[int, int], tuple[int, int]]) -> None:
    (rows, columns), (height, width) = sizes
    screen = np.random.default_rng(0).integers(0, 256, (rows, columns, 3), dtype=np.uint8)
    found = ScreenSampler(*sizes, channels=3).sample(screen)
    expected = [
        [screen[y * rows // height, x * columns // width] for x in range(width)]
        for y in range(height)
    ]
    assert np.array_equal(found, np.array(expected))


# --- a game ---------------------------------------------------------------------------------------


def test_time_runs_out_after_the_scenarios_tics() -> None:
    game = make(scenario="basic", frame_skip=7)
    turns = play(game, 1, (0, 0))
    # basic lasts 300 tics, each of which costs 1; 42 whole steps and one that is cut short.
    assert [turn.tics for turn in turns] == [0, *[7] * 42, 6]
    assert sum(turn.rewards[0] for turn in turns) == -300.0
    assert (turns[-1].truncated, turns[-1].terminated, turns[-1].observation) == (True, False, None)
    assert (game.outcome().ranking, game.outcome().reason) == ((0,), "timeout")
    game.close()


@pytest.mark.parametrize(
    ("options", "tics"),
    [
        ({"scenario": "basic", "max_tics": 50}, 50),
        ({"scenario": "multi", "frame_skip": 1000}, 21_000),
    ],
)
def test_every_episode_has_a_longest_time(options: dict[str, object], tics: int) -> None:
    game = make(**options)
    turns = play(game, 1, (0,) * len(game._heads.sizes))
    assert sum(turn.tics for turn in turns) == tics
    assert (turns[-1].truncated, game.outcome().reason) == (True, "timeout")
    game.close()


def test_the_end_of_the_time_may_be_a_termination() -> None:
    game = make(scenario="basic", timeout="terminated", frame_skip=50)
    turns = play(game, 1, (0, 0))
    assert (turns[-1].truncated, turns[-1].terminated) == (False, True)
    game.close()


def test_what_is_seen(basic: DoomGame) -> None:
    (turn,) = basic.reset(3)
    assert turn.observation["screen"].shape == (72, 128, 3)
    assert len(np.unique(turn.observation["screen"])) > 20
    assert turn.observation["variables"] == pytest.approx([1.0])  # AMMO2: 50 bullets
    basic.step({0: (0, 1)})
    (turn,) = basic.step({0: (0, 1)})
    assert turn.observation["variables"] == pytest.approx([49 / 50])


def test_shaping_terms_count_changes_of_a_variable() -> None:
    game = make(
        scenario="health_gathering_supreme",
        terms={"hurt": {"variable": "HEALTH", "loss": 0.5, "gain": 2.0}},
        variables=["health"],
    )
    assert game.reward_terms == ("reward", "hurt")
    turns = play(game, 2, (0, 0))
    # Standing in acid until dead: 8 points of health at a time; of the last one, with which the
    # episode ends, Doom does not tell.
    assert {turn.rewards[1] for turn in turns} <= {0.0, 4.0}
    assert sum(turn.rewards[1] for turn in turns) == 48.0
    assert (turns[-1].terminated, game.outcome().reason) == (True, "died")
    game.close()


def test_points_are_the_count_of_a_variable() -> None:
    game = make(scenario="defend_the_center", points="killcount", frame_skip=4)
    turns = play(game, 4, (1, 1))
    points = game.outcome().points
    # The scenario gives 1 for a kill and takes 1 for one's own death.
    assert points is not None and points[0] > 0
    assert points[0] - 1.0 == sum(turn.rewards[0] for turn in turns)
    game.close()


def test_a_map_may_end_within_a_step(tmp_path: Path) -> None:
    game = make(
        scenario="basic",
        wad=str(ending_wad(tmp_path / "ends.wad", "basic", 30)),
        frame_skip=7,
        actions="single",
    )
    turns = play(game, 1, (0,))
    assert (turns[-1].terminated, turns[-1].tics, game.outcome().reason) == (True, 7, "rules")
    assert len(turns) < 8
    game.close()


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"scenario": "basik"}, "did you mean basic?"),
        ({"scenario": "./nowhere.cfg"}, "no file"),
        ({"frame_skp": 2}, "frame_skp: no such option; did you mean frame_skip?"),
        ({"frame_skip": 0}, "must be at least 1"),
        ({"max_tics": 0}, "max_tics = 0: must be at least 1"),
        ({"frame_skip": "4"}, "must be a whole number"),
        ({"screen": "3x3"}, "ViZDoom does not render that"),
        ({"actions": "all"}, "must be one of 'heads', 'single'"),
        ({"variables": ["HELTH"]}, "did you mean HEALTH?"),
        ({"terms": {"health": 1.0}}, "must be a table with a variable"),
        (
            {"terms": {"health": {"variable": "HEALTH", "gian": 1}}},
            "terms.health.gian: unknown key",
        ),
        ({"points": "KILCOUNT"}, "did you mean KILLCOUNT?"),
        ({"variables": [1]}, "must be a list of texts"),
        ({"terms": {"health": {"variable": "HEALTH", "gain": float("inf")}}}, "finite numbers"),
        ({"terms": {"health": {"variable": "HEALTH", "gain": True}}}, "finite numbers"),
    ],
)
def test_wrong_options_are_named(options: dict[str, object], problem: str) -> None:
    with pytest.raises(EnvOptionsError) as raised:
        make(**options)
    assert problem in str(raised.value)


def test_all_problems_are_told_at_once() -> None:
    with pytest.raises(EnvOptionsError) as raised:
        make(scenario="basik", actions="all", timeout="never")
    assert len(raised.value.problems) == 3


# --- files ----------------------------------------------------------------------------------------


def copied(folder: Path, lines: str = "") -> Path:
    """basic.cfg and its WAD in a folder of one's own."""
    import vizdoom

    for name in ("basic.cfg", "basic.wad"):
        (folder / name).write_bytes((Path(vizdoom.scenarios_path) / name).read_bytes())
    config = folder / "basic.cfg"
    config.write_text(config.read_text() + lines)
    return config


def test_files_are_opened_for_the_local_command_line_only(tmp_path: Path) -> None:
    scenario = str(copied(tmp_path))
    registry.spec("doom", allow_files=True).make(scenario=scenario).close()
    for options in (
        {"scenario": scenario},
        {"scenario": "basic", "wad": str(tmp_path / "basic.wad")},
    ):
        with pytest.raises(EnvError, match="only the local command line opens files by path"):
            registry.spec("doom").make(**options)


@pytest.mark.parametrize("allow_files", [True, False])
def test_a_name_is_no_path_in_disguise(tmp_path: Path, allow_files: bool) -> None:
    hidden = str(copied(tmp_path).with_suffix(""))
    for name in (hidden, f"../../../../../../../../{hidden}"):
        with pytest.raises(EnvError, match="no such scenario"):
            registry.spec("doom", allow_files=allow_files).make(scenario=name)


def test_a_scenario_cannot_pass_arguments_to_the_engine(tmp_path: Path) -> None:
    written = tmp_path / "written.txt"
    game = make(scenario=str(copied(tmp_path, f"\ngame_args = +logfile {written}\n")))
    game.reset(1)
    game.close()
    assert not written.exists()


def test_a_wad_that_is_not_there_is_named(tmp_path: Path) -> None:
    scenario = copied(tmp_path)
    (tmp_path / "basic.wad").rename(tmp_path / "other.wad")
    with pytest.raises(EnvError, match=r"names the WAD .*which is not there"):
        make(scenario=str(scenario))
    make(scenario=str(scenario), wad=str(tmp_path / "other.wad")).close()


def test_paths_among_the_options_are_stored_absolute(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    given = {"scenario": "./own.cfg", "wad": "own.wad", "frame_skip": 2}
    assert absolute_options("doom", given) == {
        "scenario": str(tmp_path / "own.cfg"),
        "wad": str(tmp_path / "own.wad"),
        "frame_skip": 2,
    }
    assert absolute_options("doom", {"scenario": "basic", "wad": 3}) == {
        "scenario": "basic",
        "wad": 3,
    }
    assert absolute_options("connect_four", {}) == {}
