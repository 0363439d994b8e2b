"""Assertions of a script about a match, such as "score>0.55", "low>0.5" or "sprt".

They are read before the first game and judged after the last.
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
    """A condition on one number of a match.

    text      the assertion as it was typed
    quantity  one of QUANTITIES, or "sprt"
    sign      the comparison; not used by "sprt"
    bound     the number to compare with; not used by "sprt"
    """

    text: str
    quantity: str
    sign: str = ">"
    bound: float = 0.0


def read_assertions(texts: Sequence[str], *, tested: bool) -> tuple[Assertion, ...]:
    """The assertions in `texts`. tested: the match has a sequential test.

    Raises: MatchError that lists every text which is no assertion.
    """
    problems, assertions = [], []
    for text in texts:
        form = _FORM.fullmatch(text)
        if text.strip() == SPRT_WORD:
            if not tested:
                problems.append(
                    f'"{text}": the match has no sequential test; add one, such as --sprt 0,20'
                )
            assertions.append(Assertion(text, SPRT_WORD))
        elif form is None or form[1] not in QUANTITIES:
            problems.append(f'"{text}": {_EXPECTED}')
        elif form[1] == "los" and tested:
            problems.append(
                f'"{text}": los is for a fixed number of games, and the match has a sequential '
                f'test; assert "{SPRT_WORD}" or "low>0.5"'
            )
        elif form[1] != "elo" and not 0.0 <= float(form[3]) <= 1.0:
            problems.append(
                f'"{text}": {form[1]} is a fraction of 1; expected a number from 0 to 1, '
                f'such as "{form[1]}{form[2]}0.55"'
            )
        else:
            assertions.append(Assertion(text, form[1], form[2], float(form[3])))
    if problems:
        raise MatchError("--assert " + "; ".join(problems))
    return tuple(assertions)


def holds(
    assertion: Assertion, statistics: MatchStatistics, test: SequentialTest | None
) -> bool | None:
    """Whether the match meets the assertion; None for a sequential test that has not decided."""
    if assertion.quantity == SPRT_WORD:
        return None if test is None or test.state == "continue" else test.state == "accept H1"
    quantity, bound = assertion.quantity, assertion.bound
    if quantity == "elo":
        # The score is compared, because it exists also where Elo is infinite.
        quantity, bound = "score", 1 / (1 + 10 ** (-bound / 400))
    return bool(_COMPARE[assertion.sign](getattr(statistics, quantity), bound))
