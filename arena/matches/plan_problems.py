"""What is wrong with a comparison: each problem in the words of the command and of a request."""

from collections.abc import Sequence
from dataclasses import dataclass

from pbt.errors import ConfigError


@dataclass(frozen=True)
class PlanProblem:
    """One problem.

    pointer  JSON pointer into the body of a request, such as "/b/env/objective"
    text     what is wrong, for the caller of a request
    command  the same for the user of `arena compare`; empty: the same words
    """

    pointer: str
    text: str
    command: str = ""


class PlanError(ConfigError):
    """A comparison that cannot be made. problems: for the command line; found: with places."""

    def __init__(self, source: str, found: Sequence[PlanProblem]) -> None:
        self.found = tuple(found)
        super().__init__(source, [one.command or one.text for one in found])


def config_place(side: str, problem: str) -> str:
    """The JSON pointer of a problem of one config: `learning.gamma = 7: must be ...` of side "a" ->
    "/a/learning/gamma".
    """
    key = problem.partition(":")[0].partition(" ")[0].partition("[")[0]
    return f"/{side}/{key.replace('.', '/')}"
