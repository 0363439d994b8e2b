"""The results of a population by players, with the member and the frames of each of its snapshots.

They are the results that its rating table counts; where returns count, those of its returns.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import text

from arena.league.database import League
from arena.league.objectives import objective_in_force
from arena.league.populations import find_population
from arena.league.results import Results, population_results
from arena.league.rows import to_player
from arena.league.stored_snapshots import StoredSnapshot, list_snapshots
from arena.league.summaries import list_members
from arena.stats.group_results import Numbers, PairResults
from arena.stats.margin_units import KINDS
from pbt.objective import ObjectiveKind
from pbt.records import PlayerRef

# A player in several seats of a game counts with the mean over them. A player beside others counts
# once with each of them; without another player, with itself.
_RETURNS = text("""
WITH seated AS MATERIALIZED (
    SELECT g.id AS game, s.player_id AS player, AVG(s.returns) AS got
    FROM games g INDEXED BY ix_games_evaluation
    JOIN incarnations i ON i.id = g.incarnation_id JOIN game_seats s ON s.game_id = g.id
    WHERE g.kind = 1 AND g.greedy = 0 AND g.voided = 0 AND g.superseded = 0
      AND i.population_id = :population_id
    GROUP BY g.id, s.player_id
), met AS (
    SELECT a.player, COALESCE(b.player, a.player) AS other, a.got
    FROM seated a LEFT JOIN seated b ON b.game = a.game AND b.player <> a.player
)
SELECT p.kind, p.name, o.kind, o.name, COUNT(*), SUM(got), SUM(got * got)
FROM met JOIN players p ON p.id = met.player JOIN players o ON o.id = met.other
GROUP BY met.player, met.other
""")


@dataclass(frozen=True, slots=True)
class KnownMember:
    """A member and its snapshots.

    name       its name
    role       the role that it learns
    snapshots  its snapshots, least trained first
    """

    name: str
    role: str
    snapshots: Sequence[StoredSnapshot]


@dataclass(frozen=True, slots=True)
class KnownResults:
    """The results of a population.

    objective  what they count
    members    the members, in order
    players    [players] those that played
    pairs      results of the players, by their numbers; each two players once, but where returns
               count once for each of the two, and for a player with itself
    owner      [players] number of the member that a snapshot is of, -1 for other players
    frames     [players] that a snapshot was trained for, -1 for other players
    """

    objective: ObjectiveKind
    members: Sequence[KnownMember]
    players: Sequence[PlayerRef]
    pairs: PairResults
    owner: Numbers
    frames: Numbers

    @property
    def newest_frames(self) -> int:
        """Frames of the snapshot that was trained most, 0 before any."""
        made = [member.snapshots[-1] for member in self.members if member.snapshots]
        return max((stored.record.frames for stored in made), default=0)

    @property
    def sides(self) -> PairResults:
        """The results from the sides of both players."""
        return self.pairs if self.objective == "return" else self.pairs.both_sides()

    def games_of(self, results: PairResults) -> NDArray[np.float64]:
        """[results] games of each result."""
        games: NDArray[np.float64] = (
            results.units[:, :, 0].sum(1) if self.objective == "return" else results.outcomes.sum(1)
        )
        return games

    def learned(self, results: PairResults) -> NDArray[np.bool_]:
        """[results] whether each is one of a member's snapshot."""
        return self.owner[results.first] >= 0

    def kind_of(self, name: str) -> Literal["scripted", "guest"]:
        """What kind of player one of `others` is."""
        return "guest" if self.players[self.others[name]].kind == "guest" else "scripted"

    def number_of(self, snapshot_id: str) -> int:
        """The number of a snapshot, -1 where it did not play."""
        wanted = PlayerRef("snapshot", snapshot_id)
        return next((at for at, player in enumerate(self.players) if player == wanted), -1)

    @property
    def others(self) -> dict[str, int]:
        """Name -> number of each player that is no snapshot, such as `random`.

        A guest that has the name of a scripted player is left out.
        """
        found = {
            kind: {
                player.name: number
                for number, player in enumerate(self.players)
                if player.kind == kind
            }
            for kind in ("guest", "scripted")
        }
        return {**found["guest"], **found["scripted"]}


def known_results(league: League, population: str) -> KnownResults:
    """The results of a population. Raises: PlayerError."""
    objective = objective_in_force(league, population)
    if objective == "return":
        players, pairs = _returns(league, population)
    else:
        results = population_results(league, population)
        # At tables of more than two seats, places decide where margins would.
        objective = "win" if results.rankings else objective
        players, pairs = results.matrix.players, _pairs(results)
    members = _members(league, population)
    own = {
        stored.record.snapshot_id: (number, stored.record.frames)
        for number, member in enumerate(members)
        for stored in member.snapshots
    }
    facts = [
        own.get(player.name, (-1, -1)) if player.kind == "snapshot" else (-1, -1)
        for player in players
    ]
    owner, frames = np.array(facts, dtype=np.intp).reshape(-1, 2).T
    return KnownResults(objective, members, players, pairs, owner, frames)


def _members(league: League, population: str) -> list[KnownMember]:
    made: dict[str, list[StoredSnapshot]] = {}
    for stored in list_snapshots(league, population):
        made.setdefault(stored.record.member, []).append(stored)
    return [
        KnownMember(member.name, member.role, made.get(member.name, []))
        for member in list_members(league, population)
    ]


def _pairs(results: Results) -> PairResults:
    meetings = results.meetings
    units = np.zeros((len(meetings.first), KINDS, 3))
    number = {player: at for at, player in enumerate(results.matrix.players)}
    ends = zip(meetings.first.tolist(), meetings.second.tolist(), strict=True)
    place = {couple: at for at, couple in enumerate(ends)}
    for one in results.margins:
        at = place[number[one.a], number[one.b]]
        units[at, 0 if one.paired else 1] = one.units, one.total, one.squares
    return PairResults(meetings.first, meetings.second, meetings.outcomes, units)


def _returns(league: League, population: str) -> tuple[tuple[PlayerRef, ...], PairResults]:
    with league.read() as connection:
        of = {"population_id": find_population(connection, population).id}
        rows = connection.execute(_RETURNS, of).all()
    ends = [(to_player(*row[:2]), to_player(*row[2:4])) for row in rows]
    players = tuple(dict.fromkeys(chain.from_iterable(ends)))
    number: Mapping[PlayerRef, int] = {player: at for at, player in enumerate(players)}
    units = np.zeros((len(rows), KINDS, 3))
    units[:, 1] = np.array([row[4:] for row in rows], dtype=np.float64).reshape(-1, 3)
    first, second = (
        np.array([number[pair[side]] for pair in ends], dtype=np.intp) for side in (0, 1)
    )
    return players, PairResults(first, second, np.zeros((len(rows), 3)), units)
