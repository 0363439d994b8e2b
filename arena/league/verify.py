"""Recomputing what PBT decided: scores from game rows, then directives from scores. A row that
was altered makes it disagree.
"""

from collections.abc import Callable
from dataclasses import dataclass

from arena.league.database import League
from arena.league.game_rows import folded_through, training_score
from arena.league.queries import StoredRound, list_rounds
from pbt.errors import EngineError
from pbt.population.decide import replay
from pbt.population.rules import PbtRules
from pbt.population.scores import Detail, Objective
from pbt.records import MemberScore


@dataclass(frozen=True, slots=True)
class RoundCheck:
    """problems: what disagrees, in words;  folded: members whose scores cannot be recomputed any
    more, their games having become counts

    games_read: counted for scores that no earlier round had recomputed already
    """

    round: StoredRound
    problems: tuple[str, ...]
    folded: tuple[str, ...]
    games_read: int


def verify_rounds(
    league: League,
    population: str,
    observe: Callable[[int, int], object] = lambda done, total: None,
) -> list[RoundCheck]:
    """Every round that stands (superseded ones were taken back), in order. observe: told (rounds
    done, of all) after each. Raises: PlayerError.
    """
    gone = folded_through(league, population)
    known: dict[tuple[str, int, int, Objective, Detail], MemberScore] = {}
    checks: list[RoundCheck] = []
    rounds = list_rounds(league, population)
    for stored in rounds:
        observe(len(checks), len(rounds))
        problems, folded, games_read = [], [], 0
        try:
            rules = PbtRules.from_mapping(stored.record.rules)
        except EngineError as error:
            checks.append(RoundCheck(stored, (f"cannot be replayed: {error}",), (), 0))
            continue
        for score in stored.record.scores:
            if 0 <= score.first_game <= gone:
                folded.append(score.member)
                continue
            key = (score.member, score.first_game, score.last_game, rules.objective, rules.detail)
            if key not in known:
                known[key] = training_score(league, population, *key)
                games_read += known[key].games
            if known[key] != score and 0 <= score.first_game <= (
                gone := folded_through(league, population)
            ):
                # A running training folded them meanwhile.
                folded.append(score.member)
            elif known[key] != score:
                problems.append(f"score of {score.member}: {_difference(score, known[key])}")
        checks.append(
            RoundCheck(stored, (*problems, *replay(stored.record)), tuple(folded), games_read)
        )
    return checks


def _difference(stored: MemberScore, again: MemberScore) -> str:
    """The first of what differs: the mean and its games, their squares, an opponent's part of
    them.
    """
    if _words(stored) != _words(again):
        return f"stored {_words(stored)}, recomputed {_words(again)}"
    if stored.squares != again.squares:
        return f"stored squares {stored.squares!r}, recomputed {again.squares!r}"
    found, expected = (
        {part.opponent: f"{part.points:g} of {part.games} games" for part in score.against}
        for score in (stored, again)
    )
    differing = [
        opponent
        for opponent in sorted({*found, *expected})
        if found.get(opponent) != expected.get(opponent)
    ]
    if not differing:
        return "its opponents are stored twice, or in another order"
    opponent = differing[0]
    return (
        f"against {opponent}: stored {found.get(opponent, 'nothing')}, recomputed "
        f"{expected.get(opponent, 'nothing')}"
    )


def _words(score: MemberScore) -> str:
    return f"{score.objective!r} over {score.games} games ({score.first_game} to {score.last_game})"
