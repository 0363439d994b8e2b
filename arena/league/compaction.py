"""Folding of old training games: their rows are replaced by counts, so that the league stays small.

The counts are games, wins, draws and losses for each (period, member, opponent). A period is a
range of `period_games` game numbers. A game of several opponents counts once for each of them, and
a game without another player counts under opponent 0. Voided and superseded games count only as
removed. The newest games stay as they are. Rounds that were scored from folded games can no longer
be recomputed.

Only whole batches of the population's chain are folded, so that every batch can be verified or is
gone. The record of a fold holds the digest of the batches as they were found, and digests of the
counts.
"""

import hashlib
from collections.abc import Sequence

from sqlalchemy import Connection, func, select, text
from sqlalchemy.dialects.sqlite import insert

from arena.league.chain import (
    ChainContent,
    append,
    chain_of_population,
    record_around,
    records_in_range,
)
from arena.league.chain_columns import ColumnType, NamedColumn, digest_columns
from arena.league.chain_rows import TRAINING_GAMES, PlayerNames, digest_found, read_game_rows
from arena.league.database import count_rows, immediate
from arena.league.populations import starts_of
from arena.league.rows import to_json
from arena.league.schema import TRAINING, folds, games, keys_of_start

KEEP_GAMES = 1_000_000
CHUNK_GAMES = 5_000
PERIOD_GAMES = 50_000
FOLD = "fold"

_FOLD = text("""
WITH best AS MATERIALIZED (
    SELECT g.number / :period_games AS period, s.game_id, s.player_id, p.kind,
        MIN(s.place) AS place, AVG(s.returns) AS returns
    FROM games g JOIN game_seats s ON s.game_id = g.id JOIN players p ON p.id = s.player_id
    WHERE g.id BETWEEN :first AND :last AND g.kind = 0 AND g.voided = 0 AND g.superseded = 0
    GROUP BY s.game_id, s.player_id
)
INSERT INTO folded_results (population_id, period, member_player_id, opponent_player_id,
    games, wins, draws, losses, returns)
SELECT :population_id, m.period, m.player_id, COALESCE(o.player_id, 0), COUNT(*),
       COALESCE(SUM(m.place < o.place), 0), COALESCE(SUM(m.place = o.place), 0),
       COALESCE(SUM(m.place > o.place), 0), SUM(m.returns)
FROM best m LEFT JOIN best o ON o.game_id = m.game_id AND o.player_id <> m.player_id
WHERE m.kind = 0
GROUP BY m.period, m.player_id, o.player_id
ON CONFLICT (population_id, period, member_player_id, opponent_player_id) DO UPDATE SET
    games = games + excluded.games, wins = wins + excluded.wins,
    draws = draws + excluded.draws, losses = losses + excluded.losses,
    returns = returns + excluded.returns
""")
_UNSCORED = text(
    "SELECT COUNT(*) FROM games WHERE id BETWEEN :first AND :last AND kind = 0 AND (voided = "
    "1 OR superseded = 1)"
)
_ENDS = text(
    "SELECT MIN(id) AS first, MIN(number) AS low, MAX(number) AS high FROM games "
    "WHERE id BETWEEN :first AND :last AND kind = 0"
)
_COUNTS = text("""
SELECT m.kind || ' ' || m.name AS member, o.kind || ' ' || o.name AS opponent, f.games, f.wins,
    f.draws, f.losses, f.returns
FROM folded_results f JOIN players m ON m.id = f.member_player_id
LEFT JOIN players o ON o.id = f.opponent_player_id
WHERE f.population_id = :population_id AND f.period = :period ORDER BY 1, 2
""")
_DELETE_SEATS = text("""
DELETE FROM game_seats
WHERE game_id BETWEEN :first AND :last
    AND game_id IN (SELECT id FROM games WHERE id BETWEEN :first AND :last AND kind = 0)
""")
_DELETE_GAMES = text("DELETE FROM games WHERE id BETWEEN :first AND :last AND kind = 0")


