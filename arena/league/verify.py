"""Verification of PBT rounds: scores are recomputed from games, and directives from scores.

The games of a score are those that the rule of windows names (`arena.league.score_windows`), not
those that the stored score claims. A row that was altered makes a stored value differ from the
recomputed one.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from arena.league.database import League
from arena.league.game_choice import GameFilter
from arena.league.game_rows import cut_through, population_games
from arena.league.populations import stored_config
from arena.league.score_windows import GameWindows, window_rule
from arena.league.stored_history import StoredRound, list_rounds
from pbt.config.stored import config_as_stored
from pbt.errors import EngineError
from pbt.objective import ObjectiveKind
from pbt.population.pbt_decision import replay
from pbt.population.pbt_rules import PbtRules
from pbt.records import Against, GameRecord, MemberScore


@dataclass(frozen=True, slots=True)
class RoundCheck:
    """The check of one round.

    round       the round
    problems    what differs, in words
    folded      members whose scores cannot be recomputed, because an earlier program folded their
                games
    games_read  training games that were read since the check before
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
    return _RoundsCheck(league, population).run(observe)


class _RoundsCheck:
    def __init__(self, league: League, population: str) -> None:
        self._league, self._population = league, population
        self._rounds = list_rounds(league, population)
        self._cut = cut_through(league, population)
        table = stored_config(league, population)
        config = config_as_stored(table, f"stored config of {population!r}")
        rule = window_rule(league, population, config)
        self._windows = GameWindows(rule, self._objectives())
        self._copies = Counter[str]()
        self._games = self._stored_games()
        self._next: GameRecord | None = next(self._games, None)

    def _objectives(self) -> set[ObjectiveKind]:
        """Those that the rounds were ranked by."""
        found: set[ObjectiveKind] = set()
        for stored in self._rounds:
            rules = _rules(stored)
            if isinstance(rules, PbtRules):
                found.add(rules.objective)
        return found

    def _stored_games(self) -> Iterator[GameRecord]:
        scored = GameFilter("training", voided=False)
        return (game.record for game in population_games(self._league, self._population, scored))

    def run(self, observe: Callable[[int, int], object]) -> list[RoundCheck]:
        checks: list[RoundCheck] = []
        for stored in self._rounds:
            observe(len(checks), len(self._rounds))
            checks.append(self._check(stored))
            if stored.record.directive.copy_from is not None:
                self._copies[stored.record.member] += 1
        return checks

    def _check(self, stored: StoredRound) -> RoundCheck:
        before, problems, folded = self._windows.added, [], []
        while self._next is not None and self._next.number <= stored.after_game:
            self._windows.add(self._next)
            self._next = next(self._games, None)
        rules = _rules(stored)
        if isinstance(rules, EngineError):
            return RoundCheck(stored, (f"cannot be replayed: {rules}",), (), 0)
        for score in stored.record.scores:
            if 0 <= score.first_game <= self._cut:
                folded.append(score.member)
                continue
            again = self._windows.score(
                score,
                self._copies[score.member],
                rules.objective,
                rules.detail,
                stored.incarnation,
            )
            if again != score:
                problems.append(f"score of {score.member}: {_difference(score, again)}")
        return RoundCheck(
            stored,
            (*problems, *replay(stored.record)),
            tuple(folded),
            self._windows.added - before,
        )


def _rules(stored: StoredRound) -> PbtRules | EngineError:
    """The rules of a round, or why they are none."""
    try:
        return PbtRules.from_mapping(stored.record.rules)
    except EngineError as error:
        return error


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
