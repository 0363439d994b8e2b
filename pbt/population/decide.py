"""One PBT decision, pure: who copies whom, and what mutates (Jaderberg et al. 2017; Petrenko et al.
2020, section A.3.1).

Randomness comes from generator(run seed, "pbt", member, round) alone, in one fixed order: one
number for the donor, then two for each value (does it mutate; up or down), the values in the order
learning_rate, entropy_coef, adam_beta1, shaping terms by name. All are drawn, used or not, so what
happens to one value never depends on another. Every number is a plain float: a decision replayed
from stored JSON is the same to the last bit.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from fractions import Fraction
from typing import Self

import numpy as np

from pbt.config.population import Opponents, PbtConfig
from pbt.errors import EngineError
from pbt.hyperparams import SHAPING_PREFIX
from pbt.population.comparison import compare, standings
from pbt.population.scores import Detail, Objective, as_objective
from pbt.records import Directive, MemberScore, RoundRecord
from pbt.seeding import generator

FIRST_VALUES = ("learning_rate", "entropy_coef", "adam_beta1")
SELF_PLAY_COPY_GAP = 0.35
# What rounds went by that were decided before there was a choice; 1.0: any gap is significant
# enough.
EARLIER_RULES: Mapping[str, float | str] = {"opponents": "all", "copy_significance": 1.0}
OBJECTIVE_WORDS: Mapping[Objective, str] = {"wins": "win rate", "return": "return"}


@dataclass(frozen=True)
class PbtRules:
    """The rules of one round, flat so that they can be stored beside it. copy_gap is resolved;
    *_low and *_high bound what mutation may reach.

    opponents: "all" where the objective is the return;  copy_significance: 1.0 without a gate
    """

    objective: Objective
    opponents: Opponents
    min_games: int
    top_share: float
    copy_gap: float
    mutation_probability: float
    mutation_factor: float
    learning_rate_low: float
    learning_rate_high: float
    entropy_coef_low: float
    entropy_coef_high: float
    one_minus_adam_beta1_low: float
    one_minus_adam_beta1_high: float
    shaping_low: float
    shaping_high: float
    copy_significance: float

    @property
    def detail(self) -> Detail:
        """What a score must hold for these rules."""
        if self.opponents == "common":
            return "against"
        return "squares" if self.objective == "return" and self.copy_significance < 1.0 else "plain"

    @classmethod
    def from_config(cls, config: PbtConfig, objective: Objective) -> Self:
        gap = config.copy_gap
        if gap is None:
            gap = SELF_PLAY_COPY_GAP if objective == "wins" else 0.0
        bounds = (
            config.learning_rate_bounds,
            config.entropy_coef_bounds,
            config.one_minus_adam_beta1_bounds,
            config.shaping_bounds,
        )
        significance = 1.0 if config.copy_significance is None else config.copy_significance
        opponents: Opponents = config.opponents if objective == "wins" else "all"
        plain = (
            config.top_share,
            gap,
            config.mutation_probability,
            config.mutation_factor,
            *(end for pair in bounds for end in pair),
            significance,
        )
        return cls(objective, opponents, config.min_games, *map(float, plain))

    def to_mapping(self) -> dict[str, float | int | str | bool | list[str]]:
        """For RoundRecord.rules."""
        return asdict(self)

    @classmethod
    def from_mapping(cls, stored: Mapping[str, object]) -> Self:
        """Raises: EngineError naming what is missing, unknown or no number."""
        stored = {**EARLIER_RULES, **stored}
        names = [field.name for field in fields(cls)]
        if set(stored) != set(names):
            raise EngineError(
                f"rules: missing {sorted(set(names) - set(stored))}, unknown "
                f"{sorted(set(stored) - set(names))}"
            )
        numbers: list[float] = []
        for name in names[3:]:
            value = stored[name]
            if (
                isinstance(value, bool)
                or not isinstance(value, int | float)
                or not math.isfinite(value)
            ):
                raise EngineError(f"rules.{name} = {value!r}: expected a finite number")
            numbers.append(float(value))
        games = stored["min_games"]
        if isinstance(games, bool) or not isinstance(games, int):
            raise EngineError(f"rules.min_games = {games!r}: expected an integer")
        opponents = stored["opponents"]
        if opponents != "all" and opponents != "common":
            raise EngineError(f'rules.opponents = {opponents!r}: expected "all" or "common"')
        return cls(as_objective(stored["objective"]), opponents, games, *numbers)


@dataclass(frozen=True)
class Decision:
    """copy_from: whose weights to take, None to keep one's own; hyperparams: the full flat set
    afterwards; mutated: what mutation changed of it.
    """

    copy_from: str | None
    hyperparams: Mapping[str, float]
    mutated: tuple[str, ...]
    verdict: str

    def directive(self, member: str, round: int, copy_snapshot: str | None) -> Directive:
        """copy_snapshot: the stored snapshot of `copy_from` (the caller knows it), None without
        a copy.
        """
        if (copy_snapshot is None) != (self.copy_from is None):
            raise EngineError(
                f"round {round} of {member}: copy from {self.copy_from} with snapshot "
                f"{copy_snapshot}; expected both or neither"
            )
        return Directive(
            member, round, self.copy_from, copy_snapshot, self.hyperparams, self.mutated
        )


def next_due(frames: int, period_frames: int, warmup_frames: int = 0) -> int:
    """The clock at which the next round is due: the first multiple of the period behind
    `frames`, and at or behind the warm-up.
    """
    return period_frames * max(frames // period_frames + 1, -(-warmup_frames // period_frames))


def top_count(ranked: int, top_share: float) -> int:
    """k: ceil(top_share x ranked), at most half. Exact decimal arithmetic: 0.07 x 100 is 7, not
    7.000000000000001.
    """
    return min(math.ceil(Fraction(repr(top_share)) * ranked), ranked // 2)


def rank(scores: Sequence[MemberScore], rules: PbtRules) -> list[MemberScore]:
    """Members with enough games, best first, by objective or by their mean gap to the others
    over common opponents; equals are ordered by name.
    """
    enough = [score for score in scores if score.games >= rules.min_games]
    worth = (
        standings(enough, rules.objective)
        if rules.opponents == "common"
        else {score.member: score.objective for score in enough}
    )
    return sorted(enough, key=lambda score: (-worth[score.member], score.member))


def decide(
    member: str,
    round: int,
    frames: int,
    scores: Sequence[MemberScore],
    hyperparams: Mapping[str, Mapping[str, float]],
    rules: PbtRules,
    seed: int,
) -> Decision:
    """What `member` does at its round.

    frames       the member's clock, stated in the verdict
    scores       of every member of the member's role, itself included;  hyperparams: of the same
                 members, flat
    seed         the run seed

    Ranked members in the top k keep everything, the others mutate; those in the bottom k first copy
    a random one of the top k if it is ahead by at least `copy_gap`. Fewer than 3 ranked: nobody
    copies. Raises: EngineError when the inputs contradict each other.
    """
    own = _checked(member, scores, hyperparams)
    if own.games < rules.min_games:
        return Decision(
            None,
            _plain(hyperparams[member]),
            (),
            f"not ranked: {own.games} games < {rules.min_games} at {frames} frames",
        )
    ranked = rank(scores, rules)
    place, top = ranked.index(own), top_count(len(ranked), rules.top_share)
    objective = f"{OBJECTIVE_WORDS[rules.objective]} {own.objective:.6g} over {own.games} games"
    if rules.opponents == "common":
        objective += f", {standings(ranked, rules.objective)[member]:+.6g} on common opponents"
    standing = f"rank {place + 1} of {len(ranked)} at {frames} frames, {objective}"
    if place < top:
        return Decision(
            None, _plain(hyperparams[member]), (), f"{standing}: among the top {top}, kept as it is"
        )
    rng = generator(seed, "pbt", member, round)
    donor, reason = _donor(ranked, place, top, rules, rng.random())
    before = _plain(hyperparams[donor or member])
    after = _mutate(before, rules, rng)
    mutated = tuple(name for name in _in_order(before) if after[name] != before[name])
    changes = ", ".join(f"{name} {before[name]:.6g} -> {after[name]:.6g}" for name in mutated)
    return Decision(
        donor,
        after,
        mutated,
        f"{standing}: {reason}; " + (f"mutates {changes}" if mutated else "nothing mutates"),
    )


def _donor(
    ranked: Sequence[MemberScore], place: int, top: int, rules: PbtRules, draw: float
) -> tuple[str | None, str]:
    """Whom the member at `place` copies (None: nobody) and why; draw: uniform in [0, 1)."""
    if len(ranked) < 3:
        return None, "too few ranked to copy"
    if place < len(ranked) - top:
        return None, f"outside the top {top} and the bottom {top}"
    donor = ranked[int(draw * top)]
    gap = compare(donor, ranked[place], rules.objective)
    common = (
        f" on {gap.opponents} common opponent{'s' * (gap.opponents != 1)}" if gap.opponents else ""
    )
    compared = (
        f"{donor.member} ({OBJECTIVE_WORDS[rules.objective]} {donor.objective:.6g}), "
        f"ahead by {gap.ahead:.6g}{common}"
    )
    if gap.ahead < rules.copy_gap:
        return None, f"does not copy {compared} < {rules.copy_gap:.6g}"
    if gap.p > rules.copy_significance:
        return (
            None,
            (
                f"does not copy {compared} >= {rules.copy_gap:.6g}, which may be chance: p = "
                f"{gap.p:.3g} > {rules.copy_significance:.6g}"
            ),
        )
    gate = (
        f", p = {gap.p:.3g} <= {rules.copy_significance:.6g}"
        if rules.copy_significance < 1.0
        else ""
    )
    return donor.member, f"copies {compared} >= {rules.copy_gap:.6g}{gate}"


def replay(round: RoundRecord) -> list[str]:
    """Decide again from what a round stored; every difference in words, [] when it agrees."""
    try:
        rules = PbtRules.from_mapping(round.rules)
        again = decide(
            round.member,
            round.round,
            round.frames,
            round.scores,
            round.hyperparams,
            rules,
            round.seed,
        )
    except EngineError as error:
        return [f"cannot be replayed: {error}"]
    stored = round.directive
    pairs = [
        ("directive.member", stored.member, round.member),
        ("directive.round", stored.round, round.round),
        ("copy_from", stored.copy_from, again.copy_from),
        ("a snapshot to copy", stored.copy_snapshot is not None, again.copy_from is not None),
        ("mutated", tuple(stored.mutated), again.mutated),
        ("verdict", round.verdict, again.verdict),
    ]
    names = sorted({*stored.hyperparams, *again.hyperparams})
    pairs += [
        (f"hyperparams.{name}", stored.hyperparams.get(name), again.hyperparams.get(name))
        for name in names
    ]
    return [
        f"{name}: stored {found!r}, replayed {expected!r}"
        for name, found, expected in pairs
        if found != expected
    ]


def _checked(
    member: str, scores: Sequence[MemberScore], hyperparams: Mapping[str, Mapping[str, float]]
) -> MemberScore:
    """The member's own score, after checking that every score is usable."""
    by_name = {score.member: score for score in scores}
    if len(by_name) != len(scores) or member not in by_name:
        raise EngineError(
            f"scores of {[score.member for score in scores]}: expected each member once, "
            f"{member} among them"
        )
    for score in scores:
        if not math.isfinite(score.objective):
            raise EngineError(
                f"score of {score.member} = {score.objective}: expected a finite number"
            )
        if score.member not in hyperparams:
            raise EngineError(
                f"hyperparams of {score.member} are missing; found those of {sorted(hyperparams)}"
            )
    return by_name[member]