class Folding:
    """Keeps about `keep_games` to `keep_games + chunk_games` training games of a population.

    It never keeps fewer; more, where the oldest batch is larger than what may go.
    """

    def __init__(
        self,
        population_id: int,
        keep_games: int = KEEP_GAMES,
        chunk_games: int = CHUNK_GAMES,
        period_games: int = PERIOD_GAMES,
    ) -> None:
        self._population_id, self._keep_games = population_id, keep_games
        self._chunk_games, self._period_games = chunk_games, period_games
        self._owner = chain_of_population(population_id)
        self._kept: int | None = None

    def added(self, training_games: int) -> None:
        """Counts training games that were committed."""
        if self._kept is not None:
            self._kept += training_games

    def step(self, connection: Connection) -> bool:
        """Folds one chunk in its own transaction if there are enough games; True when it did.

        connection: in autocommit.
        """
        if self._kept is None:
            self._kept = self._count(connection)
        if self._kept < self._keep_games + self._chunk_games:
            return False
        with immediate(connection):
            folded = self._fold_oldest(connection)
        self._kept -= folded
        return folded > 0

    def _count(self, connection: Connection) -> int:
        """How many training games are stored now. It is read once and then kept up to date."""
        return sum(
            count_rows(connection, games, games.c.kind == TRAINING, games.c.id.between(first, last))
            for first, last in self._ranges(connection, 0)
        )

    def _ranges(self, connection: Connection, behind: int) -> list[tuple[int, int]]:
        """Game keys (first, last possible) after `behind` of each incarnation, oldest first."""
        starts = starts_of(connection, self._population_id)
        ranges = [keys_of_start(start.id) for start in starts]
        return [(max(first, behind + 1), last) for first, last in ranges if behind < last]

    def _fold_oldest(self, connection: Connection) -> int:
        """Folds the oldest chunk and returns how many games it held.

        A chunk holds games of one incarnation.
        """
        through = select(folds.c.through_game_id).where(
            folds.c.population_id == self._population_id
        )
        for first, last_possible in self._ranges(
            connection, connection.execute(through).scalar() or 0
        ):
            oldest = (
                select(games.c.id)
                .where(games.c.id.between(first, last_possible), games.c.kind == TRAINING)
                .order_by(games.c.id)
                .limit(self._chunk_games)
            )
            chunk = oldest.subquery()
            last = connection.execute(select(func.max(chunk.c.id))).scalar()
            if last is None:
                continue
            last = self._batch_end(connection, first, last)
            mine = (games.c.kind == TRAINING, games.c.id.between(first, last))
            count = count_rows(connection, games, *mine)
            if (self._kept or 0) - count < self._keep_games:
                return 0
            self._fold(connection, {"first": first, "last": last}, count)
            return count
        return 0

    def _batch_end(self, connection: Connection, first: int, last: int) -> int:
        """The greatest key up to `last` that ends a batch, or the end of the batch at `first`."""
        around = record_around(connection, self._owner, TRAINING_GAMES, last)
        if around is None or around.content.last <= last:
            return last
        mine = (games.c.kind == TRAINING, games.c.id.between(first, around.content.first - 1))
        before = connection.execute(select(func.max(games.c.id)).where(*mine)).scalar()
        return around.content.last if before is None else int(before)

    def _fold(self, connection: Connection, keys: dict[str, int], count: int) -> None:
        unscored = connection.execute(_UNSCORED, keys).scalar_one()
        recorded, digest = self._batches(connection, keys["first"], keys["last"])
        connection.execute(
            _FOLD,
            {**keys, "population_id": self._population_id, "period_games": self._period_games},
        )
        ends = connection.execute(_ENDS, keys).one()
        periods = range(ends.low // self._period_games, ends.high // self._period_games + 1)
        connection.execute(_DELETE_SEATS, keys)
        connection.execute(_DELETE_GAMES, keys)
        row = insert(folds).values(
            population_id=self._population_id,
            through_game_id=keys["last"],
            games=count,
            unscored_games=unscored,
        )
        added = {
            "through_game_id": keys["last"],
            "games": folds.c.games + count,
            "unscored_games": folds.c.unscored_games + unscored,
        }
        connection.execute(row.on_conflict_do_update(index_elements=["population_id"], set_=added))
        counts = {
            str(period): period_digest(connection, self._population_id, period).hex()
            for period in periods
        }
        note = to_json({"unscored": unscored, "unrecorded": count - recorded, "periods": counts})
        content = ChainContent(FOLD, ends.first, keys["last"], count, digest, note)
        append(connection, self._owner, [content])

    def _batches(self, connection: Connection, first: int, last: int) -> tuple[int, bytes]:
        """(number of games that batches recorded, digest of the batches as their rows are now)."""
        recorded, digests, names = 0, [], PlayerNames()
        for batch in records_in_range(connection, self._owner, TRAINING_GAMES, first, last):
            rows = read_game_rows(
                connection, TRAINING_GAMES, batch.content.first, batch.content.last
            )
            recorded += len(rows[0])
            digests.append(digest_found(*rows, names.read(connection, rows[1])))
        return recorded, fold_digest(digests)


def fold_digest(digests: Sequence[bytes]) -> bytes:
    """The digest of a fold. digests: those of its batches, in order."""
    return hashlib.sha256(b"".join(digests)).digest()


def period_digest(connection: Connection, population_id: int, period: int) -> bytes:
    """The digest of the counts of one period, with players by name."""
    rows = connection.execute(_COUNTS, {"population_id": population_id, "period": period}).all()
    names = ("member", "opponent", "games", "wins", "draws", "losses", "returns")
    types: tuple[ColumnType, ...] = ("t", "t", "i", "i", "i", "i", "f")
    return digest_columns(
        [
            NamedColumn(name, kind, [row[place] for row in rows])
            for place, (name, kind) in enumerate(zip(names, types, strict=True))
        ]
    )
