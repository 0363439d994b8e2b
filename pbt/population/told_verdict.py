"""The numbers in the words of a stored verdict, for readers that show many rounds at once.

`pbt.population.verdicts` and `pbt.population.pbt_decision` write the words. A stored round is
replayed to the same words, so they are as stable as a format. To compute the numbers again from the
scores would take a second for one round of 64 members.
"""

import re
from dataclasses import dataclass

_NUMBER = r"[-+]?\d[\d.]*(?:e[-+]?\d+)?"
_WORTH = rf"(?:win rate|margin|return) (?P<worth>{_NUMBER})(?: a game)?"
_STANDING = re.compile(
    rf"rank (?P<rank>\d+) of (?P<ranked>\d+) at \d+ frames, {_WORTH} over (?P<games>\d+) games"
    rf"(?:, (?P<on_common>{_NUMBER}) on common opponents)?: (?P<reason>.*)"
)
_LEAD = re.compile(rf"(?P<does>copies|does not copy) (?P<member>\S+) \({_WORTH}\)(?P<rest>.*)")
_AHEAD = re.compile(
    rf"(?:, ahead by |: (?:margin|return) )(?P<ahead>{_NUMBER})"
    rf"(?:.*? on (?P<opponents>\d+) common opponents?)?"
)
_ERRORS = re.compile(rf"(?P<errors>{_NUMBER}) standard errors(?P<behind> behind)?")
_CHANCE = re.compile(rf"p = (?P<p>{_NUMBER}) (?:<=|>) (?P<level>{_NUMBER})")
_UNRANKED = re.compile(r"not ranked: (?P<games>\d+) games < ")


@dataclass(frozen=True, slots=True)
class ToldLead:
    """What a verdict says of the member that was or might have been copied. Numbers are rounded.

    member     that member
    objective  the mean of what is ranked over its games
    ahead      how far it was ahead
    opponents  how many common opponents were compared, 0 where all games were
    errors     `ahead` in standard errors, None where it is not told
    p          probability of such a lead by chance, None where it is not told
    level      the largest p at which it would have been copied, None where it is not told
    copied     whether it was copied
    """

    member: str
    objective: float
    ahead: float
    opponents: int
    errors: float | None
    p: float | None
    level: float | None
    copied: bool


@dataclass(frozen=True, slots=True)
class ToldVerdict:
    """What a verdict says. Numbers are rounded as in its words.

    rank       from 1 on, None for a member that was not ranked
    ranked     how many were ranked, None for a member that was not
    objective  the mean of what is ranked, None for a member that was not
    on_common  its mean gap to the others over common opponents, None where all games count
    games      that counted, None where the words do not say
    reason     why it did or did not copy, without its standing and its mutations
    lead       of the member that it copied or might have copied, None without one
    """

    rank: int | None
    ranked: int | None
    objective: float | None
    on_common: float | None
    games: int | None
    reason: str
    lead: ToldLead | None


def read_verdict(verdict: str) -> ToldVerdict:
    """Return what a verdict says; words of another form are the reason as a whole."""
    found = _STANDING.fullmatch(verdict)
    if found is None:
        few = _UNRANKED.match(verdict)
        games = None if few is None else int(few["games"])
        return ToldVerdict(None, None, None, None, games, verdict, None)
    reason = found["reason"].partition("; ")[0]
    on_common = None if found["on_common"] is None else float(found["on_common"])
    standing = (int(found["rank"]), int(found["ranked"]), float(found["worth"]), on_common)
    return ToldVerdict(*standing, int(found["games"]), reason, _lead(reason))


def _lead(reason: str) -> ToldLead | None:
    found = _LEAD.fullmatch(reason)
    if found is None or (ahead := _AHEAD.match(found["rest"])) is None:
        return None
    errors, chance = _ERRORS.search(found["rest"]), _CHANCE.search(found["rest"])
    sign = -1.0 if errors and errors["behind"] else 1.0
    return ToldLead(
        found["member"],
        float(found["worth"]),
        float(ahead["ahead"]),
        int(ahead["opponents"] or 0),
        None if errors is None else sign * float(errors["errors"]),
        None if chance is None else float(chance["p"]),
        None if chance is None else float(chance["level"]),
        found["does"] == "copies",
    )
