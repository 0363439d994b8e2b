from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.api.service import Service, serving


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    with serving(tmp_path / "data") as running:
        yield running


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """One service for tests that leave it as they found it."""
    with serving(tmp_path_factory.mktemp("shared") / "data") as running:
        yield running
