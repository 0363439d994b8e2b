"""Records of matches in the chains of populations: that a match began, and the head at its end.

A match has a chain of its own, which goes where its rows go. So that a whole match cannot be taken
away unseen, its beginning and its end are recorded in the chain of every population whose snapshots
play in it. A match without snapshots counts in the ratings of every population of its game, so it
is recorded in the chains of all of these.

Each record is written in the transaction of the match's row, and every transaction that appends to
a chain reads its end under the write lock. So matches may be played while a training writes.
"""

from collections.abc import Sequence
from typing import NamedTuple

from sqlalchemy import Connection, select

from arena.league.chain import append, chain_end, chain_of_match, chain_of_population, said
from arena.league.schema import populations, snapshots
from pbt.records import PlayerRef

MATCH_BEGUN, MATCH_ENDED = "match begun", "match ended"


class MatchPlayed(NamedTuple):
    """A match as its row says it. env_options: as they are stored."""

    match_id: int
    env_name: str
    env_options: str
    players: Sequence[PlayerRef]


def record_begun(connection: Connection, match: MatchPlayed) -> None:
    """Records that a match began, in the transaction of its row."""
    _record(connection, match, MATCH_BEGUN)


def record_ended(connection: Connection, match: MatchPlayed) -> None:
    """Records the head of a match that ended, in the transaction of its end."""
    head = chain_end(connection, chain_of_match(match.match_id))[1].hex()
    _record(connection, match, MATCH_ENDED, head=head)


def _record(connection: Connection, match: MatchPlayed, kind: str, **more: str) -> None:
    for population_id in _concerned(connection, match):
        record = said(kind, 1, match=match.match_id, **more)
        append(connection, chain_of_population(population_id), [record])


def _concerned(connection: Connection, match: MatchPlayed) -> list[int]:
    """Ids of the populations whose snapshots play; without snapshots, of those of the game."""
    trained = [player.name for player in match.players if player.kind == "snapshot"]
    if trained:
        query = select(snapshots.c.population_id).where(snapshots.c.snapshot_id.in_(trained))
    else:
        query = select(populations.c.id).where(
            populations.c.env_name == match.env_name,
            populations.c.env_options == match.env_options,
        )
    return sorted(set(connection.execute(query).scalars()))
