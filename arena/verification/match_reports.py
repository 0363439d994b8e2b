"""Reports of matches that the service stored, against what follows from the stored games."""

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from arena.league.chain_state import Difference
from arena.league.database import League
from arena.league.match_requests import reports_of_match
from arena.league.matches import Match, stored_games
from arena.matches.match_result import match_result
from arena.matches.plan import plan_again
from arena.matches.report import match_json
from arena.matches.results import PlayedGames
from arena.matches.stored import stored_duel, stored_test
from arena.players.resolve import resolve_players
from pbt.errors import PbtError

# Fields of a report that do not follow from the games: speed, head, and what happened meanwhile.
_NOT_FROM_GAMES = frozenset({"games_per_s", "head", "resume", "notes", "assertions", "interim"})
# Fields that reports of every version have, with one meaning.
_OF_ALL_VERSIONS = frozenset({"games", "wins", "draws", "losses", "points", "score"})
# A player may be shown by another name later; its id does not change.
_OF_A_PLAYER = frozenset({"kind", "id"})
# Other versions of the libraries round sums in another order.
TOLERANCE = 1e-6


def wrong_reports(
    league: League, data: Path, match: Match, *, allow_files: bool
) -> Iterator[Difference]:
    """Reports of the service that say something else than the stored games of a finished match.

    A report of another version, which has other fields, is compared in its counts alone; and one
    whose players are gone is compared in its statistics. allow_files: as `VerifyRequest`.
    """
    reports = [
        (number, report)
        for number, report in reports_of_match(league, match.id)
        if not report.get("interim")
    ]
    if not reports or match.finished_at is None:
        return
    expected, whole = _expected(league, data, match, allow_files=allow_files)
    for number, stored in reports:
        report = _by_ids(stored)
        names = set(expected)
        if whole and not names <= set(report):
            names &= _OF_ALL_VERSIONS
        for name in sorted(names & set(report)):
            for path, found, wanted in _unlike(name, report[name], expected[name]):
                where = f"the report of evaluation {number}, {path}"
                yield Difference(where, json.dumps(found), json.dumps(wanted))


def _expected(
    league: League, data: Path, match: Match, *, allow_files: bool
) -> tuple[Mapping[str, Any], bool]:
    """(fields of the report that follow from the stored games, whether these are all)."""
    try:
        report, whole = _reported(league, data, match, allow_files=allow_files), True
    except PbtError:
        report, whole = _statistics(league, match), False
    by_ids = _by_ids(report)
    return {name: by_ids[name] for name in by_ids.keys() - _NOT_FROM_GAMES}, whole


def _by_ids(report: Mapping[str, Any]) -> Mapping[str, Any]:
    """The report, whose texts name players by their ids; their names may change."""
    ids = {name: player_id for name, player_id in _players(report) if name}
    longest_first = sorted(ids, key=len, reverse=True)

    def renamed(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: renamed(one) for key, one in value.items()}
        if isinstance(value, list):
            return [renamed(one) for one in value]
        if isinstance(value, str):
            for name in longest_first:
                value = value.replace(name, ids[name])
        return value

    found: Mapping[str, Any] = renamed(report)
    return found


def _players(value: Any) -> Iterator[tuple[str, str]]:
    """(name, id) of every player in a report."""
    if isinstance(value, dict):
        if value.keys() >= {"name", *_OF_A_PLAYER}:
            yield value["name"], value["id"]
        for one in value.values():
            yield from _players(one)
    elif isinstance(value, list):
        for one in value:
            yield from _players(one)


def _reported(league: League, data: Path, match: Match, *, allow_files: bool) -> dict[str, Any]:
    """The report made anew. Raises: PbtError where the players or their game are gone."""
    trained = any(player.kind == "snapshot" for player in match.players)
    spec, players = resolve_players(
        [player.name for player in match.players],
        data,
        match.env_name,
        options=None if trained else match.env_options,
        allow_files=allow_files,
    )
    plan = plan_again(spec, players, match)
    results = PlayedGames(
        plan, lambda record: None, stored_games(league, match), stored_test(match)[1]
    )
    return match_json(match_result(plan, results, match, None, ()))


def _statistics(league: League, match: Match) -> dict[str, Any]:
    """What the stored games alone say of a match of two; nothing of other matches."""
    duel = stored_duel(league, match)
    if duel is None:
        return {}
    numbers = asdict(duel.statistics)
    total = numbers.pop("total")
    for name in ("distinct", "left_out"):
        numbers.pop(name, None)
    margin = None if duel.margin is None else asdict(duel.margin)
    found: dict[str, Any] = json.loads(json.dumps({**numbers, **total, "margin": margin}))
    return found


def _unlike(path: str, found: Any, expected: Any) -> Iterator[tuple[str, Any, Any]]:
    """(path, found, expected) of every value of plain values that differs."""
    if isinstance(expected, dict) and isinstance(found, dict):
        names = frozenset(expected.keys() | found.keys())
        if names >= _OF_A_PLAYER:
            names = _OF_A_PLAYER
        for name in sorted(names):
            yield from _unlike(f"{path}.{name}", found.get(name), expected.get(name))
    elif isinstance(expected, list) and isinstance(found, list) and len(found) == len(expected):
        for place, (one, other) in enumerate(zip(found, expected, strict=True)):
            yield from _unlike(f"{path}[{place}]", one, other)
    elif not _alike(found, expected):
        yield path, found, expected


def _alike(found: Any, expected: Any) -> bool:
    numbers = (int, float)
    if isinstance(found, numbers) and isinstance(expected, numbers):
        return math.isclose(found, expected, rel_tol=TOLERANCE, abs_tol=TOLERANCE)
    return bool(found == expected)
