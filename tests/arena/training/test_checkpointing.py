"""Checkpoints, retention, and what a resume takes over from the league."""

import logging
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import pytest

from arena.data.metrics import MetricsWriter
from arena.data.paths import league_path, population_paths
from arena.league.database import open_league
from arena.league.game_rows import newest_evaluations
from arena.league.populations import open_incarnation
from arena.league.stored_history import list_events
from arena.league.stored_snapshots import list_snapshots
from arena.league.summaries import list_populations
from arena.league.writer import LeagueWriter
from arena.training.checkpointing import Checkpointer
from arena.training.sink import TrainingSink
from pbt.checkpoint.files import Checkpoint, read_newest
from pbt.config.schema import RunConfig
from pbt.errors import EngineError, PbtError
from pbt.records import Event
from tests.arena.league.samples import RANDOM, game, new_league, snapshot, snapshot_player
from tests.arena.tiny_populations import UNRATED, train
from tests.pbt.checkpoint.cuts import empty_run


def test_a_row_refused_for_good_ends_the_training_with_the_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refusing(*arguments: Any) -> Any:
        raise EngineError("game number 7 was given twice")

    monkeypatch.setattr("arena.league.new_blocks.columns_of_told", refusing)
    with pytest.raises(PbtError, match="game number 7 was given twice; nothing more is stored"):
        train(tmp_path, "demo", {**UNRATED, "stop_at_frames": 10**9})
    for handler in logging.getLogger("arena").handlers:
        handler.close()  # the training's log, into which the reason went
    with open_league(league_path(tmp_path), read_only=True) as league:
        assert list_populations(league)[0].state == "failed"


def test_a_checkpoint_knows_the_snapshots_and_events_it_was_taken_behind(tmp_path: Path) -> None:
    train(tmp_path, "demo", UNRATED)
    known = read_newest(population_paths(tmp_path, "demo").checkpoints)[0].state.league
    assert known is not None
    with open_league(league_path(tmp_path), read_only=True) as league:
        snapshots, events = list_snapshots(league, "demo"), list_events(league, "demo")
    assert sorted(known.snapshots) == sorted(stored.record.snapshot_id for stored in snapshots)
    assert [stored.event.kind for stored in events[known.events :]] == ["checkpoint"], (
        "its own row comes behind it"
    )


class FakeStore:
    def __init__(self, sizes: dict[str, int]) -> None:
        self.kept = sizes

    def sizes(self) -> dict[str, int]:
        return self.kept

    def remove(self, snapshot_ids: Sequence[str]) -> None:
        for snapshot_id in snapshot_ids:
            del self.kept[snapshot_id]


def test_the_leader_of_the_league_keeps_its_weights_over_a_resume(tmp_path: Path) -> None:
    league, first = new_league(tmp_path)
    leader = snapshot_player("b")
    with LeagueWriter(league, first) as writer:
        for frames, letter in enumerate("abcdef"):
            writer.snapshot(snapshot(letter, frames=frames))
        for number in range(60):
            writer.game(game(number, (leader, RANDOM), (0, 1), "evaluation"))
    resumed = open_incarnation(league, first.population_id, 2, last_game=59)
    config = RunConfig.model_validate(
        {
            "env": {"name": "connect_four"},
            "snapshots": {"keep_newest": 1, "thinned_every": 99},
            "checkpoints": {"keep": 1},
        }
    )
    engine: Any = SimpleNamespace(remove_snapshots=lambda ids: None)
    store: Any = FakeStore({letter * 64: 1 for letter in "abcdef"})
    with (
        LeagueWriter(league, resumed) as writer,
        MetricsWriter(tmp_path / "metrics", 2, tensorboard=False) as metrics,
    ):
        sink = TrainingSink(writer, metrics)
        sink.snapshots.extend(stored.record for stored in list_snapshots(league, "demo"))
        checkpointer = Checkpointer("demo", config, engine, league, sink, store, tmp_path, 1)
        checkpointer._needed.append(set())
        checkpointer._remove_old_snapshots()
    assert [name[0] for name in store.kept] == ["a", "b", "f"]
    league.close()


