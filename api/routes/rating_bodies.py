"""Answers about strength: tables of ratings, and of returns.

The reports come from the functions that the command line prints; these models say what is in them.
`objective` tells the kinds of a report apart.
"""

from typing import Annotated, Literal

from pydantic import BaseModel, Field, RootModel

from api.routes.pair_bodies import CircleBody, CyclicShareBody
from pbt.objective import ObjectiveKind

PlayerKind = Literal["snapshot", "scripted", "guest"]


class DistanceBody(BaseModel):
    """How far a player is above another one, with a 95 % interval of the difference.

    anchor     label of the other player
    value      the difference, null where games do not tell it
    low, high  an end of the interval, null where it has no bound
    """

    anchor: str
    value: float | None
    low: float | None
    high: float | None


class SeatWorthBody(BaseModel):
    """What the first seat is worth, in Elo.

    value      the worth
    low, high  an end of its 95 % interval
    """

    value: float
    low: float
    high: float


class SeatAdvantageBody(BaseModel):
    """What the first seat is worth between two players.

    at_best  at the strength of the best player, null where games do not tell it
    overall  in the mean over the games, null where it is shown to grow with strength
    slope    how much it grows with each Elo, null where the games do not tell it
    """

    at_best: SeatWorthBody | None
    overall: SeatWorthBody | None
    slope: float | None


class WinModelBody(BaseModel):
    """The model of ratings by games won.

    name            in a few words
    seat_advantage  what the first seat is worth, null where games do not tell it
    tie             Davidson's nu: two equals tie with probability nu / (2 + nu); null without ties
    """

    name: str
    seat_advantage: SeatAdvantageBody | None = None
    tie: float | None = None


class MisfitBody(BaseModel):
    """Whether differences of ratings explain the margins up to noise.

    q        weighted sum of squared differences between margins and ratings
    freedom  degrees of freedom
    p        the chance of such a sum if ratings explain the margins
    """

    q: float
    freedom: int
    p: float


class DeviationsBody(BaseModel):
    """Standard deviations of a margin.

    pair  of a seed pair, null where there are too few
    game  of a game outside a pair, null where there are too few
    """

    pair: float | None
    game: float | None


class MarginModelBody(BaseModel):
    """The model of ratings by margins.

    name        in a few words
    explained   share of the margins that ratings explain, null where it cannot be told
    misfit      a test of the model, null where it cannot be made
    tau         standard deviation of what ratings leave unexplained of a pair of players
    deviations  of a margin by chance
    ranked_by   "ratings", or "panel" where one number for each player says too little
    """

    name: str
    explained: float | None = None
    misfit: MisfitBody | None = None
    tau: float | None = None
    deviations: DeviationsBody | None = None
    ranked_by: str | None = None


class RatedBody(BaseModel):
    """A player of a table of ratings.

    rank               within its role; null for a provisional player and one of any role
    player             its label, such as `demo/m0@1.2M`
    kind               what it is
    id                 a snapshot's id, or the name of another player
    role               that it plays; null for a player of any role, such as `random`
    low, high          an end of the 95 % interval of the rating, null where it has no bound
    provisional        it has too few games to be ranked
    weights_removed    its weights are gone: it plays no more
    games              number of games that count
    wins               games won
    draws              games drawn
    losses             games lost
    score              (wins + draws / 2) / games
    score_vs_best      its score against the best one, null where they never met
    games_vs_best      number of games against the best one
    predicted_vs_best  the score that the ratings predict, null where they predict none
    score_vs_random    its score against `random`, null where they never met
    opponents          number of players that it met
    to_best            how far it is above the best one, null for that one itself
    to_middle          how far it is above the one of median rating, null for that one itself
    """

    rank: int | None
    player: str
    kind: PlayerKind
    id: str
    role: str | None
    low: float | None
    high: float | None
    provisional: bool
    weights_removed: bool
    games: int
    wins: int
    draws: int
    losses: int
    score: float
    score_vs_best: float | None
    games_vs_best: int
    predicted_vs_best: float | None
    score_vs_random: float | None
    opponents: int
    to_best: DistanceBody | None
    to_middle: DistanceBody | None


class EloRatedBody(RatedBody):
    """A player of a table in which games won count.

    elo  its rating; null where no chain of games connects it to the others
    """

    elo: float | None


