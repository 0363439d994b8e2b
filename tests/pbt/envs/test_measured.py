"""What was measured of a file's game is known at the next start, until the file changes."""

import os
from pathlib import Path

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
