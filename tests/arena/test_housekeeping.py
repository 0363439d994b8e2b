"""What a checkpoint says of the league's rows."""

import logging
from pathlib import Path
from typing import Any

import pytest

from arena.league.database import open_league
from arena.league.queries import list_events, list_populations, list_snapshots
from arena.paths import league_path, population_paths
from pbt.checkpoints import read_newest
from pbt.errors import EngineError, PbtError
from tests.arena.tiny_populations import UNRATED, train


def test_a_row_refused_for_good_ends_the_training_with_the_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refusing(*arguments: Any) -> Any:
        raise EngineError("game number 7 was given twice")

    monkeypatch.setattr("arena.league.store.game_row", refusing)
    with pytest.raises(PbtError, match="game number 7 was given twice; nothing more is stored"):
        train(tmp_path, "demo", {**UNRATED, "stop_at_frames": 10**9})
    for handler in logging.getLogger("arena").handlers:
        handler.close()  # the training's log, into which the reason went
    with open_league(league_path(tmp_path), read_only=True) as league:
        assert list_populations(league)[0].state == "failed"


def test_a_checkpoint_knows_the_snapshots_and_events_it_was_taken_behind(tmp_path: Path) -> None:
    train(tmp_path, "demo", UNRATED)
    known = read_newest(population_paths(tmp_path, "demo").checkpoints)[0].state["league"]
    with open_league(league_path(tmp_path), read_only=True) as league:
        snapshots, events = list_snapshots(league, "demo"), list_events(league, "demo")
    assert sorted(known["snapshots"]) == sorted(stored.record.snapshot_id for stored in snapshots)
    assert [stored.event.kind for stored in events[known["events"] :]] == ["checkpoint"], "its own row comes behind it"
