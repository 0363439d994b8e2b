"""The contract of run sinks: what an engine hands over is kept, whole and in its order.

`MemorySink` keeps it in lists; `TrainingSink` brings it into the league and the metrics folder.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Protocol

import pytest

from arena.data.metrics import MetricsWriter, read_metrics
from arena.league.game_rows import population_games
from arena.league.stored_history import list_certificates, list_events, list_rounds
from arena.league.stored_snapshots import list_snapshots
from arena.league.writer import LeagueWriter
from arena.training.sink import TrainingSink
from bench.memory import MemorySink
from pbt.population.interfaces import RunSink
from pbt.records import WiringCertificate, WiringCheck
from tests.arena.league.samples import (
    RANDOM,
    event,
    game,
    new_league,
    round_record,
    snapshot,
    snapshot_player,
)
from tests.pbt.told_games import alone, together

LIMIT_S = 60.0
Kept = dict[str, list[Any]]
Point = tuple[str, int, dict[str, float | None]]


class Place(Protocol):
    """A sink, and what it has kept."""

    @property
    def sink(self) -> RunSink: ...

    def kept(self) -> Kept: ...

    def points(self) -> list[Point]:
        """Points of curves, without the speed, which one of the sinks measures and adds."""


class InMemory:
    def __init__(self) -> None:
        self.sink = self._sink = MemorySink()

    def kept(self) -> Kept:
        sink = self._sink
        return {
            "games": sink.games,
            "rounds": sink.rounds,
            "snapshots": sink.snapshots,
            "certificates": sink.certificates,
            "events": sink.events,
        }

    def points(self) -> list[Point]:
        return [
            (member, frames, dict(values) | {"frames_per_s": None})
            for member, frames, values in self._sink.points
        ]


class InLeague:
    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._league, incarnation = new_league(folder)
        self._writer = LeagueWriter(self._league, incarnation)
        self._metrics = MetricsWriter(folder, incarnation.id, tensorboard=False)
        self.sink = TrainingSink(self._writer, self._metrics)

    def kept(self) -> Kept:
        league = self._league
        return {
            "games": [stored.record for stored in population_games(league, "demo")],
            "rounds": [stored.record for stored in list_rounds(league, "demo")],
            "snapshots": [stored.record for stored in list_snapshots(league, "demo")],
            "certificates": [stored.record for stored in list_certificates(league, "demo")],
            "events": [stored.event for stored in list_events(league, "demo")],
        }

    def points(self) -> list[Point]:
        return [
            (row.member, row.frames, dict(row.values) | {"frames_per_s": None})
            for row in read_metrics(self._folder)
        ]

    def close(self) -> None:
        self._metrics.close()
        self._writer.close()
        self._league.close()


@pytest.fixture(params=["memory", "league"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    if request.param == "memory":
        yield InMemory()
        return
    league = InLeague(tmp_path)
    yield league
    league.close()


def certificate(number: int) -> WiringCertificate:
    checks = (WiringCheck("values", 4, 1.0, None), WiringCheck("copy", 2, 0.0, "other weights"))
    return WiringCertificate("m0", number, 1000 * number, checks)


ALL: Kept = {
    "games": [
        game(0),
        game(1, (snapshot_player("a"), RANDOM), (1, 0), "evaluation", greedy=True, pair=3),
        game(2, end_reason="voided: worker died", returns=(0.1, -1 / 3)),
    ],
    "rounds": [round_record(), round_record(number=1, frames=2000)],
    "snapshots": [snapshot("a"), snapshot("b", "m1", 500, "round")],
    "certificates": [certificate(1), certificate(2)],
    "events": [event("first"), event("first"), event("second")],
}


def test_what_goes_in_comes_out(place: Place) -> None:
    sink = place.sink
    take: dict[str, Callable[[Any], None]] = {
        "games": sink.game,
        "rounds": sink.round,
        "snapshots": sink.snapshot,
        "certificates": sink.certificate,
        "events": sink.event,
    }
    for kind, records in ALL.items():
        for record in records:
            take[kind](record)
    # Training games that end well come together, in columns.
    together_told = [game(number, returns=(0.5, number / 3)) for number in (3, 4, 5)]
    sink.training_games(together([alone(record) for record in together_told]), 3)
    sink.drain(LIMIT_S)
    expected = {**ALL, "games": ALL["games"] + together_told}
    assert sink.backlog == 0 and place.kept() == expected


def test_several_thousand_games_stay_in_order(place: Place) -> None:
    games = [game(number) for number in range(3500)]
    for record in games:
        place.sink.game(record)
    place.sink.drain(LIMIT_S)
    assert place.kept()["games"] == games and place.sink.backlog == 0


def test_it_can_be_drained_again_and_again(place: Place) -> None:
    place.sink.drain(LIMIT_S)
    for number in range(3):
        place.sink.game(game(number))
        place.sink.drain(LIMIT_S)
        assert len(place.kept()["games"]) == number + 1


def test_points_of_curves_are_kept_in_order(place: Place) -> None:
    given = [
        ("m0", 100, {"loss": 0.5, "lag_mean": 1.25}),
        ("m1", 100, {"loss": -1 / 3}),
        ("m0", 200, {"loss": 0.25}),
    ]
    for member, frames, values in given:
        place.sink.series(member, frames, values)
    place.sink.drain(LIMIT_S)
    expected = [
        (member, frames, {**values, "frames_per_s": None}) for member, frames, values in given
    ]
    assert place.points() == expected
