"""Measures returns over games with random actions, and proposes an objective for the game."""

from collections.abc import Sequence
from dataclasses import dataclass

from pbt.envs.contract import (
    EnvSpec,
    Game,
    Outcome,
    Sharing,
    declared_objective,
    ranking_from_scores,
)
from pbt.envs.testing.playthrough import Playthrough, Referee, play
from pbt.objective import ObjectiveKind, all_equal, sums_to_zero

# A look before a training: this many games of at most this many steps.
PROBE_GAMES = 5
PROBE_STEPS = 500
# Returns that differ by less than this share are one size.
_ONE_SIZE = 1e-4
# Adapters rank returns rounded to this many digits.
_DIGITS = 9


@dataclass(frozen=True)
class MeasuredReturns:
    """What was counted over finished games.

    seats        of one game
    games        finished games
    level        games in which all seats shared the first place
    shared       games in which all seats had the same return, and the first place together
    zero_sum     games in which the returns of all seats summed to 0
    own_places   games whose places were not those of the returns: the game declared others
    returns      (smallest, largest) return of any seat; None without games
    gains        (smallest, largest) return of the best seat, over games that were not level; None
                 where all were
    """

    seats: int
    games: int
    level: int
    shared: int
    zero_sum: int
    own_places: int
    returns: tuple[float, float] | None
    gains: tuple[float, float] | None

    @property
    def silent(self) -> bool:
        """Whether nothing was ever gained or lost, so that random actions do not tell."""
        return self.returns in (None, (0.0, 0.0)) and self.level == self.games

    @property
    def all_shared(self) -> bool:
        return self.shared == self.games and not self.silent

    @property
    def all_zero_sum(self) -> bool:
        return self.zero_sum == self.games and not self.silent

    @property
    def proposed(self) -> ObjectiveKind | None:
        """The objective that follows; None where the games do not tell."""
        if self.seats == 1:
            return "return"
        if self.silent:
            return None
        if self.own_places:
            return "win"
        if self.all_zero_sum and self.gains is not None:
            least, most = self.gains
            return "win" if most - least <= _ONE_SIZE * most else "margin"
        return "return"

    def words(self) -> str:
        """The measurement in words."""
        if not self.games:
            return "no game came to its end"
        of, returns = f"of {self.games} games", _range(self.returns)
        if self.seats == 1:
            return f"one seat, with returns of {returns}"
        if self.silent:
            return f"all seats returned 0 in {self.games} {of}, which does not tell"
        if self.all_shared:
            return f"all seats had one return in {self.shared} {of}, {returns}"
        summed = f"returns summed to 0 in {self.zero_sum} {of}"
        if self.own_places:
            return f"the game's places were not those of the returns in {self.own_places} {of}"
        if self.all_zero_sum and self.gains is not None:
            return f"{summed}, sizes {_range(self.gains)}"
        return f"{summed}, and all seats had one return in {self.shared} {of}"

    def contradiction(self, objective: ObjectiveKind, *, one_role: bool) -> str | None:
        """What speaks against an objective, with what was expected; None: nothing.

        Games of one seat have returns, whatever is declared for more seats.

        one_role  whether all seats play one role, so that a player sits with itself in all of them
        """
        if self.seats == 1:
            return None
        if objective == "win" and self.all_shared:
            return f"{self.words()}; expected a seat that comes first: every place is shared"
        if objective == "margin" and self.zero_sum < self.games:
            return f"{self.words()}; expected 0 in every game"
        if objective == "return" and one_role and self.all_zero_sum:
            return (
                f"{self.words()}; expected games in which players can gain together: with itself "
                "in all seats every player returns 0, however strong it is"
            )
        return None


def measure_returns(games: Sequence[Playthrough]) -> MeasuredReturns:
    """Count over the games that came to their end. All are of one game, with the same seats."""
    ended = [(game.outcome, game.returns) for game in games if game.outcome is not None]
    every = [value for _, returns in ended for value in returns]
    gains = [max(returns) for outcome, returns in ended if not _level(outcome)]
    return MeasuredReturns(
        seats=len(games[0].returns) if games else 0,
        games=len(ended),
        level=sum(_level(outcome) for outcome, _ in ended),
        shared=sum(_level(outcome) and all_equal(returns) for outcome, returns in ended),
        zero_sum=sum(sums_to_zero(returns) for _, returns in ended),
        own_places=sum(
            tuple(outcome.ranking) != ranking_from_scores([round(one, _DIGITS) for one in returns])
            for outcome, returns in ended
        ),
        returns=(min(every), max(every)) if every else None,
        gains=(min(gains), max(gains)) if gains else None,
    )


@dataclass(frozen=True)
class ObjectiveJudgement:
    """What was found about an objective before a training or a match.

    objective  the objective
    reason     why the game has no such objective; None: nothing speaks against it
    hint       why a game that declares none may have another; None: nothing suggests it
    better     the objective that the reason or the hint speaks for
    """

    objective: ObjectiveKind
    reason: str | None = None
    hint: str | None = None
    better: ObjectiveKind | None = None

    @property
    def problem(self) -> str | None:
        """The setting of a config with the reason against it, None without one."""
        return None if self.reason is None else f'env.objective = "{self.objective}": {self.reason}'


def judge_objective(env: EnvSpec, game: Game, objective: ObjectiveKind) -> ObjectiveJudgement:
    """Judge an objective by the game's rules, or by a few games at this table.

    What a game declares is believed, and one seat has returns.
    """
    declared, roles = declared_objective(env, game), game.seat_roles
    if objective == declared or (objective == "return" and len(roles) == 1):
        return ObjectiveJudgement(objective)
    if objective == "win" and isinstance(game, Sharing) and game.shares_rewards():
        rule = "by its rules all seats of this game share one return, so none comes first"
        return ObjectiveJudgement(objective, rule, better="return")
    referee = Referee(game)
    seen = measure_returns(
        [play(referee, env.name, seed, seed, PROBE_STEPS) for seed in range(PROBE_GAMES)]
    )
    if reason := seen.contradiction(objective, one_role=len(set(roles)) == 1):
        return ObjectiveJudgement(objective, reason, better=declared or seen.proposed or "return")
    if declared is None and objective != "return" and seen.proposed not in (None, objective):
        hint = f'env.objective = "{objective}", and {seen.words()}'
        return ObjectiveJudgement(objective, hint=hint, better=seen.proposed)
    return ObjectiveJudgement(objective)


def _level(outcome: Outcome) -> bool:
    return not any(outcome.ranking)


def _range(ends: tuple[float, float] | None) -> str:
    if ends is None:
        return "none"
    low, high = ends
    return f"{low:.4g}" if high - low <= _ONE_SIZE * abs(high) else f"{low:.4g} to {high:.4g}"
