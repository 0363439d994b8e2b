"""`arena watch`: what it says, and what it refuses before anything is played or written."""

import json
from pathlib import Path

import pytest

from arena.cli.app import run
from pbt.film import extra
from tests.pbt.film.reading import read

Output = pytest.CaptureFixture[str]
GAME = """
import gymnasium, numpy as np
from gymnasium import spaces

class Dots(gymnasium.Env):
    observation_space = spaces.Box(0, 255, (16, 16, 1), np.uint8)
    action_space = spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.left = 6
        return self.observation_space.sample() * 0 + 9, {}

    def step(self, action):
        self.left -= 1
        return self.observation_space.sample() * 0 + self.left, 0.5, self.left == 0, False, {}

def make():
    return Dots()
"""


@pytest.fixture
def game(tmp_path: Path) -> str:
    (tmp_path / "dots.py").write_text(GAME)
    return f"{tmp_path / 'dots.py'}:make"


def test_a_game_of_ones_own_is_filmed(game: str, tmp_path: Path, capsys: Output) -> None:
    out = tmp_path / "dots.mp4"
    assert (
        run(
            [
                "watch",
                "random",
                "--env",
                game,
                "--out",
                str(out),
                "--games",
                "2",
                "--scale",
                "4",
                "--json",
            ]
        )
        == 0
    )
    report = json.loads(capsys.readouterr().out)
    assert (
        report["video"] == str(out)
        and report["planned"] == len(report["games"]) == 2
        and not report["interim"]
    )
    assert [seat["return"] for game in report["games"] for seat in game["seats"]] == [3.0, 3.0]
    assert report["pictures"] == len(read(out).pictures) == 2 * (1 + 6 + 2)

    assert run(["watch", "random", "--env", game, "--out", str(out)]) == 2
    assert "it exists; name another file, or add --force" in capsys.readouterr().err
    assert run(["watch", "random", "--env", game, "--out", str(out), "--force"]) == 0
    shown = capsys.readouterr().out.splitlines()
    assert (
        shown[0].startswith(f"{out}   288x312, ")
        and shown[1] == "Game 1   random   return 3;   rules after 0.6 s"
    )


def test_a_board_is_not_filmed(tmp_path: Path, capsys: Output) -> None:
    assert (
        run(
            ["watch", "random", "oneply", "--env", "connect_four", "--out", str(tmp_path / "a.mp4")]
        )
        == 2
    )
    said = capsys.readouterr().err
    assert (
        "connect_four: no seat sees an image, found" in said
        and "expected uint8 [height, width, 1, 3 or 4]" in said
        and "`arena replay match:1:0`" in said
    )
    assert list(tmp_path.iterdir()) == []


def test_a_missing_extra_is_named(
    tmp_path: Path, capsys: Output, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(extra, "find_spec", lambda name: None if name == "av" else True)
    assert run(["watch", "random", "--env", "doom", "--out", str(tmp_path / "a.mp4")]) == 2
    assert (
        "videos are written with PyAV, not found here; install the extra: pip install "
        "'pbt-arena[video]'"
    ) in capsys.readouterr().err
