"""The dashboard's sources: their types against the OpenAPI document, their own tests, and what
they may weigh.
"""

import gzip
import re
from pathlib import Path

import pytest

import hatch_build
from tests.web.sources import Sources, run

pytestmark = pytest.mark.slow

MOST_GZIP_BYTES = 120_000


def test_types_follow_the_openapi_document(sources: Sources) -> None:
    run(sources, "run", "check")


def test_answers_have_the_types_of_the_document(repository: Path) -> None:
    cast = re.compile(r"as unknown as|\.json\(\)\)? as |\.value as |JSON\.parse\([^)]*\) as ")
    found = [
        f"{path.name}: {line.strip()}"
        for path in (repository / "web/src").rglob("*.ts*")
        for line in path.read_text(encoding="utf-8").splitlines()
        if cast.search(line)
    ]
    assert not found, "use the generated types; where one is wrong, mend the model of the route"


def test_their_own_tests(sources: Sources) -> None:
    assert re.search(r"Tests .*passed", run(sources, "test"))


def test_the_lock_file_names_no_registry(repository: Path) -> None:
    assert '"resolved"' not in (repository / "web/package-lock.json").read_text()


def test_what_a_browser_loads(repository: Path) -> None:
    if not hatch_build.bundle_is_whole():
        pytest.skip("the dashboard is not built from web/ as it stands: python hatch_build.py")
    bundle = repository / hatch_build.BUNDLE
    scripts = list(bundle.rglob("*.js"))
    assert 0 < sum(len(gzip.compress(path.read_bytes())) for path in scripts) <= MOST_GZIP_BYTES
    page = (bundle / "index.html").read_text()
    assert not re.search(r"<script(?![^>]*\bsrc=)|\son\w+=|<style|\sstyle=", page), (
        "the policy allows nothing inline"
    )
    for link in re.findall(r'(?:src|href)="([^"]+)"', page):
        assert (bundle / link.removeprefix("/")).is_file(), link
