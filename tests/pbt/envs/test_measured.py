"""What was measured of a file's game is known at the next start, until the file changes."""

import os
import sys
from pathlib import Path
from types import ModuleType

import pytest

from pbt.envs import measured, registry
from pbt.envs.measuring import Measured

GAME = "from beside import made\ndef make(a=0): return made()\n"
BESIDE = "from pbt.envs.tiny.rock_paper_scissors import SPEC\nmade = SPEC.make\n"


def test_it_is_measured_once_for_each_content(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.path", [*__import__("sys").path])
    monkeypatch.delitem(__import__("sys").modules, "beside", raising=False)
    (tmp_path / "game.py").write_text(GAME)
    (tmp_path / "beside.py").write_text(BESIDE)
    times: list[str] = []

    def counted(make: object, name: str) -> Measured:
        times.append(name)
        return Measured(True, False)

    monkeypatch.setattr(measured, "measure", counted)
    name = f"{tmp_path}/game.py:make"

    def found(**options: int) -> int:
        env = registry.spec(name, allow_files=True, options=options)
        assert (env.replayable, env.chance) == (True, False)
        return len(times)

    assert [found(), found(), found(a=1), found(a=1)] == [1, 1, 2, 2]
    (tmp_path / "game.py").write_text(GAME + "# other\n")
    assert [found(), found()] == [3, 3]
    (tmp_path / "beside.py").write_text(BESIDE + "# other\n")
    assert found() == 4
    for kept in Path(os.environ["XDG_CACHE_HOME"]).rglob("*.json"):
        kept.write_text("{")
    assert found() == 5
    assert registry.spec(name, allow_files=True, measured=(False, True)).chance
    assert len(times) == 5


def test_files_beside_a_game_are_found_through_links(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a module the file itself, or a folder above it, may be a link; what is a file of another
    folder is none of the game's, nor is one that is gone.
    """
    real, linked, other = tmp_path / "real", tmp_path / "linked", tmp_path / "other"
    for folder in (real / "parts", other):
        folder.mkdir(parents=True)
    linked.symlink_to(real)
    for file in ("real/game.py", "real/parts/a.py", "real/parts/b.py", "other/c.py"):
        (tmp_path / file).write_text("")
    (other / "d.py").symlink_to(real / "parts/b.py")
    named = [linked / "parts/a.py", other / "c.py", other / "d.py", real / "gone.py", "_classes.py"]
    modules = {}
    for number, file in enumerate(named):
        modules[f"m{number}"] = module = ModuleType(f"m{number}")
        module.__file__ = str(file)
    monkeypatch.setattr(sys, "modules", modules)
    expected = [real / name for name in ("game.py", "parts/a.py", "parts/b.py")]
    assert list(measured.own_files(f"{linked}/game.py:make")) == expected
