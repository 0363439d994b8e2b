"""Answers about win rates: over frames, by members at a moment, and between two moments."""

from typing import Literal

from pydantic import BaseModel

from pbt.objective import ObjectiveKind


class WinRateBody(BaseModel):
    """What one side got of another, in what the objective counts.

    games   games of the two
    wins    games won, null where returns count
    draws   games drawn, null where returns count
    losses  games lost, null where returns count
    value   (wins + draws / 2) / games, the mean margin of a game, or the mean return of a game
    low     lower end of the value's 95 % interval, null where nothing says how much it varies
    high    upper end of the interval, null as `low`
    """

    games: int
    wins: int | None
    draws: int | None
    losses: int | None
    value: float
    low: float | None
    high: float | None


class RateBlockBody(WinRateBody):
    """The games of a member's snapshots of a range of frames.

    first      frames at which the block begins
    last       frames before which it ends
    frames     of the snapshots, in the mean over the games
    snapshots  number of snapshots that played
    """

    first: int
    last: int
    frames: float
    snapshots: int


class RateOpponentBody(BaseModel):
    """An opponent that win rates can be against.

    name   "others": all other members; "itself": the member's own earlier snapshots, or where
           returns count, itself in all seats; else a member, a player, or the label of a snapshot
    kind   what the name stands for
    games  counted games of the members against it
    """

    name: str
    kind: Literal["others", "itself", "member", "snapshot", "scripted", "guest"]
    games: int


class MemberRatesBody(BaseModel):
    """The win rates of a member.

    member  its name
    role    the role that it learns
    blocks  by frames; blocks without games are left out
    """

    member: str
    role: str
    blocks: list[RateBlockBody]


class WinRatesBody(BaseModel):
    """Win rates over frames.

    population    whose they are
    objective     what they count
    against       the opponent, null before any game
    block_frames  width of a block
    opponents     those that the members have met, but for snapshots
    members       in order; the opponent itself has no blocks
    """

    population: str
    objective: ObjectiveKind
    against: RateOpponentBody | None
    block_frames: int
    opponents: list[RateOpponentBody]
    members: list[MemberRatesBody]


class MatrixSideBody(BaseModel):
    """A row and column of the matrix.

    name       of the member, or of a player that does not learn
    kind       "member", "scripted" or "guest"
    role       that it plays, null where it plays any
    label      of the newest snapshot that stands for a member, such as `demo/m2@1.2M`; of another
               player its name
    snapshots  ids of the snapshots that stand for a member, least trained first
    frames     of the newest of them, null for another player
    strength   by which the sides are ordered, from the games of this matrix: in log-odds, as a
               margin of a game, or as a mean return; null without a game where returns count
    """

    name: str
    kind: Literal["member", "scripted", "guest"]
    role: str | None
    label: str
    snapshots: list[str]
    frames: int | None
    strength: float | None


class MatrixPairBody(WinRateBody):
    """Two sides that met. The numbers are the player's.

    player    name of the one
    opponent  name of the other one
    """

    player: str
    opponent: str


class MemberCircleBody(BaseModel):
    """Three sides of which each beats the next, and the last one the first.

    players  names of the three
    p        the chance of such a circle if no side were better than the next
    """

    players: list[str]
    p: float


class MemberMatrixBody(BaseModel):
    """The matrix of the members at a moment.

    population     whose it is
    objective      what it counts
    frames         of the moment
    newest_frames  of the snapshot that was trained most
    recent         newest snapshots that stand for a member; 0: all up to the moment
    sides          rows and columns, strongest first
    pairs          each two that met once, the stronger as the player; where returns count, once for
                   each of the two, and for a member with itself in all seats
    cycles         circles of the sides; none where returns count
    """

    population: str
    objective: ObjectiveKind
    frames: int
    newest_frames: int
    recent: int
    sides: list[MatrixSideBody]
    pairs: list[MatrixPairBody]
    cycles: list[MemberCircleBody]


class ChangedPairBody(BaseModel):
    """How much more the player got of the opponent at the later moment.

    player      name of the one
    opponent    name of the other one
    before      at the earlier moment
    after       at the later one
    difference  later value minus earlier value
    low         lower end of the difference's 95 % interval, null where nothing says how much the
                values vary
    high        upper end of the interval, null as `low`
    sure        0 lies outside of an interval that is wide enough for all pairs together: the chance
                that even one is called sure although nothing changed is below 5 %
    """

    player: str
    opponent: str
    before: WinRateBody
    after: WinRateBody
    difference: float
    low: float | None
    high: float | None
    sure: bool


class MatrixChangesBody(BaseModel):
    """What changed between two moments.

    population     whose matrix it is
    objective      what it counts
    first          frames of the earlier moment
    last           frames of the later one
    newest_frames  of the snapshot that was trained most
    recent         newest snapshots that stand for a member; 0: all up to the moment
    sides          rows and columns at the later moment, strongest first
    pairs          those that met at both moments, and of which one has other snapshots at the
                   later one, ordered as the pairs of the matrix
    """

    population: str
    objective: ObjectiveKind
    first: int
    last: int
    newest_frames: int
    recent: int
    sides: list[MatrixSideBody]
    pairs: list[ChangedPairBody]
