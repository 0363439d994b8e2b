from collections.abc import Iterator
from pathlib import Path

import pytest

from arena.league.database import League
from arena.league.populations import Incarnation
from tests.arena.league.samples import new_league


@pytest.fixture
def started(tmp_path: Path) -> Iterator[tuple[League, Incarnation]]:
    league, incarnation = new_league(tmp_path)
    yield league, incarnation
    league.close()
