"""Checks work before it is requested: `python -P -m arena.programs.request_check DATA`.

It reads `{"kind": KIND, "asked": {...}}` from standard input, where KIND is "match" or one of
`arena.league.requested_work.KINDS`, and writes `{"problems": [[PLACE, TEXT], ...]}`, both as JSON.
PLACE points into what was asked, such as "/players". It is a process of its own because it makes
the game. Only players of the league and registered games are allowed.
"""

import json
import re
import signal
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from arena.league.match_requests import RequestedMatch
from arena.league.requested_work import (
    KINDS,
    RequestedComparison,
    RequestedReturns,
    RequestedTournament,
    RequestedVerification,
    Work,
)
from arena.matches.compare import SIDES, check, read_kept
from arena.matches.deciding import ranked_by
from arena.matches.plan import check_meeting
from arena.matches.plan_problems import PlanError, config_place
from arena.matches.play import check_test
from arena.matches.tournament import plan_tournament
from arena.players.resolve import ResolvedPlayer, resolve_players
from arena.programs import config_check
from arena.programs.requested_comparison import asked_config, comparison_of
from pbt.config.load import config_from_table
from pbt.config.start_values import start_problems
from pbt.errors import PbtError
from pbt.snapshots import FileSnapshotStore

LIMIT_S = 60
PLAYERS = "/players"
_OPTION = re.compile(r"(?<![\w-])--(env|games|seed|greedy|sprt|objective|fresh|episodes)\b")

Problem = tuple[str, str]
"""The place of what is wrong, and what is wrong with it."""


def problems_of(asked: RequestedMatch | Work, data: Path) -> Sequence[Problem]:
    """Why the work cannot be done; nothing when it can."""
    try:
        match asked:
            case RequestedMatch():
                return list(_lost(_meeting(asked, data)))
            case RequestedTournament():
                return list(_lost(_fixtures(asked, data)))
            case RequestedReturns():
                return list(_lost(_measured(asked, data)))
            case RequestedComparison():
                return list(_compared(asked, data))
            case RequestedVerification():
                return []
    except PbtError as error:
        text = str(error).replace(f"{data}/", "")
        return [("/name", text) if isinstance(asked, RequestedComparison) else _in_request(text)]


def _in_request(text: str) -> Problem:
    """What is wrong with the players, or with the option that a text begins with.

    The options of the commands are fields of a request, under the same names.
    """
    option = _OPTION.match(text)
    place = PLAYERS if option is None else f"/{option[1]}"
    return place, _OPTION.sub(r"`\1`", text)


def _meeting(asked: RequestedMatch, data: Path) -> list[ResolvedPlayer]:
    """The players of a match. Raises: PbtError when they cannot meet."""
    spec, players = resolve_players(asked.players, data, asked.env)
    players = ranked_by(spec, players, asked.objective)
    meeting = check_meeting(spec, players)
    check_test(meeting.seating, meeting.objective, asked.sprt is not None)
    return players


def _fixtures(asked: RequestedTournament, data: Path) -> list[ResolvedPlayer]:
    """The players of a tournament. Raises: PbtError when no two of them can meet."""
    spec, players = resolve_players(asked.players, data, asked.env)
    players = ranked_by(spec, players, asked.objective)
    plan_tournament(spec, players, 1, asked.seed)
    return players


def _measured(asked: RequestedReturns, data: Path) -> list[ResolvedPlayer]:
    """The players whose returns are measured. Raises: PbtError."""
    spec, players = resolve_players(asked.players, data, asked.env)
    return ranked_by(spec, players, asked.objective)


def _lost(players: Sequence[ResolvedPlayer]) -> Iterator[Problem]:
    """The players whose files are gone."""
    for player in players:
        if player.snapshots is not None:
            path = FileSnapshotStore(player.snapshots).path(player.ref.name)
            if not path.is_file():
                yield (
                    PLAYERS,
                    f"player {player.label}: its weights are lost: no file {path.name[:12]}...; "
                    "restore it from a backup, or choose another snapshot",
                )


def _compared(asked: RequestedComparison, data: Path) -> Iterator[Problem]:
    """What is wrong with either config, or else with the two together."""
    tables: Mapping[str, Mapping[str, Any]] = {side: asked_config(asked, side) for side in SIDES}
    found = [
        (config_place(side, problem), problem)
        for side in SIDES
        for problem in _untrainable(tables[side])
    ]
    if found:
        yield from found
        return
    try:
        comparison = comparison_of(asked, data)
        # One begun with another plan may fail the check by that alone.
        read_kept(comparison)
        check(comparison)
    except PlanError as error:
        yield from ((one.pointer, one.text) for one in error.found)


def _untrainable(table: Mapping[str, Any]) -> Sequence[str]:
    """Why no new population can have this config."""
    findings = config_check.check(table)
    if findings.problems:
        return findings.problems
    refused = () if findings.refusal is None else (findings.refusal,)
    starts = start_problems(config_from_table(table, "config"))
    return (*refused, *findings.unfit, *starts.values())


def main() -> None:
    signal.alarm(LIMIT_S)
    given = json.load(sys.stdin)
    kinds: Mapping[str, type[RequestedMatch | Work]] = {"match": RequestedMatch, **KINDS}
    asked = msgspec.convert(given["asked"], kinds[given["kind"]])
    print(json.dumps({"problems": problems_of(asked, Path(sys.argv[1]))}))


if __name__ == "__main__":
    main()
