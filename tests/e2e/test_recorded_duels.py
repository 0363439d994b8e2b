"""A training of duels whose evaluation games are filmed: every film is of a stored game, and
nothing half-written stays, whatever was killed.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from pbt.film.folder import PARTIAL
from tests.e2e.faults.campaign import ended_well
from tests.e2e.faults.running import NAME, START_LIMIT_S, Run
from tests.e2e.faults.strikes import kill_main
from tests.pbt.film.reading import read

pytestmark = pytest.mark.slow

TICS, SKIP = 72, 4
# The shipped file with small networks and short games: this asks what is recorded, not what is
# learned.
SETTINGS = (
    "stop_at_frames=1_000_000_000",
    f"env.options.max_tics={TICS}",
    f"env.options.frame_skip={SKIP}",
    "population.members=2",
    "sampling.environments=2",
    "sampling.rollout_steps=16",
    "model.hidden=[64]",
    "model.gru_size=64",
    "learning.batch_steps=64",
    "pbt.enabled=false",
    "snapshots.every_frames=2_000",
    "evaluation.share=0.5",
    "evaluation.final_games=0",
    "evaluation.record_share=1.0",
    "evaluation.record_films=2",
    "checkpoints.every_s=2",
)


def begun(run: Run) -> list[Path]:
    """Films that are being written."""
    return list(run.paths.films.glob(f".*{PARTIAL}"))


def listed(run: Run) -> list[dict[str, Any]]:
    """Films whose games are in the league."""
    told = json.loads(run.arena("films", NAME, "--json").stdout)
    assert told["problem"] is None
    return list(told["films"])


@pytest.mark.timeout(300)
def test_evaluation_games_are_filmed_and_nothing_half_written_stays(duels: Run) -> None:
    duels.start(*SETTINGS)
    duels.until(lambda: begun(duels) or None, START_LIMIT_S, "a film that is being written")
    duels.until(duels.newest_checkpoint, START_LIMIT_S, "a checkpoint")
    kill_main(duels)
    # Films of games that ended after the checkpoint lie there too, but those games are gone: a
    # resumed training plays them again.
    duels.until(lambda: listed(duels) or None, START_LIMIT_S, "a film of a stored game")
    assert duels.stop() == 0, duels.errors()
    assert begun(duels) == []
    wrong = {check: problems for check, problems in ended_well(duels).items() if problems}
    assert not wrong, wrong
    films = listed(duels)
    assert 1 <= len(films) <= 2
    found = read(Path(films[-1]["film"]))
    # Two views of 128 x 72, three pixels to one, as long as the game was played; the result stays
    # for two seconds.
    assert (found.width, found.height) == (2 * 384 + 4, 216 + 18)
    assert (
        found.duration_s == pytest.approx(TICS / 35 + 2, abs=0.1)
        and len(found.pictures) == 1 + TICS // SKIP + 2
    )
    assert {seat["kind"] for film in films for seat in film["seats"]} <= {"snapshot", "scripted"}
