"""The reward terms of a Doom game beside its own reward, as `env.options.terms` names them."""

import math
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

_KEYS = ("variable", "gain", "loss", "apart")


class RewardTerm(NamedTuple):
    """A shaping term.

    name      of the term
    variable  the game variable
    gain      reward for every unit by which the variable grew since the last step
    loss      reward for every unit by which it fell
    """

    name: str
    variable: str
    gain: float
    loss: float


def read_terms(given: Mapping[str, Any]) -> tuple[tuple[RewardTerm, ...], list[str]]:
    """The terms, and what is wrong with them, one line each."""
    terms, problems = list[RewardTerm](), list[str]()
    for name, values in given.items():
        if problem := _problem(name, values):
            problems.append(f"terms.{name}{problem}")
        else:
            terms += _read(name, values)
    twice = _twice([term.name for term in terms])
    problems += [f"terms.{name}: there are two terms of that name; rename one" for name in twice]
    return tuple(terms), problems


def _read(name: str, values: Mapping[str, Any]) -> list[RewardTerm]:
    variable = values["variable"].upper()
    gain, loss = (float(values.get(key, 0.0)) for key in ("gain", "loss"))
    if not values.get("apart"):
        return [RewardTerm(name, variable, gain, loss)]
    return [
        RewardTerm(f"{name}_gain", variable, gain, 0.0),
        RewardTerm(f"{name}_loss", variable, 0.0, loss),
    ]


def _problem(name: str, values: Any) -> str:
    """What is wrong with a term, in words that follow its name; "" where nothing is."""
    example = f'write {name} = {{ variable = "HEALTH", gain = 1.0, loss = 0.0 }}'
    if not isinstance(values, Mapping) or not isinstance(values.get("variable"), str):
        return f" = {values!r}: must be a table with a variable; {example}"
    if unknown := sorted(set(values).difference(_KEYS)):
        return f".{unknown[0]}: unknown key; {example}"
    if not all(_is_number(values.get(key, 0.0)) for key in ("gain", "loss")):
        return f": gain and loss must be finite numbers; {example}"
    if not any(values.get(key) for key in ("gain", "loss")):
        return f": is always 0 without gain or loss; {example}"
    if not isinstance(apart := values.get("apart", False), bool):
        return f".apart = {apart!r}: must be true or false"
    if apart and not all(values.get(key) for key in ("gain", "loss")):
        return (
            f".apart = true: one of the two terms would always be 0; give gain and loss, {example}"
        )
    if name == "reward":
        return ": that is the game's own reward; call the term something else"
    return ""


def _twice(names: Iterable[str]) -> list[str]:
    seen, twice = set[str](), list[str]()
    for name in names:
        (twice.append if name in seen else seen.add)(name)
    return twice


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
