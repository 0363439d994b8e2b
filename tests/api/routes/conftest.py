"""Snapshots to upload, and a service that checks them as it does in earnest."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from arena.cli.app import run
from tests.api.routes.uploads import Files
from tests.api.service import Service, serving
from tests.arena.tiny_populations import UNRATED, train

REAL = {
    "importer": (sys.executable, "-P", "-m", "arena.programs.import_check"),
    "request_checker": (sys.executable, "-P", "-m", "arena.programs.request_check"),
}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with two exported snapshots of one population."""
    folder = tmp_path_factory.mktemp("home")
    train(folder / "data", "home", UNRATED)
    for member, out in (("m1", "best"), ("m0", "other")):
        words = ["export", f"home/{member}", "--out", str(folder / f"{out}.safetensors")]
        assert run([*words, "--data", str(folder / "data")]) == 0
    return folder


@pytest.fixture
def best(home: Path) -> Files:
    return Files(home / "best.safetensors")


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A service that checks uploads with the program itself."""
    with serving(tmp_path_factory.mktemp("real") / "data", **REAL) as running:
        yield running
