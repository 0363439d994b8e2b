"""The dashboard as an outsider has it: from the wheel, in a virtual environment of its own, on a
machine without Node.js.
"""

import os
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect

import hatch_build
from tests.web.browser import WAIT_MS, shows
from tests.web.conftest import Visit
from tests.web.served import Served

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory, repository: Path) -> Path:
    """A new one that holds the wheel and nothing else of ours.

    Its dependencies are those of this one, by a path that is added: no editable installation comes
    along.
    """
    if not hatch_build.bundle_is_whole():
        pytest.skip("the dashboard is not built from web/ as it stands: python hatch_build.py")
    built, folder = tmp_path_factory.mktemp("wheel"), tmp_path_factory.mktemp("outsider") / "venv"
    build = [
        sys.executable,
        "-m",
        "build",
        "--wheel",
        "--no-isolation",
        "--outdir",
        str(built),
        str(repository),
    ]
    subprocess.run(build, check=True, capture_output=True, timeout=300)
    subprocess.run(
        [sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True, timeout=120
    )
    (wheel,) = built.glob("*.whl")
    packages = Path(
        sysconfig.get_path("purelib", vars={"base": str(folder), "platbase": str(folder)})
    )
    install = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "--no-index",
        "--no-deps",
        "--no-compile",
        "--target",
        str(packages),
        str(wheel),
    ]
    subprocess.run(install, check=True, capture_output=True, timeout=300)
    (packages / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return folder


@pytest.fixture
def from_wheel(environment: Path, trained: Served) -> Iterator[Served]:
    """The service of the wheel, on the data of the trained population, with nothing on its PATH
    but itself.
    """
    trained.stop()
    kept = {
        name: value
        for name, value in os.environ.items()
        if name not in {"PYTHONPATH", "VIRTUAL_ENV", "ARENA_DATA"}
    }
    running = Served(
        trained.data,
        python=environment / "bin/python",
        env={**kept, "PATH": str(environment / "bin")},
    )
    yield running
    running.stop()
    trained.start()


def test_every_page_loads_without_node(environment: Path, from_wheel: Served, visit: Visit) -> None:
    words = [
        str(environment / "bin/python"),
        "-P",
        "-c",
        "import api, shutil; print(api.__file__, shutil.which('node'))",
    ]
    where = subprocess.run(
        words,
        capture_output=True,
        text=True,
        check=True,
        env={"PATH": str(environment / "bin")},
        timeout=60,
    ).stdout.split()
    assert Path(where[0]).is_relative_to(environment) and where[1] == "None"
    visitor = visit(from_wheel)
    with from_wheel.views() as views:
        for path, text in views.values():
            shows(visitor.see(path), text)
            expect(visitor.page.get_by_text("Loading")).to_have_count(0, timeout=WAIT_MS)
