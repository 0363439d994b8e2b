"""Verification of PBT rounds: scores are recomputed from games, and directives from scores.

A row that was altered makes a stored value differ from the recomputed one.
"""

from collections.abc import Callable
from dataclasses import dataclass

from arena.league.database import League
from arena.league.game_rows import folded_through, training_score
from arena.league.stored_history import StoredRound, list_rounds
from pbt.errors import EngineError
from pbt.objective import ObjectiveKind
from pbt.population.pbt_decision import replay
from pbt.population.pbt_rules import PbtRules
from pbt.population.scores import Detail
from pbt.records import Against, MemberScore


@dataclass(frozen=True, slots=True)
class RoundCheck:
    """The check of one round.

    round       the round
    problems    what differs, in words
    folded      members whose scores cannot be recomputed, because their games were folded
    games_read  games counted for scores that no earlier round had needed
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
    """Checks every round that is not superseded, in order. Raises: PlayerError.

    observe  called with (rounds done, all rounds) before each
    """
    gone = folded_through(league, population)
    recomputed: dict[tuple[str, int, int, ObjectiveKind, Detail], MemberScore] = {}
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
            if key not in recomputed:
                recomputed[key] = training_score(league, population, *key)
                games_read += recomputed[key].games
            if recomputed[key] != score and 0 <= score.first_game <= (
                gone := folded_through(league, population)
            ):
                # A running training folded the games meanwhile.
                folded.append(score.member)
            elif recomputed[key] != score:
                problems.append(f"score of {score.member}: {_difference(score, recomputed[key])}")
        checks.append(
            RoundCheck(stored, (*problems, *replay(stored.record)), tuple(folded), games_read)
        )
    return checks


def _difference(stored: MemberScore, again: MemberScore) -> str:
    """The first difference: the mean and its games, their squares, or one opponent's part."""
    if _words(stored) != _words(again):
        return f"stored {_words(stored)}, recomputed {_words(again)}"
    if stored.squares != again.squares:
        return f"stored squares {stored.squares!r}, recomputed {again.squares!r}"
    parts, expected = (
        {part.opponent: _part_words(part) for part in score.against} for score in (stored, again)
    )
    differing = [
        opponent
        for opponent in sorted({*parts, *expected})
        if parts.get(opponent) != expected.get(opponent)
    ]
    if not differing:
        return "its opponents are stored twice, or in another order"
    opponent = differing[0]
    return (
        f"against {opponent}: stored {parts.get(opponent, 'nothing')}, recomputed "
        f"{expected.get(opponent, 'nothing')}"
    )


def _part_words(part: Against) -> str:
    squares = "" if part.squares is None else f", squares {part.squares!r}"
    return f"{part.points!r} of {part.games} games{squares}"


def _words(score: MemberScore) -> str:
    return f"{score.objective!r} over {score.games} games ({score.first_game} to {score.last_game})"
