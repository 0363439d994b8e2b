"""An edit by which members come, and which turns out to be impossible: it is refused, and the
training goes on.
"""

from pathlib import Path

import pytest

from arena.data.edits import Edits, leave_edits
from arena.data.paths import league_path, population_paths
from arena.league.database import open_league
from arena.league.stored_history import list_events
from arena.league.summaries import list_members
from arena.training.progress import Progress
from arena.training.train import start_training
from pbt.config.load import config_from_table
from tests.arena.training.test_live_edits import CONFIG

# Long after the edits are read, on a machine that is shared, too.
STOP = 20_000
OF_NOBODY = (
    'population.joined.m1.role="player"',
    'population.joined.m2.role="player"',
    'population.joined.m2.weights="m1"',
)
OF_A_LOST_SNAPSHOT = (
    'population.joined.m1.role="player"',
    f'population.joined.m1.weights="{"e" * 64}"',
)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "why"), [(OF_NOBODY, "no member that plays player"), (OF_A_LOST_SNAPSHOT, "e" * 12)]
)
def test_members_that_cannot_join_end_no_training(
    tmp_path: Path, words: tuple[str, ...], why: str
) -> None:
    edits = population_paths(tmp_path, "first").edits

    def observe(progress: Progress) -> None:
        if progress.frames > 0 and not edits.exists():
            leave_edits(edits, Edits(7, words))

    config = config_from_table(
        {
            **CONFIG,
            "stop_at_frames": STOP,
            "population": {"members": 1},
            "runtime": {"placement": "serial"},
        },
        "test",
    )
    result = start_training(config, "first", tmp_path, observe)
    # Dealt with: the service neither waits for it nor starts the trainer anew because of it.
    assert (
        result.finished,
        result.status.edits_taken,
        [member.name for member in result.progress.members],
    ) == (True, 7, ["m0"])
    with open_league(league_path(tmp_path), read_only=True) as league:
        told = [
            row.event.text for row in list_events(league, "first") if "refused" in row.event.text
        ]
        assert len(told) == 1 and why in told[0] and words[0] in told[0]
        assert [row.name for row in list_members(league, "first")] == ["m0"]
