"""What a checkpoint says of the league's rows."""

from pathlib import Path

from arena.league.database import open_league
from arena.league.queries import list_events, list_snapshots
from arena.paths import league_path, population_paths
from pbt.checkpoints import read_newest
from tests.arena.tiny_populations import UNRATED, train


def test_a_checkpoint_knows_the_snapshots_and_events_it_was_taken_behind(tmp_path: Path) -> None:
    train(tmp_path, "demo", UNRATED)
    known = read_newest(population_paths(tmp_path, "demo").checkpoints)[0].state["league"]
    with open_league(league_path(tmp_path), read_only=True) as league:
        snapshots, events = list_snapshots(league, "demo"), list_events(league, "demo")
    assert sorted(known["snapshots"]) == sorted(stored.record.snapshot_id for stored in snapshots)
    assert [stored.event.kind for stored in events[known["events"] :]] == ["checkpoint"], "its own row comes behind it"
