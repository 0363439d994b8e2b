"""A user's game that is spread over several files: a package, and modules beside a file."""

import sys
from pathlib import Path

import pytest

from pbt.envs import registry
from pbt.errors import EnvError, EnvNameError


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.chdir(tmp_path)
    return tmp_path


def written(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def made(name: str) -> str:
    """The name of the game that the file's function gives."""
    game = registry.spec(name, allow_files=True, measured=(True, True)).make()
    game.close()
    return type(game).__name__


def test_a_package_imports_its_parts_and_what_lies_beside_it(folder: Path) -> None:
    written(folder / "house" / "__init__.py", "")
    written(folder / "house" / "inner" / "__init__.py", "from ..core import Core\n")
    written(folder / "house" / "core.py", "from beside_the_house import Core\n")
    written(
        folder / "beside_the_house.py",
        "from pbt.envs.tiny.rock_paper_scissors import SPEC\nCore = SPEC.make\n",
    )
    written(
        folder / "house" / "inner" / "env.py",
        "from . import Core\nfrom house.core import Core as Same\n"
        "def make():\n    assert Core is Same\n    return Core()\n",
    )
    assert made("./house/inner/env.py:make") == type_of_rps()


def test_a_file_imports_what_lies_beside_it(folder: Path) -> None:
    written(
        folder / "apart" / "rules_of_mine.py", "from pbt.envs.tiny import rock_paper_scissors\n"
    )
    written(
        folder / "apart" / "env.py",
        "from rules_of_mine import rock_paper_scissors\nmake = rock_paper_scissors.SPEC.make\n",
    )
    assert made("./apart/env.py:make") == type_of_rps()


def test_a_package_is_read_anew(folder: Path) -> None:
    written(folder / "anew" / "__init__.py", "")
    written(folder / "anew" / "env.py", "from .core import make\n")
    written(folder / "anew" / "core.py", "def make():\n    raise LookupError('first')\n")
    with pytest.raises(EnvError, match="first"):
        made("./anew/env.py:make")
    written(folder / "anew" / "core.py", "def make():\n    raise LookupError('the second')\n")
    with pytest.raises(EnvError, match="the second"):
        made("./anew/env.py:make")


def test_what_a_package_lacks_is_named(folder: Path) -> None:
    written(folder / "poor" / "__init__.py", "")
    written(folder / "poor" / "env.py", "from .core import make\n")
    with pytest.raises(EnvError, match="(?s)loading env.py raised ModuleNotFoundError: .*core"):
        made("./poor/env.py:make")


@pytest.mark.parametrize("place", ["plain.txt", "package/plain.txt"])
def test_a_file_that_is_not_python_is_called_that_once(place: str, folder: Path) -> None:
    written(folder / "package" / "__init__.py", "")
    written(folder / place, "")
    with pytest.raises(EnvNameError) as told:
        made(f"./{place}:make")
    assert str(told.value).count("not a Python file") == 1 and "\n" not in str(told.value)


def test_an_error_that_no_line_of_the_user_raised_is_told_once(folder: Path) -> None:
    written(folder / "strict.py", "def make(size):\n    pass\n")
    with pytest.raises(EnvError) as told:
        made("./strict.py:make")
    assert str(told.value).count("missing 1 required positional argument") == 1


def type_of_rps() -> str:
    return type(registry.spec("rock_paper_scissors").make()).__name__
