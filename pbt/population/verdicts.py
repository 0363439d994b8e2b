"""The words of a PBT verdict. A stored round is replayed to the same words.

Rounds by wins, and by returns of games in which members do not meet, have the words of earlier
versions where each comparison stands alone. All others say how many standard errors a gap is wide,
and those by margins and returns the unit.
"""

from pbt.objective import OBJECTIVE_WORDS
from pbt.population.copy_gate import Candidate
from pbt.population.pbt_rules import PbtRules
from pbt.records import MemberScore


def standing_words(score: MemberScore, on_common: float | None, rules: PbtRules) -> str:
    """Return a ranked member's objective in words.

    on_common: its mean gap to the others over common opponents, None where all games count
    """
    words = OBJECTIVE_WORDS[rules.objective]
    number = f"{score.objective:.6g}"
    if _says_unit(rules):
        number = f"{score.objective:+.6g} {words.unit}"
    text = f"{words.number} {number} over {score.games} games"
    return text if on_common is None else f"{text}, {on_common:+.6g} on common opponents"


def lead_words(candidate: Candidate, rules: PbtRules) -> str:
    """Return whether a candidate is copied, and why, in words."""
    gap, least, unit = candidate.gap, f"{rules.copy_gap:.6g}", _says_unit(rules)
    earlier = not unit and rules.copy_significance_per == "comparison"
    lead = f"{'copies' if candidate.copied else 'does not copy'} {_lead(candidate, rules)}"
    if gap.ahead < rules.copy_gap:
        return f"{lead} < {least}" if earlier else f"{lead}, less than copy_gap {least}"
    if earlier:
        lead += f" >= {least}"
    elif not unit and gap.errors is not None:
        lead += f", {gap.errors:.2g} standard errors"
    return f"{lead}{_ratio(candidate, rules)}{_gate(candidate, rules)}"


def _says_unit(rules: PbtRules) -> bool:
    return rules.objective == "margin" or (
        rules.objective == "return" and rules.opponents == "common"
    )


def _lead(candidate: Candidate, rules: PbtRules) -> str:
    """Return how far a candidate is ahead, in words; with the unit, how wide that is as well."""
    words, gap, donor = OBJECTIVE_WORDS[rules.objective], candidate.gap, candidate.score
    common = ""
    if gap.opponents:
        common = f" on {gap.opponents} common opponent{'s' * (gap.opponents != 1)}"
    if not _says_unit(rules):
        number = f"{words.number} {donor.objective:.6g}"
        return f"{donor.member} ({number}), ahead by {gap.ahead:.6g}{common}"
    side = "ahead" if gap.ahead >= 0.0 else "behind"
    width = "" if gap.errors is None else f" {abs(gap.errors):.2g} standard errors"
    return (
        f"{donor.member} ({words.number} {donor.objective:+.6g}): {words.number} "
        f"{gap.ahead:+.6g} {words.unit},{width} {side}{common}"
    )


def _ratio(candidate: Candidate, rules: PbtRules) -> str:
    """Return what `copy_ratio` says, nothing where it is 0 or decides nothing."""
    if candidate.wide_enough or candidate.least == rules.copy_gap:
        return ""
    return f" < {candidate.least:.6g}, which is copy_ratio {rules.copy_ratio:.6g} of its own"


def _gate(candidate: Candidate, rules: PbtRules) -> str:
    """Return what the significance of a gap says, nothing where any gap is enough."""
    chance, level = candidate.gap.p, candidate.level
    if chance > level:
        return f", which may be chance: p = {chance:.3g} > {level:.6g}"
    if rules.copy_significance < 1.0:
        return f", p = {chance:.3g} <= {level:.6g}"
    return ""
