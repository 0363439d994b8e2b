"""What a job can be asked for."""

from typing import Annotated, Literal

from pydantic import AfterValidator, Field, RootModel

from api.http.json_values import plain
from api.open_values import ConfigTable
from api.routes.bodies import NAME_PATTERN, Body
from api.routes.evaluations import ENV, PLAYER
from arena.league.chain import SHORTEST_HEAD
from arena.matches.lengths import (
    EPISODES,
    MATCH_GAMES,
    MOST_GAMES,
    MOST_ROUNDS,
    MOST_SEEDS,
    TOURNAMENT_GAMES,
)
from pbt.objective import ObjectiveKind

VERIFIED = r"^(match:[0-9]{1,7}|[a-z0-9][a-z0-9_-]{0,63})$"
HEAD = rf"^[0-9a-f]{{{SHORTEST_HEAD},64}}$"
Player = Annotated[str, Field(pattern=PLAYER)]
Environment = Annotated[str, Field(pattern=ENV)] | None
Seed = Annotated[int, Field(ge=0, lt=2**31)]
Games = Annotated[int, Field(ge=1, le=MOST_GAMES)]


class VerificationBody(Body):
    """A verification, as `arena verify`.

    kind    of work
    name    a population, `match:12`, or `imported` for the imported snapshots
    head    a head of its chain that was published elsewhere, or its beginning; null: none
    replay  how many evaluation games, or games of a match, are played again; null: all
    """

    kind: Literal["verification"]
    name: Annotated[str, Field(pattern=VERIFIED)]
    head: Annotated[str, Field(pattern=HEAD)] | None = None
    replay: Annotated[int, Field(ge=0, le=10**9)] | None = None


class TournamentBody(Body):
    """A tournament, as `arena tournament`: every two players meet equally often.

    kind       of work
    players    as of an evaluation
    env        the game; needed only when none of the players was trained
    games      of each match, in pairs or blocks
    rounds     how many round robins, each with its own seeds
    seed       of the first round
    objective  what decides between the players; null: what their populations count in, or else what
               the game declares
    """

    kind: Literal["tournament"]
    players: Annotated[list[Player], Field(min_length=2, max_length=64)]
    env: Environment = None
    games: Games = TOURNAMENT_GAMES
    rounds: Annotated[int, Field(ge=1, le=MOST_ROUNDS)] = 1
    seed: Seed = 1
    objective: ObjectiveKind | None = None


class ReturnsBody(Body):
    """Returns of players, each measured over episodes by itself, as `arena evaluate`.

    kind       of work
    players    as of an evaluation; the others are measured over the same episodes as the first, and
               in its role
    env        the game; needed only when none of the players was trained
    episodes   of each player
    seed       of the episodes
    greedy     play the most likely actions instead of sampled ones
    objective  "return": a player takes all its seats at once; null: as of a tournament
    """

    kind: Literal["returns"]
    players: Annotated[list[Player], Field(min_length=1, max_length=64)]
    env: Environment = None
    episodes: Games = EPISODES
    seed: Seed = 1
    greedy: bool = False
    objective: ObjectiveKind | None = None


class ComparisonBody(Body):
    """A comparison of two configs, as `arena compare`.

    Both are trained with equal seeds, as the populations NAME-a1, NAME-b1, ..., one after the other
    in the place of one training; then all final players meet. The same request with more seeds goes
    on from what is there.

    kind    of work
    name    of the comparison
    a, b    the configs, as of a population
    frames  that each member trains
    seeds   trainings of each config
    games   between each training of A and each of B, at least
    """

    kind: Literal["comparison"]
    name: Annotated[str, Field(pattern=NAME_PATTERN, description="letters, digits, '-' and '_'")]
    a: Annotated[ConfigTable, AfterValidator(plain)]
    b: Annotated[ConfigTable, AfterValidator(plain)]
    frames: Annotated[int, Field(ge=1, lt=2**53)]
    seeds: Annotated[int, Field(ge=1, le=MOST_SEEDS)] = 3
    games: Annotated[int, Field(ge=2, le=MOST_GAMES)] = MATCH_GAMES


class NewJobBody(
    RootModel[
        Annotated[
            VerificationBody | TournamentBody | ReturnsBody | ComparisonBody,
            Field(discriminator="kind"),
        ]
    ]
):
    """Work to do; `kind` says which."""
