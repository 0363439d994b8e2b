"""The report of a match for programs, as a pydantic model.

Its JSON Schema is docs/schemas/match.json. Fractions are of 1; numbers are finite or null. In the
report of a duel, every number that names no player is about `a`.
"""

import json
from typing import Annotated, Any, Literal

from pydantic import Field, RootModel

from arena.matches.report_parts import (
    AssertionReport,
    Count,
    EstimateReport,
    MarginReport,
    MeasureReport,
    PlayerReport,
    ReportPart,
    ReturnsReport,
    Share,
    SprtReport,
    TallyReport,
)


class _MatchReport(ReportPart):
    """The part of a report that every match has.

    env               the game
    env_options       its options
    objective         what decides between the players: games won, margins or returns
    seating           what the games of a block are: `arena.matches.seating.Kind`
    seed              of the match
    greedy            players took their most likely actions
    opening_plies     random plies at the beginning of each game
    paired            every seed was played in all seats
    games             number of games that count
    planned           number of games at most
    interim           fewer games than planned were played
    distinct          number of different games among them, by their actions
    mean_length       of a game, in decisions of all seats
    length_deviation  standard deviation of the length
    errors            tries that the environment spoiled; they were played again
    forfeits          games that were lost by a program's fault
    games_per_s       of the games played by this call; null when all were stored
    match             number in the league; null when it was not recorded
    head              head of the match's chain, which stands for all its games; null when it was
                      not recorded
    resume            the command that goes on with the match; null when nothing is left to play, or
                      nothing was recorded
    verdict           one sentence
    notes             what makes the numbers doubtful
    """

    env: str
    env_options: dict[str, Any]
    objective: Literal["win", "margin", "return"]
    seating: Literal["alone", "turns", "fixed", "copies", "groups", "roles", "partners"]
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
    head: str | None
    resume: str | None
    verdict: str
    notes: tuple[str, ...]


class DuelReport(_MatchReport):
    """The report of a match of two players.

    kind                  of report
    a                     the first player
    b                     the second player
    score                 (wins + draws / 2) / games
    low                   lower end of the score's 95 % interval
    high                  upper end of the score's 95 % interval
    interval              what the interval is: for a fixed number of games, computed from "pairs"
                          or from "games"; or a confidence "sequence", which holds at any stop, of a
                          match with a sequential test
    elo                   of the score; null where the score has no finite one
    elo_low               lower end of its 95 % interval; null as elo
    elo_high              upper end of its 95 % interval; null as elo
    nelo                  normalised Elo; null below 50 pairs (games, where nothing is paired),
                          where all pairs are alike, and in a match with a sequential test
    nelo_low              lower end of its 95 % interval; null as nelo, or where it has no bound
    nelo_high             upper end of its 95 % interval; null as nelo, or where it has no bound
    los                   likelihood of superiority: the probability that `a` is the stronger one;
                          null in a match with a sequential test
    no_los                why los is null; null where it is not
    biased                a sequential test chose when to stop, so score and Elo lean its way
                          (their intervals hold all the same)
    wins                  number of games that `a` won
    draws                 number of drawn games
    losses                number of games that `a` lost
    points                wins + draws / 2
    pair_counts           number of pairs by points of `a`: 0, 0.5, 1, 1.5, 2
    even_pairs            of the pairs worth 1 point: [each won once, both drawn]
    as_first              games of `a` in the first seat
    as_second             games of `a` in the second seat
    first_against_second  games from the side of the player in the first seat
    returns               in games of one seat, else null
    margin                where margins decide, else null
    stronger              by the interval of the margin where margins decide, else of the score;
                          null for neither
    halving_games         number of games that would halve the interval
    sprt                  the sequential test; null without one
    assertions            as the caller gave them
    """

    kind: Literal["duel"] = "duel"
    a: PlayerReport
    b: PlayerReport
    score: Share
    low: Share
    high: Share
    interval: Literal["pairs", "games", "sequence"]
    elo: float | None
    elo_low: float | None
    elo_high: float | None
    nelo: float | None
    nelo_low: float | None
    nelo_high: float | None
    los: Share | None
    no_los: str | None
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
    margin: MarginReport | None
    stronger: Literal["a", "b"] | None
    halving_games: Count
    sprt: SprtReport | None
    assertions: tuple[AssertionReport, ...]


class StandingReport(ReportPart):
    """One player's standing at larger tables, or among more than two players.

    A player in several seats of a game counts with the mean over its seats.

    player        the player
    role          of the seats that are counted here; null in games with one role
    mean_place    1 is best
    place_points  share of the other seats left behind; 1 is always first
    first         share of games that a seat of the player won
    places        number of games by place; a tie counts in equal parts for each place it covers
    mean_return   mean return of a seat
    rating        Elo by Plackett-Luce, with its 95 % interval; null where no games connect the
                  player to the anchor of its role
    """

    player: PlayerReport
    role: str | None
    mean_place: MeasureReport
    place_points: MeasureReport
    first: MeasureReport
    places: tuple[float, ...]
    mean_return: EstimateReport
    rating: MeasureReport | None


class LeadReport(ReportPart):
    """How much better one player did than another one in the same seats on the same seeds.

    ahead   number of the better one in `standings`
    behind  number of the other one in `standings`
    lead    in `unit`
    unit    places, or returns where they count
    """

    ahead: Count
    behind: Count
    lead: EstimateReport
    unit: Literal["places", "return"]


class TableReport(_MatchReport):
    """The report of a match at larger tables, or of more than two players.

    kind            of report
    blocks          number of blocks, the unit of evidence: games of one seed that seat every player
                    in each seat that it can take
    anchor          name of the player whose rating is 0; null where seats have several roles
    anchor_by_role  role -> the same in that role; empty where seats have one role
    standings       role by role, the best mean place first, or where returns count the highest mean
                    return; ratings, too, compare players of one role
    score           [player][opponent] in the order of the standings: how often the player came
                    before the opponent; null on the diagonal, and where they never met
    leads           of players of one role, where copies of one player fill all seats of a role
    """

    kind: Literal["table"] = "table"
    blocks: Count
    anchor: str | None
    anchor_by_role: dict[str, str]
    standings: tuple[StandingReport, ...]
    score: tuple[tuple[MeasureReport | None, ...], ...]
    leads: tuple[LeadReport, ...]


class PartnerReport(ReportPart):
    """One player's returns with itself and with the others.

    player      the player
    self_play   mean return of a seat, with itself in all seats
    cross_play  the same with the other players, each counting the same
    gap         self_play - cross_play, on the same seeds
    with_each   with each player, in the order named
    """

    player: PlayerReport
    self_play: EstimateReport
    cross_play: EstimateReport
    gap: EstimateReport
    with_each: tuple[EstimateReport, ...]


class PartnersReport(_MatchReport):
    """The report of a match in which returns count, such as of a cooperative game.

    kind        of report
    blocks      number of blocks of games on one seed, the unit of evidence
    players     in the order named
    self_play   mean over the players
    cross_play  mean over all ordered pairs of different players
    gap         self_play - cross_play, on the same seeds
    """

    kind: Literal["partners"] = "partners"
    blocks: Count
    players: tuple[PartnerReport, ...]
    self_play: EstimateReport
    cross_play: EstimateReport
    gap: EstimateReport


AnyReport = DuelReport | TableReport | PartnersReport


class MatchReport(RootModel[Annotated[AnyReport, Field(discriminator="kind")]]):
    """The report that `arena match --json` prints."""


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