class MarginRatedBody(RatedBody):
    """A player of a table in which margins count.

    margin  its rating; null where no chain of games connects it to the others
    """

    margin: float | None


class ReturnRowBody(BaseModel):
    """A player of a table in which returns count.

    rank              within its role, null with too few games
    player            its label
    kind              what it is
    id                the snapshot's id
    role              that it plays
    frames            that it had trained
    games             number of games that count
    mean_return       of a seat; in games of several seats with itself in all of them
    low, high         an end of the 95 % interval of the mean, null where it has no bound
    cross_play        mean return beside other players, null without such games
    cross_play_games  number of games beside other players
    gap               mean_return - cross_play, null as `cross_play`
    """

    rank: int | None
    player: str
    kind: Literal["snapshot"]
    id: str
    role: str
    frames: int
    games: int
    mean_return: float
    low: float | None
    high: float | None
    cross_play: float | None
    cross_play_games: int
    gap: float | None


class FreshStrengthBody(BaseModel):
    """The strength of the best one in games that count in no rating.

    objective  what decides in them
    value      Elo above `random`, mean margin or mean return; null where it is not finite
    low, high  an end of the 95 % interval, null where it has no bound
    units      number of games, seed pairs or seeds
    matches    number of matches that they are from
    seated     "against random", "with itself in all seats" or "beside random"
    """

    objective: ObjectiveKind
    value: float | None
    low: float | None
    high: float | None
    units: int
    matches: int
    seated: str


class BestOfManyBody(BaseModel):
    """What may be claimed of the best one although it was chosen among many.

    candidates        how many snapshots could have been chosen
    low               with 95 % the best of them is at least this strong; null where the model gives
                      no joint uncertainty
    low_of            label of the candidate whose lower end that is, null as `low`
    own_low           the lower end of the best one itself, for all candidates at once; null as
                      `low`
    may_be_best       how many of them may be the best, null as `low`
    may_be_untrained  an untrained one is among these, null as `low`
    may_be_random     `random` may be the best of all, null as `low` and in tables of returns
    fresh             numbers of the matches whose games count in no rating
    fresh_strength    what these games say, null without such
    """

    candidates: int
    low: float | None
    low_of: str | None
    own_low: float | None
    may_be_best: int | None
    may_be_untrained: bool | None
    may_be_random: bool | None
    fresh: list[int]
    fresh_strength: FreshStrengthBody | None


class TableBody(BaseModel):
    """A table of the strength of players.

    population    whose table it is
    everyone      all other populations of its game are in it
    best          id of the best snapshot; null before there is one, and where there are several
                  roles
    best_by_role  role -> id of its best snapshot, null before there is one
    best_of_many  role -> what may be claimed of its best snapshot
    rating        what the numbers are, in words
    unit          what follows each number
    """

    population: str
    everyone: bool
    best: str | None
    best_by_role: dict[str, str | None]
    best_of_many: dict[str, BestOfManyBody]
    rating: str
    unit: str


class EloTableBody(TableBody):
    """Ratings by games won, in Elo.

    objective     what the numbers count
    model         that gave the ratings
    players       ordered by the lower end of the interval
    cycles        circles of players that beat each other
    cyclic_share  the part of the results that no rating can explain
    """

    objective: Literal["win"]
    model: WinModelBody
    players: list[EloRatedBody]
    cycles: list[CircleBody]
    cyclic_share: CyclicShareBody


class MarginTableBody(TableBody):
    """Ratings by margins, a game.

    objective     what the numbers count
    model         that gave the ratings
    players       ordered by the lower end of the interval
    cycles        circles of margins
    cyclic_share  the part of the results that no rating can explain
    """

    objective: Literal["margin"]
    model: MarginModelBody
    players: list[MarginRatedBody]
    cycles: list[CircleBody]
    cyclic_share: CyclicShareBody


class ReturnTableBody(TableBody):
    """Mean returns, where returns count.

    objective  what the numbers count
    players    ordered by the lower end of the interval
    """

    objective: Literal["return"]
    players: list[ReturnRowBody]


class RatingsBody(
    RootModel[
        Annotated[
            EloTableBody | MarginTableBody | ReturnTableBody, Field(discriminator="objective")
        ]
    ]
):
    """The rating table of a population; `objective` says which kind it is."""