def _plain(values: Mapping[str, float]) -> dict[str, float]:
    return {name: float(value) for name, value in values.items()}


def _in_order(values: Mapping[str, float]) -> list[str]:
    """Names in the order in which randomness is drawn. Raises: EngineError on a name without a
    mutation rule.
    """
    shaping = sorted(name for name in values if name.startswith(SHAPING_PREFIX))
    first = [name for name in FIRST_VALUES if name in values]
    if len(first) + len(shaping) != len(values):
        raise EngineError(
            f"hyperparams {sorted(values)}: expected {', '.join(FIRST_VALUES)} and "
            f"{SHAPING_PREFIX}TERM only"
        )
    return first + shaping


def _mutate(
    values: Mapping[str, float], rules: PbtRules, rng: np.random.Generator
) -> dict[str, float]:
    after = {}
    for name in _in_order(values):
        happens, direction = rng.random() < rules.mutation_probability, rng.random()
        after[name] = (
            _scaled(name, values[name], direction < 0.5, rules) if happens else values[name]
        )
    return after


def _scaled(name: str, value: float, up: bool, rules: PbtRules) -> float:
    """The value times or divided by the factor, inside its bounds. Zero means "switched off" and
    stays; a negative weight keeps its sign.
    """
    if value == 0.0:
        return value
    magnitude = 1.0 - value if name == "adam_beta1" else abs(value)
    scaled = magnitude * rules.mutation_factor if up else magnitude / rules.mutation_factor
    match name:
        case "learning_rate":
            return _clipped(scaled, rules.learning_rate_low, rules.learning_rate_high)
        case "entropy_coef":
            return _clipped(scaled, rules.entropy_coef_low, rules.entropy_coef_high)
        case "adam_beta1":
            return 1.0 - _clipped(
                scaled, rules.one_minus_adam_beta1_low, rules.one_minus_adam_beta1_high
            )
        case _:
            return math.copysign(_clipped(scaled, rules.shaping_low, rules.shaping_high), value)


def _clipped(value: float, low: float, high: float) -> float:
    return min(max(value, low), high)
