"""The dashboard's sources: their types against the OpenAPI document, their own tests, and what they may weigh."""

import gzip
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

import hatch_build

pytestmark = pytest.mark.slow

MOST_GZIP_BYTES = 120_000


@pytest.fixture(scope="module")
def web(tmp_path_factory: pytest.TempPathFactory, repository: Path) -> tuple[list[str], Path, str]:
    """How npm is called, where, and the PATH for it: a copy, so that the checkout's own packages stay as the build left them."""
    found = hatch_build.npm()
    if found is None:
        pytest.skip("no Node.js 20.19 or newer")
    command, path = found
    folder = tmp_path_factory.mktemp("checkout")
    shutil.copytree(repository / "web", folder / "web", ignore=shutil.ignore_patterns("node_modules", "generated"))
    shutil.copytree(repository / "docs/schemas", folder / "docs/schemas")
    run(command, folder / "web", path, "ci", "--ignore-scripts", "--prefer-offline")
    return command, folder / "web", path


def run(command: list[str], folder: Path, path: str, *words: str) -> str:
    done = subprocess.run([*command, *words], cwd=folder, env={**os.environ, "PATH": path}, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_types_follow_the_openapi_document(web: tuple[list[str], Path, str]) -> None:
    run(*web, "run", "check")


def test_their_own_tests(web: tuple[list[str], Path, str]) -> None:
    assert re.search(r"Tests .*passed", run(*web, "test"))


def test_the_lock_file_names_no_registry(repository: Path) -> None:
    assert '"resolved"' not in (repository / "web/package-lock.json").read_text()


def test_what_a_browser_loads(repository: Path) -> None:
    if not hatch_build.bundle_is_whole():
        pytest.skip("the dashboard is not built from web/ as it stands: python hatch_build.py")
    bundle = repository / hatch_build.BUNDLE
    scripts = list(bundle.rglob("*.js"))
    assert 0 < sum(len(gzip.compress(path.read_bytes())) for path in scripts) <= MOST_GZIP_BYTES
    page = (bundle / "index.html").read_text()
    assert not re.search(r"<script(?![^>]*\bsrc=)|\son\w+=|<style|\sstyle=", page), "the policy allows nothing inline"
    for link in re.findall(r'(?:src|href)="([^"]+)"', page):
        assert (bundle / link.removeprefix("/")).is_file(), link
