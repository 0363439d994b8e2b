"""A data directory that goes away under a training, and comes back or not."""

import os
import signal
import threading
from pathlib import Path

import pytest
import torch

from arena.data.paths import league_path, population_paths
from arena.league.database import open_league
from arena.league.stored_snapshots import list_snapshots
from arena.league.summaries import list_populations
from arena.signals import SignalControl
from arena.training.train import resume_training, start_training
from arena.training.waiting_store import WaitingStore
from pbt.config.load import config_from_table
from pbt.errors import LostWeightsError, SnapshotError
from tests.arena.tiny_populations import UNRATED

CONFIG = config_from_table({**UNRATED, "stop_at_frames": 4_000}, "demo")


class Absence:
    """Moves a data directory away at the first progress, until the training says that it waits.

    said: lines of the training
    """

    def __init__(self, data: Path) -> None:
        self.data, self.place = data, data.with_name("away")
        self.said: list[str] = []
        self.waits = threading.Event()

    def observe(self, progress: object) -> None:
        if not self.place.exists() and not self.waits.is_set():
            self.data.rename(self.place)
            self.data.mkdir()  # as an unmounted disk leaves it

    def say(self, line: str) -> None:
        self.said.append(line)
        if line.startswith("waiting: "):
            self.waits.set()

    def end(self) -> None:
        self.data.rmdir()  # an error if anything was written into it
        self.place.rename(self.data)


def test_a_snapshot_waits_until_the_data_directory_is_back(tmp_path: Path) -> None:
    data = tmp_path / "data"
    absence = Absence(data)

    def bring_back() -> None:
        if absence.waits.wait(60):
            absence.end()

    back = threading.Thread(target=bring_back)
    back.start()
    result = start_training(CONFIG, "demo", data, absence.observe, absence.say)
    back.join()
    assert result.finished and any("moved, removed or unmounted" in line for line in absence.said)
    with open_league(league_path(data), read_only=True) as league:
        snapshots = [stored.record.snapshot_id for stored in list_snapshots(league, "demo")]
    stored = {path.stem for path in population_paths(data, "demo").snapshots.iterdir()}
    assert len(snapshots) > 8 and stored <= set(snapshots)


def test_weights_are_read_when_the_data_directory_is_back(tmp_path: Path) -> None:
    data, away = tmp_path / "data", tmp_path / "away"
    paths = population_paths(data, "demo")
    paths.root.mkdir(parents=True)
    with open_league(league_path(data)) as league:

        def bring_back(line: str) -> None:
            data.rmdir()
            away.rename(data)

        store = WaitingStore(paths.snapshots, league, lambda: False, bring_back)
        weights = {"weight": torch.ones(3)}
        name, _ = store.put(weights, {})
        data.rename(away)
        data.mkdir()
        assert torch.equal(store.load(name)["weight"], weights["weight"])
        with pytest.raises(LostWeightsError):
            store.load("0" * 64)


def test_a_stop_while_it_is_away_tells_why_and_the_training_can_go_on(tmp_path: Path) -> None:
    data = tmp_path / "data"
    absence, control = Absence(data), SignalControl()

    def stop() -> None:
        if absence.waits.wait(60):
            os.kill(os.getpid(), signal.SIGTERM)

    stopping = threading.Thread(target=stop)
    stopping.start()
    with pytest.raises(
        SnapshotError, match=r"a snapshot was not (written|read): .* moved, removed"
    ):
        start_training(CONFIG, "demo", data, absence.observe, absence.say, control=control)
    stopping.join()
    absence.end()
    assert resume_training("demo", data, (), lambda progress: None).finished
    with open_league(league_path(data), read_only=True) as league:
        assert list_populations(league)[0].state == "finished"
