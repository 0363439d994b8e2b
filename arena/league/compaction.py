"""Folding of old training games: blocks are replaced by totals, so that the league stays small.

The totals are games, wins, draws, losses, returns and their squares for each (period, member,
opponent), as `arena.league.block_games.pair_totals` counts them. A period is a range of
`period_games` game numbers. A game without another player counts under opponent 0. Voided and
superseded games count only as removed.

A block stays where a round was scored from its games, as long as the round, and where a checkpoint
that is kept may still have a round scored from them. So do the newest games, and those that leagues
of earlier programs have in rows.

Only whole batches of the population's chain are folded, so that every batch can be verified or is
gone. The record of a fold holds the digest of the batches as they were found, and digests of the
totals.
"""

import hashlib
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, func, text
from sqlalchemy.dialects.sqlite import insert

from arena.league.block_games import PairTotal, digest_found_of, pair_totals, voided
from arena.league.block_rows import (
    StoredBlock,
    blocks_between,
    delete_blocks,
    games_in_blocks,
    members_among,
)
from arena.league.blocks import BlockColumns
from arena.league.chain import ChainContent, append, chain_of_population, records_in_range
from arena.league.chain_columns import ColumnType, NamedColumn, digest_columns
from arena.league.chain_rows import TRAINING_GAMES, PlayerNames
from arena.league.database import immediate
from arena.league.populations import starts_of
from arena.league.round_windows import RoundWindows
from arena.league.rows import to_json
from arena.league.schema import MAX_NUMBER, folded_results, folds, keys_of_start

KEEP_GAMES = 1_000_000
CHUNK_GAMES, CHUNK_BLOCKS = 50_000, 100
# At most so many blocks are looked at in one transaction, which keeps others from writing.
LOOKED_AT = 200
PERIOD_GAMES = 50_000
FOLD = "fold"

_COUNTS = text("""
SELECT m.kind || ' ' || m.name AS member, o.kind || ' ' || o.name AS opponent, f.games, f.wins,
    f.draws, f.losses, f.returns, f.squares
FROM folded_results f JOIN players m ON m.id = f.member_player_id
LEFT JOIN players o ON o.id = f.opponent_player_id
WHERE f.population_id = :population_id AND f.period = :period ORDER BY 1, 2
""")
_KEY = ("period", "member_player_id", "opponent_player_id")
_SUMS = ("games", "wins", "draws", "losses", "returns", "squares")
_NEW = insert(folded_results)
# Where an earlier program folded games without their squares, the sum stays unknown.
_ADD = _NEW.on_conflict_do_update(
    index_elements=["population_id", *_KEY],
    set_={name: folded_results.c[name] + _NEW.excluded[name] for name in _SUMS},
)


@dataclass(frozen=True, slots=True)
class Settled:
    """What no resume can take back or need any more, as the kept checkpoints say.

    through  number of the last game that all of them know
    windows  member -> number of the first game that the window of one of them holds
    """

    through: int
    windows: Mapping[str, int]


