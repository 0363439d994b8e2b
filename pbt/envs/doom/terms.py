"""The reward terms of a Doom game beside its own reward, as `env.options.terms` names them."""

import math
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

_KEYS = ("variable", "gain", "loss", "apart")
# Doom's weapons have the slots 1 to 7; ViZDoom knows two more.
_MOST_SLOTS = 9


class RewardTerm(NamedTuple):
    """A shaping term.

    name      of the term
    variable  the game variable
    gain      reward for every unit by which the variable grew since the last step
    loss      reward for every unit by which it fell
    held      instead of these: reward for each step that goes on holding a loaded weapon, for slots
              1, 2, ...; slots beyond have none
    """

    name: str
    variable: str
    gain: float
    loss: float
    held: tuple[float, ...] = ()


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
    if "held" in values:
        return [RewardTerm(name, "SELECTED_WEAPON", 0.0, 0.0, tuple(map(float, values["held"])))]
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
    if name == "reward":
        return ": that is the game's own reward; call the term something else"
    if isinstance(values, Mapping) and "held" in values:
        return _held_problem(name, values)
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
        return f".apart = true: one of the two terms would always be 0; {example}"
    return ""


def _held_problem(name: str, values: Mapping[str, Any]) -> str:
    """As `_problem`, of a term that pays for holding a weapon."""
    example = f"write {name} = {{ held = [0.0, 0.0, 0.001] }}, numbers for the slots 1, 2, 3"
    if unknown := sorted(set(values) - {"held"}):
        return f".{unknown[0]}: stands beside held, which is a term by itself; {example}"
    rates = values["held"]
    if not isinstance(rates, list | tuple) or not all(map(_is_number, rates)):
        return f".held = {rates!r}: must be a list of finite numbers; {example}"
    if len(rates) > _MOST_SLOTS:
        return f".held: {len(rates)} numbers; there are {_MOST_SLOTS} slots of weapons; {example}"
    if not any(rates):
        return f".held: is always 0; {example}"
    return ""


def _twice(names: Iterable[str]) -> list[str]:
    seen, twice = set[str](), list[str]()
    for name in names:
        (twice.append if name in seen else seen.add)(name)
    return twice


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
