"""The rating table, fitted anew from all evaluation games whenever asked for. Training, greedy, voided and superseded games never enter."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, select, text

from arena.league.database import League
from arena.league.populations import find_population
from arena.league.queries import StoredSnapshot, snapshots_of
from arena.league.rows import to_player
from arena.league.schema import players
from arena.ratings import BEST_MIN_GAMES, PairResult, Rating, fit
from arena.statistics import Tally
from pbt.records import PlayerRef

ANCHOR = PlayerRef("scripted", "random")

# A match played again with the same seed gives the same games: the longest of such matches counts, the others are no new evidence.
# Every two players of a game are compared by their best seats; with k players each comparison weighs 1 / (k - 1), so that a game counts as much for a
# player whatever the table's size.
_PAIRS = text("""
WITH chosen AS MATERIALIZED (
    SELECT g.id FROM games g INDEXED BY ix_games_evaluation
    LEFT JOIN incarnations i ON i.id = g.incarnation_id LEFT JOIN populations p ON p.id = i.population_id LEFT JOIN matches m ON m.id = g.match_id
    WHERE g.kind = 1 AND g.greedy = 0 AND g.voided = 0 AND g.superseded = 0
      AND NOT EXISTS (
          SELECT 1 FROM matches o
          WHERE o.id <> m.id AND o.players = m.players AND o.seed = m.seed AND o.settings = m.settings AND o.env_name = m.env_name
            AND o.env_options = m.env_options AND o.finished_at IS NOT NULL
            AND (m.finished_at IS NULL OR o.games > m.games OR (o.games = m.games AND o.id < m.id)))
      AND COALESCE(p.env_name, m.env_name) = :env_name AND COALESCE(p.env_options, m.env_options) = :env_options
      AND (:everyone OR p.id = :population_id OR (g.match_id IS NOT NULL AND NOT EXISTS (
          SELECT 1 FROM game_seats s JOIN players y ON y.id = s.player_id
          WHERE s.game_id = g.id AND y.kind = 1 AND y.name NOT IN (SELECT snapshot_id FROM snapshots WHERE population_id = :population_id))))
), best AS MATERIALIZED (
    SELECT s.game_id, s.player_id, MIN(s.place) AS place, COUNT(*) OVER (PARTITION BY s.game_id) AS seated
    FROM chosen c JOIN game_seats s ON s.game_id = c.id GROUP BY s.game_id, s.player_id
)
SELECT a.player_id AS a, b.player_id AS b, a.seated, SUM(a.place < b.place) AS wins, SUM(a.place = b.place) AS draws, SUM(a.place > b.place) AS losses
FROM best a JOIN best b ON b.game_id = a.game_id AND b.player_id > a.player_id
GROUP BY a.player_id, b.player_id, a.seated ORDER BY a.player_id, b.player_id, a.seated
""")


@dataclass(frozen=True, slots=True)
class Standing:
    """One row of the table.

    rank            1, 2, ... among rated players; None for one that no chain of games connects to `random`
    elo, low, high  rating and its 95 % interval, `random` = 0; None without a rating
    results         against each opponent met, by one comparison per opponent and game
    snapshot        None for a scripted player
    """

    rank: int | None
    player: PlayerRef
    elo: float | None
    low: float | None
    high: float | None
    results: Mapping[PlayerRef, Tally]
    snapshot: StoredSnapshot | None

    @property
    def total(self) -> Tally:
        return add_tallies(list(self.results.values()))

    @property
    def against_random(self) -> Tally | None:
        return self.results.get(ANCHOR)

    @property
    def label(self) -> str:
        """A name the player can be called by: `random`, or `demo/m2@1.21M`."""
        if self.snapshot is None:
            return self.player.name
        return f"{self.snapshot.population}/{self.snapshot.record.member}@{frames_text(self.snapshot.record.frames)}"


def standings(league: League, population: str, *, everyone: bool = False) -> list[Standing]:
    """Best first, unrated players last.

    population  its evaluation games count, and matches among its snapshots and scripted players
    everyone    every population and match of the same game with the same options
    Raises: PlayerError.
    """
    with league.read() as connection:
        row = find_population(connection, population)
        scope = {"env_name": row.env_name, "env_options": row.env_options, "population_id": row.id, "everyone": everyone}
        found = connection.execute(_PAIRS, scope).all()
        named = _players(connection)
        kept = _snapshots(connection, population, named.values())
    results: dict[PlayerRef, dict[PlayerRef, Tally]] = defaultdict(dict)
    pairs = []
    for pair in found:
        a, b, weight = named[pair.a], named[pair.b], 1 / (pair.seated - 1)
        pairs.append(PairResult(a, b, weight * pair.wins, weight * pair.draws, weight * pair.losses))
        results[a][b] = add_tallies([results[a].get(b, Tally(0, 0, 0)), Tally(pair.wins, pair.draws, pair.losses)])
        results[b][a] = add_tallies([results[b].get(a, Tally(0, 0, 0)), Tally(pair.losses, pair.draws, pair.wins)])
    return [_standing(rank, rating, results, kept) for rank, rating in enumerate(fit(pairs, ANCHOR), start=1)]


def best_standing(table: Sequence[Standing], min_games: int = BEST_MIN_GAMES) -> Standing | None:
    """The snapshot with the highest lower bound among those with enough games and weights; None when there is none."""
    ready = [row for row in table if row.snapshot is not None and not row.snapshot.weights_removed and row.total.games >= min_games]
    return max((row for row in ready if row.low is not None), key=lambda row: (row.low, row.label), default=None)


def _standing(
    rank: int, rating: Rating[PlayerRef], results: Mapping[PlayerRef, Mapping[PlayerRef, Tally]], kept: Mapping[str, StoredSnapshot]
) -> Standing:
    player = rating.player
    snapshot = kept.get(player.name) if player.kind == "snapshot" else None
    return Standing(rank if rating.connected else None, player, rating.elo, rating.low, rating.high, results[player], snapshot)


def add_tallies(parts: Sequence[Tally]) -> Tally:
    return Tally(sum(part.wins for part in parts), sum(part.draws for part in parts), sum(part.losses for part in parts))


def frames_text(frames: int) -> str:
    """Short, and never less than `frames` (three digits, rounded up), so that "the snapshot at or below" finds the same one again."""
    for unit, letter in ((10**9, "B"), (10**6, "M"), (10**3, "k")):
        if frames >= unit:
            digits = 2 if frames < 10 * unit else 1 if frames < 100 * unit else 0
            whole = -(-frames * 10**digits // unit)
            return f"{whole / 10**digits:.{digits}f}".rstrip("0").rstrip(".") + letter if digits else f"{whole}{letter}"
    return str(frames)


def _players(connection: Connection) -> dict[int, PlayerRef]:
    rows: Sequence[Any] = connection.execute(select(players.c.id, players.c.kind, players.c.name)).all()
    return {row.id: to_player(row.kind, row.name) for row in rows}


def _snapshots(connection: Connection, population: str, named: Any) -> dict[str, StoredSnapshot]:
    """By id; of equal content in several populations, the one asked for."""
    found = snapshots_of(connection, [player.name for player in named if player.kind == "snapshot"])
    return {snapshot.record.snapshot_id: snapshot for snapshot in sorted(found, key=lambda snapshot: snapshot.population == population)}
