"""What an observer saw committed, in a file of its own: read from the league while a training runs,
appended and synced, compared at the end.

It opens the database itself, read-only, and knows of the program no more than the tables.
"""

import json
import os
import sqlite3
import threading
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from tests.league_rows import block_rows, new_blocks, with_rows

POLL_S = 0.2
NEW_GAMES = (
    "SELECT id, incarnation_id, number, trajectory_hash FROM games WHERE id > ? AND "
    "incarnation_id IS NOT NULL ORDER BY id"
)


@contextmanager
def reading(league: Path) -> Iterator[sqlite3.Connection]:
    with closing(
        sqlite3.connect(f"{league.absolute().as_uri()}?mode=ro", uri=True, timeout=15.0)
    ) as connection:
        yield connection


class LeagueLog:
    """Follows one league from a thread of its own. `games`: how many it has seen."""

    def __init__(self, league: Path, log: Path) -> None:
        self._league, self._log = league, log
        self._last_id, self.games = 0, 0
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._run, name="league log", daemon=True)
        self._error: BaseException | None = None

    def __enter__(self) -> Self:
        self._log.touch()
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._closing.set()
        self._thread.join(30.0)

    def _run(self) -> None:
        try:
            while not self._closing.wait(POLL_S):
                self.poll()
        except BaseException as error:  # noqa: BLE001  # the comparison at the end raises it
            self._error = error

    def poll(self) -> None:
        """Write down what was committed since the last look."""
        if not self._league.exists():
            return
        try:
            with reading(self._league) as connection:
                connection.execute("BEGIN")  # so that both are of one moment
                rows = connection.execute(NEW_GAMES, (self._last_id,)).fetchall()
                blocks = new_blocks(connection, self._last_id)
        except sqlite3.OperationalError as error:
            # Its tables are made a moment after the file; a killed writer's log may be in recovery.
            if any(
                word in str(error)
                for word in ("no such table", "locked", "busy", "unable to open", "readonly")
            ):
                return
            raise
        names = ("id", "incarnation_id", "number", "trajectory_hash")
        rows += [
            tuple(game[name] for name in names) for one in blocks for game, _ in block_rows(one)
        ]
        if rows:
            with self._log.open("a", encoding="ascii") as file:
                file.writelines(
                    f"{incarnation} {number} {trajectory.hex()}\n"
                    for _, incarnation, number, trajectory in rows
                )
                file.flush()
                os.fsync(file.fileno())
            self._last_id = max(row[0] for row in rows)
            self.games += len(rows)

    def problems(self) -> list[str]:
        """Games of the log that the league does not hold exactly once. To be called after the
        thread has ended.
        """
        if self._error is not None:
            raise self._error
        with reading(self._league) as connection:
            stored = (
                with_rows(connection)
                .execute(
                    "SELECT incarnation_id, number, trajectory_hash FROM games WHERE "
                    "incarnation_id IS NOT NULL"
                )
                .fetchall()
            )
        times: defaultdict[str, int] = defaultdict(int)
        for incarnation, number, trajectory in stored:
            times[f"{incarnation} {number} {trajectory.hex()}"] += 1
        seen = self._log.read_text(encoding="ascii").splitlines()
        wrong = [line for line in seen if times[line] != 1]
        lines = (
            [
                (
                    f"{len(wrong)} acknowledged games are not in the league exactly once, the "
                    f"first: {wrong[0]}"
                )
            ]
            if wrong
            else []
        )
        if len(set(seen)) != len(seen):
            lines.append(f"the log names {len(seen) - len(set(seen))} games twice")
        if not seen:
            lines.append("no game was seen committed")
        return lines


# --- scores ---------------------------------------------------------------------------------------


def voided_games(league: Path) -> int:
    with reading(league) as connection:
        voided = "SELECT COUNT(*) FROM games WHERE voided = 1"
        return int(with_rows(connection).execute(voided).fetchone()[0])


def miscounted_scores(league: Path) -> list[str]:
    """Scores of rounds that count other games than those that were played to their end, counted
    here from the rows and by no code of the program.

    A score counts a member's training games against others (of one seat: all of them) in a range of
    numbers, those of the generation in which the first of them began.
    """
    counted = _counted_games(league)
    with reading(league) as connection:
        rounds = connection.execute(
            "SELECT member, round, scores FROM rounds WHERE superseded = 0"
        ).fetchall()
    found = []
    for member, number, scores in rounds:
        for score in json.loads(scores):
            games = _games_in(counted[score["member"]], score)
            if games != score["games"]:
                found.append(
                    f"round {number} of {member} counts {score['games']} games of "
                    f"{score['member']}; the league has {games}"
                )
    return found


def _counted_games(league: Path) -> defaultdict[str, list[tuple[int, int]]]:
    """Member -> (number, generation) of the games that may be scored, numbers ascending."""
    query = """
        SELECT g.number, p.name, MIN(s.generation)
        FROM games g JOIN game_seats s ON s.game_id = g.id JOIN players p ON p.id = s.player_id
        WHERE g.incarnation_id IS NOT NULL AND g.kind = 0 AND g.voided = 0 AND g.superseded = 0
        AND p.kind = 0 AND (
            EXISTS (
                SELECT 1 FROM game_seats o WHERE o.game_id = g.id AND o.player_id <> s.player_id
            )
            OR NOT EXISTS (SELECT 1 FROM game_seats o WHERE o.game_id = g.id AND o.seat <> s.seat)
        )
        GROUP BY g.id, p.id ORDER BY g.number
    """
    counted: defaultdict[str, list[tuple[int, int]]] = defaultdict(list)
    with reading(league) as connection:
        for number, name, generation in with_rows(connection).execute(query):
            counted[name].append((number, generation))
    return counted


def _games_in(counted: list[tuple[int, int]], score: dict[str, Any]) -> int:
    if score["first_game"] < 0:
        return 0
    inside = counted[
        bisect_left(counted, (score["first_game"], -1)) : bisect_right(
            counted, (score["last_game"], 1 << 60)
        )
    ]
    return sum(generation == inside[0][1] for _, generation in inside)
