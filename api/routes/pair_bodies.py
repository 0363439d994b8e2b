"""Answers about players against each other: the matrix of pairs, and circles."""

from pydantic import BaseModel

from pbt.objective import ObjectiveKind


class CircleBody(BaseModel):
    """Three players of which each beats the next, and the last one the first.

    players  labels of the three
    p        the chance of such a circle if ratings explained all results
    """

    players: list[str]
    p: float


class CyclicShareBody(BaseModel):
    """The part of the results that no rating can explain.

    share  of all results
    p      the chance of such a share if ratings explained all results
    """

    share: float
    p: float


class PairBody(BaseModel):
    """Two players that met. The numbers are the player's.

    player       label of the one
    opponent     label of the other one
    games        number of games
    wins         games that the player won
    draws        games drawn
    losses       games that the player lost
    score        (wins + draws / 2) / games
    low, high    an end of the 95 % interval of the score
    margin       mean margin of a game, null unless margins count
    margin_low   lower end of the margin's 95 % interval, null where it has no bound
    margin_high  upper end of the margin's 95 % interval, null where it has no bound
    units        number of seed pairs, or of games outside one; null unless margins count
    """

    player: str
    opponent: str
    games: int
    wins: int
    draws: int
    losses: int
    score: float
    low: float
    high: float
    margin: float | None
    margin_low: float | None
    margin_high: float | None
    units: int | None


class WinMatrixBody(BaseModel):
    """Every two players that met.

    table      whose matrix it is
    objective  what decides between two players
    players    labels, ordered as the rating table
    pairs      each pair once, the higher ranked player first; none where returns count
    """

    table: str
    objective: ObjectiveKind
    players: list[str]
    pairs: list[PairBody]


class CyclesBody(BaseModel):
    """Circles of players that beat each other.

    population    whose players they are
    objective     in what they beat each other
    cycles        the circles; none where returns count
    cyclic_share  the part of the results that no rating can explain, null where returns count
    """

    population: str
    objective: ObjectiveKind
    cycles: list[CircleBody]
    cyclic_share: CyclicShareBody | None
