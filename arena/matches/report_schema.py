"""The report of a match for programs: one pydantic model; its JSON Schema is
docs/schemas/match.json.

Fractions are of 1; numbers are finite or null. In a report of two, everything without a name is
said of `a`.
"""

import json
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, RootModel

Share = Annotated[float, Field(ge=0.0, le=1.0)]
Count = Annotated[int, Field(ge=0)]


class _Report(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class PlayerReport(_Report):
    """Who it was, exactly: `id` is a snapshot's whole id, or the name of a scripted player or a
    guest.
    """

    name: str
    kind: str
    id: str
    population: str | None
    member: str | None
    role: str | None
    frames: int | None


class TallyReport(_Report):
    wins: Count
    draws: Count
    losses: Count


class MeasureReport(_Report):
    """low, high: 95 % interval."""

    value: float
    low: float
    high: float


class ReturnsReport(_Report):
    """Games of one seat. lead: how much more `a` returned on the same seed, [mean, low, high];
    null when all leads are equal.
    """

    mean_a: float
    mean_b: float
    mean_lead: float
    lead: MeasureReport | None


class SprtReport(_Report):
    """looked_at: pairs (games, where nothing is paired), in the order planned, up to the
    decision.
    """

    elo0: float
    elo1: float
    alpha: float
    beta: float
    model: Literal["normalised", "logistic"]
    llr: float
    lower: float
    upper: float
    state: Literal["continue", "accept H0", "accept H1"]
    looked_at: Count


class AssertionReport(_Report):
    """holds: null where a sequential test did not decide."""

    text: str
    holds: bool | None


class _MatchReport(_Report):
    """What every match says.

    games         that count;  planned: at most
    distinct      different games among them, by their actions
    lengths       decisions of all seats
    errors        tries the environment spoiled, played again;  forfeits: games lost by a program's
                  fault
    games_per_s   of those played now; null when all were stored
    resume        the command that goes on with it; null when nothing is left to play, or nothing
                  was recorded
    """

    env: str
    env_options: dict[str, Any]
    seed: int
    greedy: bool
    opening_plies: Count
    paired: bool
    games: Count
    planned: Count
    interim: bool
    distinct: Count
    mean_length: float
    length_deviation: float
    errors: Count
    forfeits: Count
    games_per_s: float | None
    match: int | None
    resume: str | None
    verdict: str
    notes: tuple[str, ...]


class DuelReport(_MatchReport):
    """Two players.

    interval     what low and high are from: "pairs" or "games"
    elo, nelo    null where the score has no finite one; their ends likewise
    los          likelihood of superiority;  biased: a sequential test chose when to stop, so that
                 score and Elo lean its way
    pair_counts  pairs by points of `a`: 0, 0.5, 1, 1.5, 2;  even_pairs: those worth 1: [each won
                 once, both drawn]
    as_first, as_second  games of `a` in the first seat and in the other;  first_against_second: of
                         whoever held the first
    halving_games  how many games would halve the interval
    """

    kind: Literal["duel"] = "duel"
    a: PlayerReport
    b: PlayerReport
    score: Share
    low: Share
    high: Share
    interval: Literal["pairs", "games"]
    elo: float | None
    elo_low: float | None
    elo_high: float | None
    nelo: float | None
    nelo_low: float | None
    nelo_high: float | None
    los: Share
    biased: bool
    wins: Count
    draws: Count
    losses: Count
    points: float
    pair_counts: tuple[Count, Count, Count, Count, Count] | None
    even_pairs: tuple[Count, Count] | None
    as_first: TallyReport
    as_second: TallyReport
    first_against_second: TallyReport
    returns: ReturnsReport | None
    stronger: Literal["a", "b"] | None
    halving_games: Count
    sprt: SprtReport | None
    assertions: tuple[AssertionReport, ...]


class StandingReport(_Report):
    """mean_place  1 is best;  place_points: share of opponents left behind, 1 = always first;
    first: share of games won
    places         games by place, those tied spread evenly
    rating         Elo by Plackett-Luce, with its 95 % interval; null where nothing connects the
                   player to the anchor
    """

    player: PlayerReport
    mean_place: MeasureReport
    place_points: MeasureReport
    first: MeasureReport
    places: tuple[float, ...]
    rating: MeasureReport | None


class TableReport(_MatchReport):
    """More than two at a table. standings: best first;  anchor: whose rating is 0
    score  [player][opponent], in the order of the standings: how often one came before the other;
           null on the diagonal
    blocks  of one seed with the seats rotated, the unit of evidence
    """

    kind: Literal["table"] = "table"
    blocks: Count
    anchor: str
    standings: tuple[StandingReport, ...]
    score: tuple[tuple[MeasureReport | None, ...], ...]


class MatchReport(RootModel[Annotated[DuelReport | TableReport, Field(discriminator="kind")]]):
    """What `arena match --json` prints."""


def schema_text() -> str:
    """The contents of docs/schemas/match.json."""
    schema = MatchReport.model_json_schema(mode="serialization")
    return (
        json.dumps(
            {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema},
            indent=2,
            ensure_ascii=False,
        )
        + "\n"
    )


if __name__ == "__main__":
    print(schema_text(), end="")
