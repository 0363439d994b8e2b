"""The words of a PBT verdict. A stored round is replayed to the same words.

Rounds by wins, and by returns of games in which members do not meet, have the words of earlier
versions. All others say the unit, and how many standard errors a gap is wide.
"""

from pbt.objective import OBJECTIVE_WORDS
from pbt.population.comparison import Gap
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


def judge_lead(donor: MemberScore, gap: Gap, rules: PbtRules) -> tuple[bool, str]:
    """Return whether a donor's lead is enough to copy it, and the reason in words."""
    wide_enough = gap.ahead >= rules.copy_gap
    copies = wide_enough and gap.p <= rules.copy_significance
    words = _reason if _says_unit(rules) else _earlier_reason
    return copies, f"{'copies' if copies else 'does not copy'} {words(donor, gap, rules)}"


def _says_unit(rules: PbtRules) -> bool:
    return rules.objective == "margin" or (
        rules.objective == "return" and rules.opponents == "common"
    )


def _reason(donor: MemberScore, gap: Gap, rules: PbtRules) -> str:
    words = OBJECTIVE_WORDS[rules.objective]
    side = "ahead" if gap.ahead >= 0.0 else "behind"
    width = "" if gap.errors is None else f" {abs(gap.errors):.2g} standard errors"
    lead = (
        f"{donor.member} ({words.number} {donor.objective:+.6g}): {words.number} "
        f"{gap.ahead:+.6g} {words.unit},{width} {side}{_common(gap)}"
    )
    if gap.ahead < rules.copy_gap:
        return f"{lead}, less than copy_gap {rules.copy_gap:.6g}"
    return f"{lead}{_gate(gap, rules)}"


def _earlier_reason(donor: MemberScore, gap: Gap, rules: PbtRules) -> str:
    number = f"{OBJECTIVE_WORDS[rules.objective].number} {donor.objective:.6g}"
    lead = f"{donor.member} ({number}), ahead by {gap.ahead:.6g}{_common(gap)}"
    if gap.ahead < rules.copy_gap:
        return f"{lead} < {rules.copy_gap:.6g}"
    return f"{lead} >= {rules.copy_gap:.6g}{_gate(gap, rules)}"


def _gate(gap: Gap, rules: PbtRules) -> str:
    """Return what the significance of a gap says, nothing where any gap is enough."""
    if gap.p > rules.copy_significance:
        return f", which may be chance: p = {gap.p:.3g} > {rules.copy_significance:.6g}"
    if rules.copy_significance < 1.0:
        return f", p = {gap.p:.3g} <= {rules.copy_significance:.6g}"
    return ""


def _common(gap: Gap) -> str:
    if not gap.opponents:
        return ""
    return f" on {gap.opponents} common opponent{'s' * (gap.opponents != 1)}"
