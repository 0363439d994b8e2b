"""The population that the tests of this folder verify, made once."""

import shutil
from pathlib import Path

import pytest

from tests.arena.verification.made import make


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Its data directory, not to be changed."""
    return make(tmp_path_factory.mktemp("made"))


@pytest.fixture
def data(made: Path, tmp_path: Path) -> Path:
    """A copy to spoil."""
    return Path(shutil.copytree(made, tmp_path / "data"))
