"""Which players are ranked, which one is the best, and how the table marks the others."""

from dataclasses import replace
from pathlib import Path

import pytest

from arena.cli.best_text import best_lines, why_no_best
from arena.cli.rating_report import standings_report
from arena.cli.rating_table import leader, print_standings
from arena.league.database import open_league
from arena.league.rating_models import Rated
from arena.league.ratings import (
    RatingTable,
    Standing,
    best_of_roles,
    best_standing,
    by_lower_bound,
    is_provisional,
)
from arena.league.stored_snapshots import StoredSnapshot
from arena.stats.score import Tally
from arena.stats.win_matrix import win_matrix
from pbt.records import PlayerRef
from tests.arena.league.samples import snapshot

RATED = Rated((), "Elo", "Bradley-Terry", (), {}, None, None)


def standing(
    letter: str,
    low: float | None,
    games: int = 50,
    half_width: float = 50.0,
    *,
    weights: bool = True,
    kind: str = "snapshot",
    role: str = "player",
) -> Standing:
    elo, high = (None, None) if low is None else (low + half_width, low + 2 * half_width)
    won, record = Tally(games, 0, 0), replace(snapshot(letter), role=role)
    if kind != "snapshot":
        return Standing(PlayerRef("scripted", letter), elo, low, high, {}, won, None)
    stored = StoredSnapshot(
        record,
        "demo",
        is_anchor=False,
        weights_removed=not weights,
        superseded=False,
        after_game=0,
        created_at=0.0,
    )
    return Standing(PlayerRef("snapshot", record.snapshot_id), elo, low, high, {}, won, stored)


def shown(capsys: pytest.CaptureFixture[str], *rows: Standing) -> list[str]:
    print_standings("demo", RatingTable(rows, win_matrix([]), (), "win", RATED))
    return capsys.readouterr().out.splitlines()


def test_order_and_provisional() -> None:
    table = [
        standing("a", None),
        standing("b", 10.0),
        standing("c", 90.0, 29),
        standing("d", 50.0, 30),
    ]
    assert by_lower_bound(table) == [table[2], table[3], table[1], table[0]]
    assert [is_provisional(row) for row in table] == [True, False, True, False]
    assert "no evaluation game" in why_no_best([])


def test_the_distance_to_random_makes_nobody_provisional() -> None:
    """All of the strongest beat `random` always: their common distance to it is uncertain, their
    order need not be.
    """
    strong = [
        standing("a", 900.0, 700, 300.0),
        standing("b", 850.0, 700, 300.0),
        standing("c", 200.0, 700, 40.0),
    ]
    assert [
        player["rank"]
        for player in standings_report(RatingTable(strong, win_matrix([]), (), "win", RATED))[
            "players"
        ]
    ] == [1, 2, 3]
    assert leader(strong) == best_standing(strong) == strong[0]


def test_equal_lower_ends_have_one_order() -> None:
    table = [standing("a", 10.0), standing("b", 10.0)]
    assert best_standing(table) == by_lower_bound(table)[0]


def lines_of(folder: Path, name: str, rows: list[Standing], roles: list[str]) -> list[str]:
    with open_league(folder / "league.db") as league:
        return best_lines(league, name, RatingTable(rows, win_matrix([]), (), "win", RATED), roles)


def test_the_best_is_a_snapshot_that_plays_where_there_is_one(tmp_path: Path) -> None:
    oneply, gone, best = (
        standing("oneply", 90.0, kind="scripted"),
        standing("a", 70.0, weights=False),
        standing("b", 50.0),
    )
    assert leader([oneply, gone, best]) == best_standing([oneply, gone, best]) == best
    assert leader([oneply]) == oneply and best_standing([oneply]) is None
    line, fresh = lines_of(tmp_path, "demo", [oneply, gone, best], ["player"])
    assert line.startswith("demo@best is ")
    assert "of its 1 snapshots that play and have 30 games or more" in line
    assert fresh.endswith(f"arena match {best.label} random --fresh")


def test_each_role_has_a_best_of_its_own(tmp_path: Path) -> None:
    prey, predator = standing("a", 300.0, role="prey"), standing("b", 50.0, role="predator")
    assert best_of_roles([prey, predator]) == {"predator": predator, "prey": prey}
    lines = lines_of(tmp_path, "tag", [prey, predator], ["predator", "prey", "tree"])
    assert lines[0].startswith(f"tag/predator@best is {predator.label}")
    assert lines[2].startswith(f"tag/prey@best is {prey.label}")
    assert lines[4].startswith("tag/tree@best: none yet; no evaluation game was played yet")


def test_rows_without_weights_are_marked(capsys: pytest.CaptureFixture[str]) -> None:
    gone, there = standing("a", 70.0, weights=False), standing("b", 50.0)
    text = shown(capsys, gone, there)
    assert f" {gone.label}* " in text[2] and f" {there.label} " in text[3]
    assert any(line.startswith("* = ") and "weights were removed" in line for line in text)
    assert not any("*" in line for line in shown(capsys, there))
    assert [
        player["weights_removed"]
        for player in standings_report(
            RatingTable([gone, there], win_matrix([]), (), "win", RATED)
        )["players"]
    ] == [True, False]