def test_strengths_go_on_after_a_resume(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    league, first = new_league(tmp_path)
    voided = game(61, (snapshot_player("b"), RANDOM), (0, 1), "evaluation", end_reason="voided: x")
    with LeagueWriter(league, first) as writer:
        for number in range(60):
            writer.game(
                game(
                    number,
                    (snapshot_player("a" if number < 20 else "b"), RANDOM),
                    (0, 1),
                    "evaluation",
                )
            )
        writer.game(game(60))
        writer.game(voided)
        writer.game(game(62, (snapshot_player("c"), RANDOM), (0, 1), "evaluation"))
    resumed = open_incarnation(league, first.population_id, 2, last_game=61)
    with (
        LeagueWriter(league, resumed) as writer,
        MetricsWriter(tmp_path / "metrics", 2, tensorboard=False) as metrics,
    ):
        writer.game(game(62, (snapshot_player("d"), RANDOM), (0, 1), "evaluation"))
        writer.drain(60)
        monkeypatch.setattr("arena.league.game_rows.PAGE_GAMES", 7)
        assert [record.number for record in newest_evaluations(league, "demo", 25)] == [
            *range(36, 60),
            62,
        ]
        sink = TrainingSink(writer, metrics)
        sink.remember(league, "demo")
        sink.snapshots.extend(snapshot(letter, of=letter) for letter in "abcd")
        assert {name: strength.games for name, strength in sink.strengths("win").items()} == {
            "a": 20,
            "b": 40,
            "d": 1,
        }
    league.close()


class Recorder:
    """An engine, a sink and a store in one, which writes down what is asked of it in order."""

    def __init__(self, *, restless: bool = False) -> None:
        self.said: list[str] = []
        self._restless = restless
        self.snapshots: list[Any] = []
        self.warning: str | None = None

    @contextmanager
    def at_rest(self) -> Iterator[None]:
        if self._restless:
            raise EngineError("worker-1 did not come to rest within 60 s")
        self.said.append("rest")
        yield
        self.said.append("go on")

    def drain(self, timeout_s: float) -> None:
        self.said.append("drain")

    def take_cut(self, number: int) -> Checkpoint:
        self.said.append("cut")
        return Checkpoint(number, empty_run({"config": "the engine's own"}), {})

    def known(self) -> None:
        return None

    def clocks(self) -> dict[str, int]:
        return {"m0": 7}

    def needed(self) -> set[str]:
        self.said.append("needed")
        return set()

    def event(self, event: Event) -> None:
        self.said.append(event.kind)


def make_checkpointer(folder: Path, recorder: Any, config: RunConfig) -> Checkpointer:
    return Checkpointer("demo", config, recorder, Mock(), recorder, recorder, folder, 0)


CONFIG = RunConfig.model_validate(
    {"env": {"name": "connect_four"}, "checkpoints": {"every_s": 5.0}}
)


def test_a_checkpoint_drains_cuts_and_writes_while_everything_rests(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recorder = Recorder()
    monkeypatch.setattr(
        "arena.training.checkpointing.write_checkpoint",
        lambda folder, cut, keep: recorder.said.append("write") or folder / f"{cut.number}",
    )
    make_checkpointer(tmp_path, recorder, CONFIG).checkpoint()
    assert recorder.said == ["rest", "drain", "cut", "write", "needed", "go on", "checkpoint"]


def test_a_checkpoint_holds_the_stored_config_not_the_processes_of_this_start(
    tmp_path: Path,
) -> None:
    make_checkpointer(tmp_path, Recorder(), CONFIG).checkpoint()
    assert read_newest(tmp_path)[0].state.config == CONFIG.model_dump(mode="json")
    assert CONFIG.runtime.placement == "auto"


def test_an_engine_that_does_not_come_to_rest_puts_the_checkpoint_off(tmp_path: Path) -> None:
    recorder = Recorder(restless=True)
    checkpointer = make_checkpointer(tmp_path, recorder, CONFIG)
    now_s = time.monotonic() + 6.0
    checkpointer.checkpoint_if_due(now_s)
    assert (
        recorder.warning == "no checkpoint: worker-1 did not come to rest within 60 s"
        and list(tmp_path.iterdir()) == []
    )
    recorder._restless = False
    checkpointer.checkpoint_if_due(now_s + 4.0)
    assert recorder.said == [], "tried again only when the next one is due"
    checkpointer.checkpoint_if_due(now_s + 5.0)
    assert recorder.said[-1] == "checkpoint" and recorder.warning is None
