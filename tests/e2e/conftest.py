"""What the stories of real trainings share."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.faults.running import Run


@pytest.fixture
def duels(tmp_path: Path, repository: Path) -> Iterator[Run]:
    """The shipped training of Doom duels, not started."""
    made = Run(
        tmp_path / "run", (repository / "configs" / "doom_duel.toml").read_text(encoding="utf-8")
    )
    try:
        yield made
    finally:
        made.close()
