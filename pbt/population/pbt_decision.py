"""One PBT decision, as a pure function: which member is copied, and which values mutate.

The rules follow Jaderberg et al. 2017 and Petrenko et al. 2020, section A.3.1.

Randomness comes from generator(run seed, "pbt", member, round) alone, in one fixed order: one
number for the donor, then two for each value (whether it mutates; up or down), in the order
learning_rate, entropy_coef, adam_beta1, shaping terms by name. All are drawn, used or not, so what
happens to one value never depends on another. Every number is a plain float, so a decision that is
computed again from stored JSON is the same to the last bit.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from pbt.errors import EngineError
from pbt.population.comparison import standings
from pbt.population.copy_gate import candidates, drawn_candidate, round_level
from pbt.population.mutation import changes, in_order, mutate
from pbt.population.pbt_rules import PbtRules
from pbt.population.scores import score_problem
from pbt.population.verdicts import lead_words, standing_words
from pbt.records import Directive, MemberScore, RoundRecord
from pbt.seeding import generator


@dataclass(frozen=True)
class Decision:
    """What one member does at one round.

    copy_from    the member whose weights it takes, None where it keeps its own
    hyperparams  the full flat set afterwards
    mutated      names of the hyperparameters that mutation changed
    verdict      the decision and its reasons in words, for people
    ahead        how far the copied member was ahead, None without a copy
    """

    copy_from: str | None
    hyperparams: Mapping[str, float]
    mutated: tuple[str, ...]
    verdict: str
    ahead: float | None = None

    def directive(self, member: str, round: int, copy_snapshot: str | None) -> Directive:
        """Return the directive that puts the decision in force.

        copy_snapshot: the id of the snapshot that the caller stored of `copy_from`, None without a
        copy. Raises: EngineError when one of the two is there without the other.
        """
        if (copy_snapshot is None) != (self.copy_from is None):
            raise EngineError(
                f"round {round} of {member}: copy from {self.copy_from} with snapshot "
                f"{copy_snapshot}; expected both or neither"
            )
        return Directive(
            member, round, self.copy_from, copy_snapshot, self.hyperparams, self.mutated
        )

    def words(self, round: int) -> str:
        """Return the round in a few words."""
        if self.copy_from:
            return f"round {round}: copied {self.copy_from}, {self.ahead:.2g} ahead"
        what = f"mutated {', '.join(self.mutated)}" if self.mutated else "kept"
        return f"round {round}: {what}"


def next_due(frames: int, period_frames: int, warmup_frames: int = 0) -> int:
    """Return the frame count at which the next round is due.

    It is the first multiple of the period after `frames` that is not before the end of the warm-up.
    """
    return period_frames * max(frames // period_frames + 1, -(-warmup_frames // period_frames))


def top_count(ranked: int, top_share: float) -> int:
    """Return k = ceil(top_share x ranked), at most half of the ranked members.

    The arithmetic is exact and decimal: 0.07 x 100 is 7, not 7.000000000000001.
    """
    return min(math.ceil(Fraction(repr(top_share)) * ranked), ranked // 2)


def rank(scores: Sequence[MemberScore], rules: PbtRules) -> dict[str, float]:
    """Return what members with enough games are ranked by, by name, best first; equals by name.

    That is the objective, or the mean gap to the others over common opponents.
    """
    enough = [score for score in scores if score.games >= rules.min_games]
    worth = (
        standings(enough, rules.objective)
        if rules.opponents == "common"
        else {score.member: score.objective for score in enough}
    )
    return dict(sorted(worth.items(), key=lambda item: (-item[1], item[0])))


def decide(
    member: str,
    round: int,
    frames: int,
    scores: Sequence[MemberScore],
    hyperparams: Mapping[str, Mapping[str, float]],
    rules: PbtRules,
    seed: int,
) -> Decision:
    """Decide what `member` does at its round.

    frames       the member's clock, which the verdict names
    scores       of every member of its role, itself included
    hyperparams  of the same members, flat
    seed         the run seed

    Ranked members in the top k keep everything, the others mutate. Those in the bottom k first copy
    a random member of the top k if it is far enough ahead. With fewer than 3 ranked members none
    copies. Raises: EngineError when the inputs contradict each other.
    """
    by_name = _checked(member, scores, hyperparams, rules)
    own = by_name[member]
    if own.games < rules.min_games:
        verdict = f"not ranked: {own.games} games < {rules.min_games} at {frames} frames"
        return Decision(None, _plain(hyperparams[member]), (), verdict)
    ranking = rank(scores, rules)
    ranked = [by_name[name] for name in ranking]
    place, top = ranked.index(own), top_count(len(ranked), rules.top_share)
    words = standing_words(own, ranking[member] if rules.opponents == "common" else None, rules)
    standing = f"rank {place + 1} of {len(ranked)} at {frames} frames, {words}"
    if place < top:
        verdict = f"{standing}: among the top {top}, kept as it is"
        return Decision(None, _plain(hyperparams[member]), (), verdict)
    rng = generator(seed, "pbt", member, round)
    donor, ahead, reason = _copied(ranked, place, top, rules, len(scores), round, rng.random())
    before = _plain(hyperparams[donor or member])
    after = mutate(before, rules, rng)
    mutated = tuple(name for name in in_order(before) if after[name] != before[name])
    mutation = f"mutates {changes(before, after, mutated)}" if mutated else "nothing mutates"
    return Decision(donor, after, mutated, f"{standing}: {reason}; {mutation}", ahead)


def _copied(
    ranked: Sequence[MemberScore],
    place: int,
    top: int,
    rules: PbtRules,
    members: int,
    round: int,
    draw: float,
) -> tuple[str | None, float | None, str]:
    """Return what the member at `place` copies, how far that is ahead, and the reason.

    The first two are None where it copies none. With a probability per run, the candidate is drawn
    among those that may be copied; where there are none the reason is that of the one furthest
    ahead. Else one of the top is drawn, and then judged.

    members: of the role, ranked or not; draw: uniform in [0, 1).
    """
    level = rules.copy_significance
    if rules.copy_significance_per == "run":
        level = round_level(level, members, round, rules.copy_rounds)
    if len(ranked) < 3:
        return None, None, "too few ranked to copy"
    if place < len(ranked) - top:
        return None, None, f"outside the top {top} and the bottom {top}"
    if rules.copy_significance_per == "comparison":
        chosen = drawn_candidate(ranked[int(draw * top)], ranked[place], rules, level)
    else:
        found = candidates(ranked, place, top, rules, level)
        copied = [candidate for candidate in found if candidate.copied]
        furthest = max(found, key=lambda candidate: candidate.gap.ahead)
        chosen = copied[int(draw * len(copied))] if copied else furthest
    told = lead_words(chosen, rules)
    if not chosen.copied:
        return None, None, told
    return chosen.score.member, chosen.gap.ahead, told


def replay(round: RoundRecord) -> list[str]:
    """Decide a stored round again; returns every difference in words, [] where there is none."""
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
        f"{name}: stored {before!r}, replayed {now!r}"
        for name, before, now in pairs
        if before != now
    ]


def _checked(
    member: str,
    scores: Sequence[MemberScore],
    hyperparams: Mapping[str, Mapping[str, float]],
    rules: PbtRules,
) -> dict[str, MemberScore]:
    """Return the scores by member, after checking that every one is usable."""
    by_name = {score.member: score for score in scores}
    if len(by_name) != len(scores) or member not in by_name:
        raise EngineError(
            f"scores of {[score.member for score in scores]}: expected each member once, "
            f"{member} among them"
        )
    for score in scores:
        if problem := score_problem(score, rules.objective):
            raise EngineError(f"score of {score.member} {problem}")
        if score.member not in hyperparams:
            raise EngineError(
                f"hyperparams of {score.member} are missing; found those of {sorted(hyperparams)}"
            )
    return by_name


def _plain(values: Mapping[str, float]) -> dict[str, float]:
    return {name: float(value) for name, value in values.items()}
