"""What a checkpoint keeps of every component, as typed parts that are never changed.

Components give their parts in `state` and take them over in `load`. `pbt/checkpoint/files.py`
writes them as JSON and reads them again, and refuses fields that no part has. These are the forms
of the newest format; `pbt/checkpoint/upgrade.py` makes them of what earlier programs wrote.

Tables, open games and seats stand in columns: lists of one length, with a row for each.
"""

from collections.abc import Collection, Iterable, Iterator
from itertools import chain
from typing import Annotated, Any, Literal, Self

from msgspec import Meta, Struct

from pbt.records import GameKind
from pbt.transport.messages import SlotFull

Int64 = list[Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)]]
Int64OrNone = list[Annotated[int, Meta(ge=-(2**63), le=2**63 - 1)] | None]
UInt64 = list[Annotated[int, Meta(ge=0)]]
Float64 = list[float]
Bool = list[bool]
Text = list[str]


class Part(Struct, frozen=True, forbid_unknown_fields=True):
    """A part of a checkpoint."""


# --- tables ---------------------------------------------------------------------------------------


class Columns(Part, frozen=True):
    """Columns of one length; every field of a subclass is one more.

    table  number of the table in the whole run
    """

    table: Int64

    def __post_init__(self) -> None:
        """Raises: ValueError for columns of different lengths."""
        lengths = {name: len(column) for name, column in self._columns().items()}
        if len(set(lengths.values())) > 1:
            raise ValueError(f"columns of different lengths: {lengths}; expected one length")

    def _columns(self) -> dict[str, list[Any]]:
        return {name: getattr(self, name) for name in self.__struct_fields__}

    def rows(self) -> Iterator[dict[str, Any]]:
        """Each row, by column."""
        columns = self._columns()
        return (dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True))

    def at(self, tables: Collection[int]) -> Self:
        """The rows of these tables, in the order in which they stand."""
        return self._taken([row for row, table in enumerate(self.table) if table in tables])

    def by_table(self) -> Self:
        """In the order of tables; the rows of one table keep their order."""
        return self._taken(sorted(range(len(self.table)), key=self.table.__getitem__))

    def _taken(self, rows: Collection[int]) -> Self:
        return type(self)(*([column[row] for row in rows] for column in self._columns().values()))

    @classmethod
    def joined(cls, parts: Collection[Self]) -> Self:
        """The rows of all parts, one part after the other."""
        names = cls.__struct_fields__
        return cls(*(list(chain(*(getattr(part, name) for part in parts))) for name in names))

    @classmethod
    def of(cls, rows: Iterable[Iterable[Any]]) -> Self:
        """rows: values in the order of the columns."""
        columns = [list(column) for column in zip(*rows, strict=True)]
        return cls(*(columns or ([] for _ in cls.__struct_fields__)))


class TableColumns(Columns, frozen=True):
    """A row for each table.

    level  of its next game (`pbt.sampling.table.Table.levels`)
    """

    level: Float64


class GameColumns(Columns, frozen=True):
    """A row for each table that plays: its plan and how far it is.

    The columns are called as in `pbt.transport.messages.GamePlan` and `pbt.sampling.table.Table`.
    """

    game_count: Int64
    kind: list[GameKind]
    seed: UInt64
    noise: list[tuple[int | str, ...]]
    opening_plies: Int64
    opening_seed: UInt64
    record_actions: Bool
    greedy: Bool
    pair: Int64OrNone
    due: Int64
    steps: Int64
    moves: Int64
    history: list[list[int | float]]
    actions: list[list[tuple[int, list[int | float]]]]


class SeatColumns(Columns, frozen=True):
    """A row for each seat of a table that plays, in the order of the seats.

    The columns are called as in `pbt.sampling.table.Seat`, but for the player's kind and name.
    """

    index: Int64
    role: Int64
    kind: list[Literal["member", "snapshot", "scripted", "guest"]]
    name: Text
    policy: Int64
    generation: Int64
    learning: Bool
    key: UInt64
    slot: Int64
    row: Int64
    first_row: Int64
    pending: Bool
    episode_start: Bool
    over: Bool
    steps: Int64
    frames: Int64
    returns: Float64
    acted: Bool
    version_start: Int64OrNone
    version_end: Int64
    began_generation: Int64


class WaitingColumns(Columns, frozen=True):
    """A row for each seat that waits for an action, in the order in which they are asked for."""

    seat: Int64


class SavedPool(Part, frozen=True):
    """Slots in the states FREE and PARKED, the latter by policy with their rows so far."""

    free: Int64
    parked: dict[int, list[tuple[int, int]]]