class Folding:
    """Keeps about `keep_games` to `keep_games + chunk_games` training games of a population.

    It never keeps fewer; more, where the oldest batch is larger than what may go, and those that
    rounds or checkpoints need.
    """

    def __init__(
        self,
        population_id: int,
        keep_games: int = KEEP_GAMES,
        chunk_games: int = CHUNK_GAMES,
        period_games: int = PERIOD_GAMES,
        *,
        waits: bool = False,
    ) -> None:
        """waits: nothing is folded before `settled` is set."""
        self._population_id, self._keep_games = population_id, keep_games
        self._chunk_games, self._period_games = chunk_games, period_games
        self._owner = chain_of_population(population_id)
        self._rounds = RoundWindows(population_id)
        self.settled = None if waits else Settled(MAX_NUMBER, {})
        # Games behind the key up to which blocks were folded, or stay.
        self._kept: int | None = None
        self._through = -1

    def added(self, training_games: int) -> None:
        """Counts training games that were committed."""
        if self._kept is not None:
            self._kept += training_games

    def step(self, connection: Connection) -> bool:
        """Folds one chunk in its own transaction if there are enough games; True when it did.

        connection: in autocommit.
        """
        if self._kept is None:
            self._kept = sum(
                games_in_blocks(connection, *keys) for keys in self._ranges(connection)
            )
        if self.settled is None or self._kept < self._keep_games + self._chunk_games:
            return False
        before = self._through, self._kept
        try:
            with immediate(connection):
                self._rounds.read(connection)
                chunk = self._chunk(connection, self.settled)
                if chunk:
                    self._fold(connection, chunk)
        except BaseException:
            self._through, self._kept = before
            raise
        return bool(chunk)

    def _ranges(self, connection: Connection) -> list[tuple[int, int]]:
        """Keys (first, last possible) of each start that are not done with, oldest first."""
        starts = starts_of(connection, self._population_id)
        ranges = [keys_of_start(start.id) for start in starts]
        return [
            (max(first, self._through + 1), last) for first, last in ranges if self._through < last
        ]

    def _chunk(self, connection: Connection, settled: Settled) -> list[StoredBlock]:
        """The oldest blocks that may go, one behind the other in one start; those before stay."""
        chunk: list[StoredBlock] = []
        games = 0
        for stored in islice(self._blocks(connection), LOOKED_AT):
            assert self._kept is not None
            full = games + stored.count > self._chunk_games or len(chunk) == CHUNK_BLOCKS
            if self._kept - stored.count < self._keep_games or (chunk and full):
                break
            stays = self._stays(connection, stored, settled)
            if stays is None or (chunk and (stays or not self._adjoins(connection, chunk, stored))):
                break
            self._through, self._kept = stored.last, self._kept - stored.count
            if not stays:
                chunk.append(stored)
                games += stored.count
        return chunk

    def _adjoins(
        self, connection: Connection, chunk: Sequence[StoredBlock], stored: StoredBlock
    ) -> bool:
        """Whether a block is of the chunk's start, and no batch of an earlier fold lies between."""
        between = chunk[-1].last + 1, stored.id - 1
        return stored.start == chunk[0].start and not records_in_range(
            connection, self._owner, TRAINING_GAMES, *between
        )

    def _blocks(self, connection: Connection) -> Iterator[StoredBlock]:
        for first, last in self._ranges(connection):
            yield from blocks_between(connection, first, last)

    def _stays(self, connection: Connection, stored: StoredBlock, settled: Settled) -> bool | None:
        """Whether a block stays for good; None where a checkpoint has to come first."""
        numbers = stored.id & MAX_NUMBER, stored.last & MAX_NUMBER
        if stored.superseded_from is not None:
            if stored.superseded_from <= stored.id:
                return False
            numbers = numbers[0], (stored.superseded_from & MAX_NUMBER) - 1
        if numbers[1] > settled.through:
            return None
        members = stored.members(connection)
        return any(
            settled.windows.get(member, MAX_NUMBER) <= numbers[1]
            or self._rounds.reach(member, *numbers)
            for member in members
        )

    def _fold(self, connection: Connection, chunk: Sequence[StoredBlock]) -> None:
        """Replaces blocks by totals."""
        names, digests = PlayerNames(), []
        count = unscored = 0
        totals: dict[tuple[int, int, int], list[float]] = defaultdict(lambda: [0.0] * 6)
        for stored in chunk:
            block = stored.unpacked()
            known = names.read_ids(connection, block.players)
            digests.append(digest_found_of(stored.start, block, known))
            standing = ~voided(block) & ~stored.superseded(block.numbers)
            count, unscored = count + len(standing), unscored + int((~standing).sum())
            members = members_among(connection, block.players)
            for period, total in self._by_period(block, standing, members):
                sums = totals[period, total.player, total.opponent]
                sums[:] = [a + b for a, b in zip(sums, total[2:], strict=True)]
        rows = [
            {"population_id": self._population_id, **dict(zip(_KEY, key, strict=True))}
            | dict(zip(_SUMS, sums, strict=True))
            for key, sums in totals.items()
        ]
        if rows:
            connection.execute(_ADD, rows)
        first, last = chunk[0].id, chunk[-1].last
        delete_blocks(connection, [stored.id for stored in chunk])
        self._note(connection, last, count, unscored)
        ends = (first & MAX_NUMBER, last & MAX_NUMBER)
        periods = range(ends[0] // self._period_games, ends[1] // self._period_games + 1)
        counts = {
            str(period): period_digest(connection, self._population_id, period).hex()
            for period in periods
        }
        note = to_json({"unscored": unscored, "unrecorded": 0, "periods": counts})
        content = ChainContent(FOLD, first, last, count, fold_digest(digests), note)
        append(connection, self._owner, [content])

    def _by_period(
        self, block: BlockColumns, counted: NDArray[np.bool_], members: Sequence[int]
    ) -> Iterator[tuple[int, PairTotal]]:
        periods = block.numbers // self._period_games
        for period in np.unique(periods).tolist():
            for total in pair_totals(block, counted & (periods == period), members):
                yield period, total

    def _note(self, connection: Connection, last: int, count: int, unscored: int) -> None:
        """Notes how much was folded."""
        row = insert(folds).values(
            population_id=self._population_id,
            through_game_id=last,
            games=count,
            unscored_games=unscored,
        )
        added = {
            "through_game_id": func.max(folds.c.through_game_id, last),
            "games": folds.c.games + count,
            "unscored_games": folds.c.unscored_games + unscored,
        }
        connection.execute(row.on_conflict_do_update(index_elements=["population_id"], set_=added))


def fold_digest(digests: Sequence[bytes]) -> bytes:
    """The digest of a fold. digests: those of its batches, in order."""
    return hashlib.sha256(b"".join(digests)).digest()


def period_digest(connection: Connection, population_id: int, period: int) -> bytes:
    """The digest of the totals of one period, with players by name."""
    rows = connection.execute(_COUNTS, {"population_id": population_id, "period": period}).all()
    names = ("member", "opponent", "games", "wins", "draws", "losses", "returns", "squares")
    types: tuple[ColumnType, ...] = ("t", "t", "i", "i", "i", "i", "f", "f")
    return digest_columns(
        [
            NamedColumn(name, kind, [row[place] for row in rows])
            for place, (name, kind) in enumerate(zip(names, types, strict=True))
        ]
    )
