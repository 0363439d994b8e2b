"""The reports of finished jobs: what the command line prints with `--json`, but for that of a
verification, which has its own fields.
"""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field

from api.open_values import AnyValue
from api.routes.pair_bodies import CircleBody, CyclicShareBody
from api.routes.rating_bodies import (
    EloRatedBody,
    MarginModelBody,
    MarginRatedBody,
    RatedBody,
    WinModelBody,
)
from arena.matches.report_parts import MarginReport, PlayerReport
from pbt.objective import ObjectiveKind


class DifferenceBody(BaseModel):
    """One difference between what is stored and what it should be.

    where     the row, record or file
    found     what is there, or the contradiction in words
    expected  what should be there, empty behind a contradiction in words
    """

    where: str
    found: str
    expected: str


class PlayedAgainBody(BaseModel):
    """Games that were played again from their seeds and actions.

    stored  how many have their actions
    played  how many of them were played again
    why     why not all, empty where all were
    """

    stored: int
    played: int
    why: str


class VerificationReport(BaseModel):
    """The result of a verification.

    kind           what was verified
    name           its name
    ok             nothing differs
    head           of its chain
    records        how many records the chain has
    begun_at       when the chain of an older population began, null for one that has all rows
    rows_before    kind of row -> rows from before that, whose history is unknown
    rows_recorded  kind of row -> rows that records have
    games_folded   games that were folded into counts
    seen_heads     a head that was looked for, or its beginning -> number of the record that has it
    counts         what was verified besides -> how much of it
    played_again   null where there is nothing to play
    notes          what a reader should know
    differences    everything that is wrong
    """

    kind: Literal["population", "match", "imports"]
    name: str
    ok: bool
    head: str
    records: int
    begun_at: float | None
    rows_before: dict[str, int]
    rows_recorded: dict[str, int]
    games_folded: int
    seen_heads: dict[str, int]
    counts: dict[str, int]
    played_again: PlayedAgainBody | None
    notes: list[str]
    differences: list[DifferenceBody]


class TournamentMatchBody(BaseModel):
    """A match of a tournament.

    match      its number in the league
    round      from 1
    seed       of the match
    interim    games are missing
    games      number of games that count
    a          label of the first player; null at larger tables
    b          label of the second one; null at larger tables
    score      of the first one, from 0 to 1; null at larger tables
    low, high  an end of the 95 % interval of the score
    wins       games that the first one won
    draws      games drawn
    losses     games that the first one lost
    margin     where margins decide between two, else null
    players    labels; null for two
    standings  at larger tables, as in the report of the match
    partners   where partners share the return, as in the report of the match
    verdict    the result in words, at larger tables
    """

    match: int | None
    round: int
    seed: int
    interim: bool
    games: int
    a: str | None = None
    b: str | None = None
    score: float | None = None
    low: float | None = None
    high: float | None = None
    wins: int | None = None
    draws: int | None = None
    losses: int | None = None
    margin: MarginReport | None = None
    players: list[str] | None = None
    standings: list[dict[str, Any]] | None = None
    partners: list[dict[str, Any]] | None = None
    verdict: str | None = None


class TournamentReport(BaseModel):
    """The result of a tournament: its matches, and ratings by their games alone.

    env              the game
    env_options      its options
    planned_matches  number of matches of the plan
    interim          matches are missing
    matches          in the order of the plan
    rating           what the numbers are, in words
    objective        what they count
    unit             what follows each number
    model            that gave the ratings
    players          ordered by the lower end of the interval
    cycles           circles of players that beat each other
    cyclic_share     the part of the results that no rating can explain
    """

    env: str
    env_options: dict[str, AnyValue]
    planned_matches: int
    interim: bool
    matches: list[TournamentMatchBody]
    rating: str
    objective: ObjectiveKind
    unit: str
    model: WinModelBody | MarginModelBody
    players: list[EloRatedBody | MarginRatedBody | RatedBody]
    cycles: list[CircleBody]
    cyclic_share: CyclicShareBody


class PointsBody(BaseModel):
    """The game's own count of a player, such as goals.

    mean       over episodes
    low, high  an end of the 95 % interval of the mean, null where it has no bound
    min, max   of an episode
    """

    mean: float
    low: float | None
    high: float | None
    min: float
    max: float


class PlayerReturnsBody(BaseModel):
    """The returns of one player.

    player            that was measured
    mean_return       of its seats
    low, high         an end of the 95 % interval of the mean, null for one episode
    min_return        the least return of an episode
    max_return        the largest return of an episode
    points            null where the game counts none
    episodes          number of episodes
    planned           number of episodes that were planned
    mean_length       decisions of all seats in an episode
    length_deviation  standard deviation of the length
    seats             that the player took
    seats_together    all at once, instead of one after the other
    random_opponents  number of seats that `random` took
    errors            tries that the game spoiled by raising; they were played again
    env               the game
    env_options       its options
    seed              of the episodes
    greedy            the most likely actions were played
    interim           episodes are missing
    """

    player: PlayerReport
    mean_return: float
    low: float | None
    high: float | None
    min_return: float
    max_return: float
    points: PointsBody | None
    episodes: int
    planned: int
    mean_length: float
    length_deviation: float
    seats: list[str]
    seats_together: bool
    random_opponents: int
    errors: int
    env: str
    env_options: dict[str, AnyValue]
    seed: int
    greedy: bool
    interim: bool


class BesideBody(PlayerReturnsBody):
    """The returns of another player.

    lead  mean, low and high of how much more the first player returned on equal seeds; null where
          their episodes are not the same ones, or all leads are equal
    """

    lead: Annotated[list[float], Field(min_length=3, max_length=3)] | None


class ReturnsReportBody(PlayerReturnsBody):
    """The returns of the first player, and of the others.

    beside  the others, in the order named
    """

    beside: list[BesideBody]


class ComparisonReport(BaseModel):
    """The result of a comparison, from the side of A.

    comparison      its name
    verdict         of A, at 95 %
    objective       what decides
    score           of A over all seeds, from 0 to 1; null unless games won decide
    lead            of A over B a game; null where games won decide
    low, high       an end of the 95 % interval of what decides, null for one seed
    elo             of the score, null where it is not finite
    freedom         degrees of freedom of the interval, null for one seed
    spread_a        standard deviation between the trainings of A, null for one seed
    spread_b        the same of B
    scores          of each training of A (rows) against each of B; null unless games won decide
    leads           the same in leads; null where games won decide
    seeds           trainings of each config
    looks           numbers of seeds at which a result was computed
    frames          that each member trained
    games_per_pair  games behind each score or lead
    errors          games that raised
    env             the game
    differences     dotted key -> the value of A and that of B
    populations     side -> its populations, by seed
    """

    comparison: str
    verdict: Literal["better", "worse", "undecided"]
    objective: ObjectiveKind
    score: float | None
    lead: float | None
    low: float | None
    high: float | None
    elo: float | None
    freedom: float | None
    spread_a: float | None
    spread_b: float | None
    scores: list[list[float]] | None
    leads: list[list[float]] | None
    seeds: int
    looks: list[int]
    frames: int
    games_per_pair: int
    errors: int
    env: str
    differences: dict[str, Annotated[list[AnyValue], Field(min_length=2, max_length=2)]]
    populations: dict[str, list[str]]
