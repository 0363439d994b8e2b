"""An outsider with nothing but the wheel, in an empty folder: the game of docs/own_games.md, the
shipped game, and a folder full of misleading names.
"""

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.e2e.readme_parts import ROOT, blocks

pytestmark = pytest.mark.slow

OWN_GAMES = ROOT / "docs/own_games.md"
SHORT = (
    "stop_at_frames=2000",
    "population.members=2",
    "sampling.environments=16",
    "evaluation.final_games=4",
)


@dataclass(frozen=True)
class Installed:
    """The wheel, unpacked into a folder of its own; nothing of the checkout is on the path."""

    site: Path

    def run(self, folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
        kept = {
            name: value
            for name, value in os.environ.items()
            if name not in {"ARENA_DATA", "PYTHONPATH"}
        }
        environment = {
            **kept,
            "PYTHONPATH": str(self.site),
            "PATH": f"{self.site / 'bin'}{os.pathsep}{os.environ['PATH']}",
        }
        return subprocess.run(
            command, cwd=folder, env=environment, capture_output=True, text=True, timeout=600
        )

    def arena(self, folder: Path, *arguments: str) -> str:
        """Standard output of `arena ...`, which must succeed."""
        done = self.run(folder, "arena", *arguments)
        assert done.returncode == 0, f"arena {' '.join(arguments)}\n{done.stdout}{done.stderr}"
        return done.stdout


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    built, site = tmp_path_factory.mktemp("wheel"), tmp_path_factory.mktemp("site")
    build = [
        sys.executable,
        "-m",
        "build",
        "--wheel",
        "--no-isolation",
        "--outdir",
        str(built),
        str(ROOT),
    ]
    subprocess.run(build, check=True, capture_output=True, timeout=300)
    (wheel,) = built.glob("*.whl")
    install = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "--no-index",
        "--no-deps",
        "--no-compile",
        "--target",
        str(site),
        str(wheel),
    ]
    subprocess.run(install, check=True, capture_output=True, timeout=300)
    return Installed(site)


def test_the_wheel_is_what_runs(installed: Installed, tmp_path: Path) -> None:
    done = installed.run(
        tmp_path,
        sys.executable,
        "-P",
        "-c",
        "import arena, pbt; print(arena.__file__, pbt.__file__)",
    )
    assert all(Path(path).is_relative_to(installed.site) for path in done.stdout.split()), (
        done.stdout + done.stderr
    )


def test_the_documented_game_is_checked_trained_and_matched(
    installed: Installed, tmp_path: Path
) -> None:
    (tmp_path / "my_game.py").write_text(blocks(OWN_GAMES, "python")[0])
    (config,) = (block for block in blocks(OWN_GAMES, "toml") if "my_game.py" in block)
    (tmp_path / "my.toml").write_text(config)
    assert "keeps the contract" in installed.arena(tmp_path, "env", "check", "./my_game.py:make")
    trained = json.loads(installed.arena(tmp_path, "train", "my.toml", "--json"))
    assert trained["finished"] and len(trained["members"]) == 4
    match = json.loads(
        installed.arena(tmp_path, "match", "my@best", "random", "--json").splitlines()[-1]
    )
    assert match["games"] == 400 and match["paired"]
    assert match["low"] > 0.6, "half a minute of training beats random play"
    assert "my@best is my/m" in installed.arena(tmp_path, "league", "my")
    assert "all agree" in installed.arena(tmp_path, "verify", "my")
    # The population finds its game again from any folder.
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    data = ("--data", str(tmp_path / "arena-data"))
    assert json.loads(
        installed.arena(
            elsewhere, "train", "--resume", "my", "--set", "stop_at_frames=41_000", "--json", *data
        )
    )["finished"]
    assert list(elsewhere.iterdir()) == []
    assert sorted(path.name for path in tmp_path.iterdir() if path.name != "__pycache__") == [
        "arena-data",
        "elsewhere",
        "my.toml",
        "my_game.py",
    ]


@pytest.mark.parametrize("name", ["connect_four", "demo"])
def test_a_shipped_config_trains_from_an_empty_folder(
    name: str, installed: Installed, tmp_path: Path
) -> None:
    edits = [word for edit in SHORT for word in ("--set", edit)]
    result = json.loads(
        installed.arena(tmp_path, "train", name, "--name", "first", *edits, "--json")
    )
    assert result["finished"] and result["population"] == "first"
    assert [path.name for path in tmp_path.iterdir()] == ["arena-data"]


def test_modules_of_the_same_names_in_the_folder_harm_nothing(
    installed: Installed, tmp_path: Path
) -> None:
    for name in ("arena", "pbt", "typer", "torch", "json"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('the wrong module')\n")
    (tmp_path / "api").mkdir()
    (tmp_path / "api/__init__.py").write_text("raise SystemExit('the wrong package')\n")
    (tmp_path / "small.toml").write_text('[env]\nname = "rock_paper_scissors"\n')
    edits = [word for edit in SHORT for word in ("--set", edit)]
    done = installed.run(
        tmp_path, sys.executable, "-P", "-m", "arena", "train", "small.toml", *edits
    )
    assert done.returncode == 0, done.stderr
    assert "finished" in done.stderr and "wrong" not in done.stderr
