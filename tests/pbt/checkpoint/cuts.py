"""Checkpoints for tests."""

from collections.abc import Iterator
from typing import Any

from pbt.saved import (
    GameColumns,
    SavedController,
    SavedCurves,
    SavedEngine,
    SavedPlanner,
    SavedRoster,
    SavedRun,
    SavedWindow,
    SavedWorker,
    SeatColumns,
    TableColumns,
    WaitingColumns,
)


def empty_worker(tables: int = 0) -> SavedWorker:
    """Of so many tables, without slots."""
    return SavedWorker(
        TableColumns.of((number, 0.0) for number in range(tables)),
        GameColumns.of(()),
        SeatColumns.of(()),
        WaitingColumns.of(()),
        list(range(tables)),
        [],
    )


def empty_run(config: dict[str, Any] | None = None) -> SavedRun:
    """Of no members and no tables."""
    return SavedRun(
        config or {},
        SavedEngine({}, 0),
        SavedController(0, [], SavedWindow({}, [], {}), SavedCurves({}, {}), None),
        SavedPlanner([], {}, 0, SavedRoster({}, [], {})),
        empty_worker(),
        {},
    )


def seats(worker: SavedWorker) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Each seat of an open game with its game."""
    games = {game["table"]: game for game in worker.games.rows()}
    return ((seat, games[seat["table"]]) for seat in worker.seats.rows())