class SavedFiller(Part, frozen=True):
    """A role's pool, and the rows that were produced and dropped, by reason."""

    pool: SavedPool
    produced: int
    dropped: dict[str, int]


class SavedWorker(Part, frozen=True):
    """A worker, or all workers as one.

    idle     tables that wait for a game, in their order
    fillers  by role
    """

    tables: TableColumns
    games: GameColumns
    seats: SeatColumns
    waiting: WaitingColumns
    idle: Int64
    fillers: list[SavedFiller]


# --- learners -------------------------------------------------------------------------------------


class SavedQueue(Part, frozen=True):
    """Slots that wait for their batch, oldest first, and the rows that were dropped, by reason."""

    queue: list[SlotFull]
    dropped: dict[str, int]


# --- matchmaking ----------------------------------------------------------------------------------


class SavedEntrant(Part, frozen=True):
    """What changes of a `pbt.matchmaking.roster.MemberEntry`."""

    generation: int
    learning: bool


class SavedOpponent(Part, frozen=True):
    """A `pbt.matchmaking.roster.SnapshotEntry`."""

    snapshot_id: str
    member: str
    role: str


class SavedRoster(Part, frozen=True):
    """A roster: its members by name, snapshots oldest first, and win rates."""

    entrants: dict[str, SavedEntrant]
    snapshots: list[SavedOpponent]
    win_rates: dict[str, dict[str, float]]


class SavedPlanner(Part, frozen=True):
    """Matchmaking.

    counts          games so far, by table
    evaluated       evaluation games so far, by snapshot
    closing_played  games of the final evaluation so far
    closing_from    the counts when the last member stopped learning; empty while one learns
    """

    counts: Int64
    evaluated: dict[str, int]
    closing_played: int
    roster: SavedRoster
    closing_from: list[int] = []


class SavedSource(Part, frozen=True):
    """What all sources of payoffs have: candidates by role, generations by member."""

    candidates: dict[str, list[str]]
    generations: dict[str, int]


class SavedCounts(SavedSource, frozen=True, tag_field="kind", tag="counts"):
    """Points and games of members against snapshots: snapshot -> member -> both."""

    cells: dict[str, dict[str, tuple[float, float]]]


class SavedRatings(SavedSource, frozen=True, tag_field="kind", tag="elo"):
    """Elo ratings."""

    members: dict[str, float]
    snapshots: dict[str, float]


class SavedPayoffs(Part, frozen=True):
    """untold: games that changed a win rate since the last report."""

    untold: int
    source: SavedCounts | SavedRatings


# --- population -----------------------------------------------------------------------------------


class SavedMember(Part, frozen=True):
    """A `pbt.population.members.Member`, field by field."""

    name: str
    role: str
    policy: int
    hyperparams: dict[str, float]
    generation: int
    round: int
    newest_snapshot: str | None
    finished: bool
    copies: int
    last_event: str
    failed: bool
    failure: str
    updates: int
    refused_updates: int


class SavedWindow(Part, frozen=True):
    """Each member's newest games: (number, points, place of the opponent in `opponents`)."""

    games: dict[str, list[tuple[int, float, int]]]
    opponents: list[str]
    generations: dict[str, int]


class SavedCurves(Part, frozen=True):
    """By member, the results of its games since its last update."""

    returns: dict[str, list[float]]
    points: dict[str, list[float]]


class SavedController(Part, frozen=True):
    """games: that ended so far. payoffs: None where the mode of matchmaking has none."""

    games: int
    members: list[SavedMember]
    window: SavedWindow
    curves: SavedCurves
    payoffs: SavedPayoffs | None


# --- the whole ------------------------------------------------------------------------------------


class SavedEngine(Part, frozen=True):
    """games: over so far, by kind. round: learning phases that are over."""

    games: dict[GameKind, int]
    rows_trained: int
    round: int = 0


class SavedLeague(Part, frozen=True):
    """The rows that a league had, as the caller of the engine counts them.

    head  of its chain of hashes, None where an earlier program wrote none
    """

    incarnation: int
    events: int
    snapshots: list[str]
    head: str | None


class SavedRun(Part, frozen=True):
    """A whole run, but for what stands in tensors.

    config   as it was stored; `pbt.config.load` reads those of earlier programs
    planner  of the whole run
    worker   all workers as one
    queues   by member
    league   None where there is none
    """

    config: dict[str, Any]
    engine: SavedEngine
    controller: SavedController
    planner: SavedPlanner
    worker: SavedWorker
    queues: dict[str, SavedQueue]
    league: SavedLeague | None = None
