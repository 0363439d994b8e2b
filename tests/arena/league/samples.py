"""Records and leagues for the tests of this folder."""

import os
from collections.abc import Sequence
from pathlib import Path

from arena.league.database import League, open_league
from arena.league.populations import Incarnation, create_population, open_incarnation
from arena.league.writer import LeagueWriter
from pbt.records import (
    Directive,
    Event,
    GameKind,
    GameRecord,
    MemberScore,
    PlayerRef,
    RoundRecord,
    SeatRecord,
    SnapshotRecord,
)

CONFIG = {"env": {"name": "connect_four", "options": {}}, "pbt": {"score_games": 60}}
MEMBERS = [(f"m{i}", "player") for i in range(4)]


def member(name: str) -> PlayerRef:
    return PlayerRef("member", name)


def snapshot_player(letter: str) -> PlayerRef:
    return PlayerRef("snapshot", letter * 64)


RANDOM = PlayerRef("scripted", "random")


def game(
    number: int,
    players: Sequence[PlayerRef] = (PlayerRef("member", "m0"), PlayerRef("member", "m1")),
    places: Sequence[int] = (0, 1),
    kind: GameKind = "training",
    *,
    end_reason: str = "four in a row",
    greedy: bool = False,
    returns: Sequence[float] | None = None,
    pair: int | None = None,
) -> GameRecord:
    values = returns or [1.0 if place == 0 else -1.0 for place in places]
    seats = tuple(
        SeatRecord(player, 0, number, number + 1, place, value)
        for player, place, value in zip(players, places, values, strict=True)
    )
    actions = b"\x00\x01" if kind == "evaluation" else None
    return GameRecord(
        number,
        number % 8,
        number // 8,
        kind,
        number * 7919,
        seats,
        12,
        12,
        end_reason,
        f"{number:016x}",
        actions,
        0,
        greedy,
        pair,
    )


def snapshot(
    letter: str, of: str = "m0", frames: int = 0, reason: str = "schedule"
) -> SnapshotRecord:
    return SnapshotRecord(letter * 64, of, "player", 0, frames // 10, frames, reason, None, 1000)


def round_record(of: str = "m0", number: int = 0, frames: int = 1000) -> RoundRecord:
    values = {"learning_rate": 0.1 + 0.2, "entropy_coef": 1e-3, "adam_beta1": 0.9}
    scores = (MemberScore("m0", 60, 2 / 3, 3, 99), MemberScore("m1", 0, 0.0, -1, -1))
    rules = {"objective": "wins", "min_games": 50, "top_share": 0.3}
    directive = Directive(of, number, "m1", "b" * 64, values, ("learning_rate",))
    return RoundRecord(
        of, number, frames, scores, {"m0": values, "m1": values}, rules, 7, "kept", directive
    )


def event(text: str = "something") -> Event:
    return Event("warning", "m0", 10, text)


def new_league(folder: Path) -> tuple[League, Incarnation]:
    league = open_league(folder / "league.db")
    population_id = create_population(
        league, "demo", "connect_four", CONFIG, {"torch": "2"}, MEMBERS
    )
    return league, open_incarnation(league, population_id, os.getpid())


def write_games(league: League, source: Incarnation, *records: GameRecord) -> None:
    with LeagueWriter(league, source) as writer:
        for record in records:
            writer.game(record)
