"""What a script wants to be true of a match: "score>0.55", "low>0.5", "sprt". Read before the
first game, judged after the last.
"""

import operator
import re
from collections.abc import Sequence
from dataclasses import dataclass

from arena.league.matches import MatchError
from arena.stats.score import MatchStatistics
from arena.stats.sprt import SequentialTest

SPRT_WORD = "sprt"
QUANTITIES = ("score", "low", "high", "los", "elo")
_COMPARE = {">": operator.gt, ">=": operator.ge, "<": operator.lt, "<=": operator.le}
_FORM = re.compile(r"\s*(\w+)\s*(>=|<=|>|<)\s*([-+]?\d*\.?\d+)\s*")
_EXPECTED = (
    f'expected "{SPRT_WORD}", or one of {", ".join(QUANTITIES)}, then > >= < or <=, '
    'then a number, such as "score>0.55"'
)


@dataclass(frozen=True, slots=True)
class Assertion:
    """text: as it was typed;  quantity: one of QUANTITIES or "sprt";  sign, bound: what it is
    held against, not used by "sprt".
    """

    text: str
    quantity: str
    sign: str = ">"
    bound: float = 0.0


def read_assertions(texts: Sequence[str], *, tested: bool) -> tuple[Assertion, ...]:
    """tested: the match has a sequential test. Raises: MatchError naming everything that says
    nothing.
    """
    wrong, found = [], []
    for text in texts:
        form = _FORM.fullmatch(text)
        if text.strip() == SPRT_WORD:
            if not tested:
                wrong.append(
                    f'"{text}": the match has no sequential test; add one, such as --sprt 0,20'
                )
            found.append(Assertion(text, SPRT_WORD))
        elif form is None or form[1] not in QUANTITIES:
            wrong.append(f'"{text}": {_EXPECTED}')
        elif form[1] != "elo" and not 0.0 <= float(form[3]) <= 1.0:
            wrong.append(
                f'"{text}": {form[1]} is a fraction of 1; expected a number from 0 to 1, '
                f'such as "{form[1]}{form[2]}0.55"'
            )
        else:
            found.append(Assertion(text, form[1], form[2], float(form[3])))
    if wrong:
        raise MatchError("--assert " + "; ".join(wrong))
    return tuple(found)


def holds(
    assertion: Assertion, statistics: MatchStatistics, test: SequentialTest | None
) -> bool | None:
    """None: a sequential test that has not decided."""
    if assertion.quantity == SPRT_WORD:
        return None if test is None or test.state == "continue" else test.state == "accept H1"
    found, bound = (
        getattr(statistics, "score" if assertion.quantity == "elo" else assertion.quantity),
        assertion.bound,
    )
    if assertion.quantity == "elo":
        # By the score, which is there, too, where no finite Elo is.
        bound = 1 / (1 + 10 ** (-bound / 400))
    return bool(_COMPARE[assertion.sign](found, bound))
