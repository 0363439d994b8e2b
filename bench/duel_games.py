"""The games of `bench/duel.py`: the trained best against snapshots, random actions and bots."""

import argparse
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from arena.data.paths import league_path
from arena.league.database import open_league
from arena.league.game_rows import StoredGame
from arena.league.paging import match_game_page
from arena.league.stored_snapshots import list_snapshots
from arena.matches.returns import Returns, evaluate_player
from arena.players.resolve import resolve_players
from arena.stats.intervals import mean_interval
from pbt.records import PlayerRef, SnapshotRecord
from tests.e2e.faults.running import NAME, START_LIMIT_S

RANDOM = "random"
# A game of a minute takes a second or two.
GAME_LIMIT_S = 30.0


def say(text: str) -> None:
    """Report progress on standard error."""
    print(f"{time.strftime('%H:%M:%S')} {text}", file=sys.stderr, flush=True)


def play(data: Path, first: str, second: str, games: int) -> dict[str, Any]:
    """Run `arena match`. Returns its result, and by how many frags the first player was ahead.

    Raises: subprocess.SubprocessError when it fails or takes too long.
    """
    command = [
        sys.executable,
        "-P",
        "-m",
        "arena",
        "match",
        first,
        second,
        "--games",
        str(games),
        "--json",
        "--data",
        str(data),
    ]
    done = subprocess.run(
        command,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        timeout=START_LIMIT_S + GAME_LIMIT_S * games,
    )
    report: dict[str, Any] = json.loads(done.stdout)
    return {
        **told(report),
        "frags_ahead": frags_ahead(
            data, int(report["match"]), PlayerRef(report["a"]["kind"], report["a"]["id"])
        ),
    }


def told(report: dict[str, Any]) -> dict[str, Any]:
    """The parts of a match's report that are kept."""
    players = {"a": report["a"]["name"], "b": report["b"]["name"]}
    return {
        **players,
        **{
            name: report[name]
            for name in (
                "games",
                "score",
                "low",
                "high",
                "wins",
                "draws",
                "losses",
                "verdict",
                "match",
            )
        },
    }


def frags_ahead(data: Path, match_id: int, first: PlayerRef) -> dict[str, float | None]:
    """The first player's frags minus the second's, per game: mean, and its interval over games."""
    ahead = [
        lead(stored, first)
        for stored in match_games(data, match_id)
        if not stored.record.end_reason.startswith("voided")
    ]
    low, high = mean_interval(ahead) or (None, None)
    return {"mean": statistics.fmean(ahead), "low": low, "high": high}


def match_games(data: Path, match_id: int) -> list[StoredGame]:
    """All stored games of a match."""
    stored_games: list[StoredGame] = []
    with open_league(league_path(data), read_only=True) as league:
        before: int | None = None
        while True:
            page = match_game_page(league, match_id, before, 500)
            stored_games += [stored for _, stored in page.games]
            if page.next is None:
                return stored_games
            before = page.next


def lead(stored: StoredGame, first: PlayerRef) -> float:
    """Frags of the first player minus those of the other.

    Raises: ValueError for a game in which frags were not counted.
    """
    seats = stored.record.seats
    own = next(seat for seat in seats if seat.player == first)
    other = next(seat for seat in seats if seat is not own)
    if own.points is None or other.points is None:
        counts = f"{own.player.name} {own.points}, {other.player.name} {other.points}"
        raise ValueError(
            f"game {stored.record.number}: expected the frags of both players, found {counts}; "
            "was this a match of Doom?"
        )
    return own.points - other.points


def against_bots(data: Path, best: str, options: argparse.Namespace) -> dict[str, Any]:
    """The best player against the engine's bot, which has no seat. Its return is its frag lead."""
    spec, (player,) = resolve_players([best], data)
    figures = {}
    for opponent, skill in (
        ("of its own skill", None),
        (f"of skill {options.bot_skill}", options.bot_skill),
    ):
        changed = {
            "players": 1,
            "bots": 1,
            "reward": "lead",
            **({} if skill is None else {"bot_skill": skill}),
        }
        episodes = evaluate_player(
            replace(player, env_options={**player.env_options, **changed}),
            spec,
            episodes=options.bot_games,
        )
        figures[opponent] = bot_figures(episodes)
        say(f"a bot {opponent}: {figures[opponent]}")
    return figures


def bot_figures(episodes: Returns) -> dict[str, Any]:
    """Figures of the games against a bot. A game with a positive lead is won.

    Raises: ValueError for games in which frags were not counted.
    """
    if episodes.points is None:
        raise ValueError(
            "expected the frags of every game against a bot, found games without; was this a "
            "match of Doom?"
        )
    low, high = episodes.return_interval or (None, None)
    games = len(episodes.returns)
    won = {
        "won": sum(lead > 0 for lead in episodes.returns) / games,
        "drawn": sum(lead == 0 for lead in episodes.returns) / games,
    }
    return {
        "games": games,
        "lead": episodes.mean_return,
        "low": low,
        "high": high,
        "frags": statistics.fmean(episodes.points),
        **won,
    }


def curve(data: Path, member: str, options: argparse.Namespace) -> list[dict[str, Any]]:
    """Scores of one member's snapshots against random, over its frames."""
    records, points = snapshots(data, member), options.curve_points
    chosen = {
        nearest(records, records[-1].frames * point / max(points - 1, 1)) for point in range(points)
    }
    rows = []
    for record in (record for record in records if record.snapshot_id in chosen):
        result = play(data, record.snapshot_id, RANDOM, options.curve_games)
        score = {name: result[name] for name in ("games", "score", "low", "high")}
        rows.append({"frames": record.frames, **score, "frags_ahead": result["frags_ahead"]})
        interval = f"[{result['low']:.3f}, {result['high']:.3f}]"
        say(
            f"{member} at {record.frames:,} frames: {result['score']:.3f} {interval}, frags "
            f"ahead {result['frags_ahead']['mean']:+.2f}"
        )
    return rows


def best_and_third(data: Path) -> tuple[str, str, str]:
    """(id of the best snapshot, its member, id of that member's snapshot at one third).

    To be called once, since later games may make another snapshot the best.
    """
    _, (player,) = resolve_players([f"{NAME}@best"], data)
    assert player.member is not None and player.frames is not None
    return (
        player.ref.name,
        player.member,
        nearest(snapshots(data, player.member), player.frames / 3),
    )


def snapshots(data: Path, member: str) -> list[SnapshotRecord]:
    """The member's snapshots whose weights are still stored, oldest first."""
    with open_league(league_path(data), read_only=True) as league:
        return [
            stored.record
            for stored in list_snapshots(league, NAME, member)
            if not stored.weights_removed
        ]


def nearest(made: Sequence[SnapshotRecord], frames: float) -> str:
    """Id of the snapshot whose frames are nearest."""
    return min(made, key=lambda record: abs(record.frames - frames)).snapshot_id
