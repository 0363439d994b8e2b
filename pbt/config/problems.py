"""The problems of a config in words: ``place = found: expected; what to do``, one line each.

Expectations are read from the schema itself (its JSON form), so a new field needs no new message.
"""

import difflib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from pbt.config.schema import RunConfig

Schema = Mapping[str, Any]
Loc = tuple[str | int, ...]
_SHOWN_CHARS = 60
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")


def did_you_mean(word: str, known: Iterable[str]) -> str | None:
    """The known word closest to this one, if any is close."""
    return next(iter(difflib.get_close_matches(word, list(known), n=1, cutoff=0.6)), None)


def field_problems(error: ValidationError, given: Mapping[str, Any]) -> list[str]:
    """One line per place that pydantic refused, then the contradictions among the other values.

    given  the table that was validated
    """
    lines: dict[Loc, str] = {}
    for detail in error.errors(include_url=False):
        if detail["type"] != "value_error":
            loc = place_of(detail, given)
            lines.setdefault(loc, _describe(detail, loc, given))
    # pydantic refuses a union branch by branch. Where something inside it is wrong, the line about
    # that says all.
    lines = {
        loc: line
        for loc, line in lines.items()
        if not any(len(other) > len(loc) and other[: len(loc)] == loc for other in lines)
    }
    contradictions = _contradictions(error)
    if lines and not contradictions:
        contradictions = _contradictions_without(lines, given)
    return [*lines.values(), *contradictions]


def _contradictions(error: ValidationError) -> list[str]:
    """The lines of the config's own checks, which compare several values."""
    return [
        line
        for detail in error.errors(include_url=False)
        if detail["type"] == "value_error"
        for line in str(detail["ctx"]["error"]).splitlines()
    ]


def _contradictions_without(bad: Iterable[Loc], given: Mapping[str, Any]) -> list[str]:
    """The contradictions among the other values.

    A line that names a refused place is left out: that value is not known yet.
    """
    places = [dotted(loc) for loc in bad]
    rest = json.loads(json.dumps(given, default=str))
    for loc in bad:
        _remove(rest, loc)
    if not isinstance(rest.get("env"), dict):
        rest["env"] = {}
    rest["env"].setdefault("name", "a game")
    try:
        RunConfig.model_validate_json(json.dumps(rest), strict=True)
    except ValidationError as error:
        lines = _contradictions(error)
        return [line for line in lines if not any(place in line for place in places)]
    return []


def _remove(table: Any, loc: Loc) -> None:
    """Drop the value at loc; inside a list, drop the whole list."""
    for depth, name in enumerate(loc):
        if not isinstance(table, dict) or name not in table:
            return
        if depth == len(loc) - 1 or not isinstance(table[name], dict):
            del table[name]
            return
        table = table[name]


def place_of(detail: ErrorDetails, given: Any) -> Loc:
    """pydantic's location without the names of a union's branches, which are no keys."""
    place: list[str | int] = []
    for position, name in enumerate(detail["loc"]):
        last_of_missing = detail["type"] == "missing" and position == len(detail["loc"]) - 1
        if isinstance(given, Mapping) and name in given:
            given = given[str(name)]
        elif (
            isinstance(given, Sequence)
            and not isinstance(given, str)
            and isinstance(name, int)
            and name < len(given)
        ):
            given = given[name]
        elif not last_of_missing:
            continue
        place.append(name)
    return tuple(place)


def expectation(loc: Loc) -> str:
    """What the value at this place must be, in words."""
    return _expected(_schema_at(loc))


def _describe(detail: ErrorDetails, loc: Loc, given: Any) -> str:
    if detail["type"] == "extra_forbidden":
        return _unknown_key(loc)
    schema = _schema_at(loc)
    expected = _expected(schema)
    place = dotted(loc)
    if detail["type"] == "missing":
        return f"{place}: missing; must be {expected}; add it{_missing_hint(loc)}"
    value = given
    for name in loc:
        value = value[name]
    return f"{place} = {_shown(value)}: must be {expected}; {_advice(value, schema, loc)}"


def _missing_hint(loc: Loc) -> str:
    if loc == ("env",) or loc == ("env", "name"):
        return ', for example [env] name = "connect_four"'
    return ""


def _advice(found: Any, schema: Schema, loc: Loc) -> str:
    kinds = {branch.get("type") for branch in _branches(schema)}
    choices = [str(choice) for branch in _branches(schema) for choice in _choices(branch)]
    if choices and (guess := did_you_mean(str(found), choices)):
        return f'did you mean "{guess}"?'
    if "integer" in kinds and isinstance(found, float) and found.is_integer() and abs(found) < 1e18:
        return f"write {int(found)}"
    if (
        kinds & {"integer", "number", "boolean"}
        and isinstance(found, str)
        and _reads_as(found, kinds)
    ):
        return f"write {found.lower()} without quotes"
    if kinds == {"object"} and not isinstance(found, dict):
        inner = ' with name = "..."' if loc == ("env",) else ""
        return f"write a section [{dotted(loc)}]{inner}"
    default = schema.get("default")
    if default is not None and not isinstance(default, dict):
        return f"the default is {_shown(default)}"
    return "change it, or leave it out for the default"


def _reads_as(text: str, kinds: set[Any]) -> bool:
    try:
        return isinstance(json.loads(text.lower()), bool if kinds == {"boolean"} else int | float)
    except ValueError:
        return False


def _unknown_key(loc: Loc) -> str:
    *section, name = loc
    keys = list(_schema_at(tuple(section)).get("properties", {}))
    place = dotted(loc)
    if guess := did_you_mean(str(name), keys):
        return f"{place}: unknown key; did you mean {guess}?"
    home = next(
        (
            f"{key}.{name}"
            for key in _definition(_root()).get("properties", {})
            if name in _schema_at((key,)).get("properties", {})
        ),
        None,
    )
    if home:
        return f"{place}: unknown key; did you mean {home}?"
    return f"{place}: unknown key; remove it, or use one of: {', '.join(keys)}"


def dotted(loc: Loc) -> str:
    """("model", "conv", 0, "kernel") -> model.conv[0].kernel.

    Keys that need quotes in TOML have them here.
    """
    return "".join(
        f"[{part}]" if isinstance(part, int) else f".{toml_key(part)}" for part in loc
    ).removeprefix(".")


def toml_key(name: str) -> str:
    """A key as TOML writes it."""
    return name if _BARE_KEY.fullmatch(name) else toml_text(name)


def toml_text(words: str) -> str:
    """A TOML string on one line.

    JSON's escapes are TOML's, except that TOML wants DEL escaped as well.
    """
    return json.dumps(words, ensure_ascii=False).replace("\x7f", "\\u007f")


def _shown(found: Any) -> str:
    shown = json.dumps(found, default=str, ensure_ascii=False)
    shown = {"NaN": "nan", "Infinity": "inf", "-Infinity": "-inf"}.get(shown, shown)
    return shown if len(shown) <= _SHOWN_CHARS else shown[: _SHOWN_CHARS - 3] + "..."


@cache
def _root() -> Schema:
    return RunConfig.model_json_schema()


def _definition(schema: Schema) -> Schema:
    """The schema with its reference followed.

    What stands beside the reference (a default) stays.
    """
    reference = schema.get("$ref")
    if reference is None:
        return schema
    return {
        **_root()["$defs"][reference.rsplit("/", 1)[1]],
        **{key: value for key, value in schema.items() if key != "$ref"},
    }


def _branches(schema: Schema) -> list[Schema]:
    return [_definition(branch) for branch in schema.get("anyOf", [schema])]


def _schema_at(loc: Loc) -> Schema:
    schema = _definition(_root())
    for name in loc:
        inner = next(
            (part for branch in _branches(schema) if (part := _inside(branch, name)) is not None),
            None,
        )
        if inner is None:
            return {}
        schema = _definition(inner)
    return schema


def _inside(schema: Schema, name: str | int) -> Schema | None:
    if isinstance(name, int):
        prefix = schema.get("prefixItems", [])
        items = prefix[name] if name < len(prefix) else schema.get("items")
        return items if isinstance(items, Mapping) else None
    part = schema.get("properties", {}).get(name, schema.get("additionalProperties"))
    return part if isinstance(part, Mapping) else None


def _expected(schema: Schema) -> str:
    """A schema in words: "a whole number of at least 1", 'one of "none", "gru"', ..."""
    branches = [branch for branch in _branches(schema) if branch.get("type") != "null"]
    return " or ".join(dict.fromkeys(map(_expected_one, branches))) or "something else"


def _choices(schema: Schema) -> Sequence[Any]:
    """The only values that the schema takes; empty where they cannot be listed."""
    return [schema["const"]] if "const" in schema else schema.get("enum", ()) or _patterns(schema)


def _patterns(schema: Schema) -> list[str]:
    r"""The alternatives of a pattern such as ^(auto|cuda:\d+)$, with N for a number."""
    if "pattern" not in schema:
        return []
    pattern = str(schema["pattern"]).removeprefix("^(").removesuffix(")$")
    return pattern.replace(r"\d+", "N").split("|")


def _expected_one(schema: Schema) -> str:
    if "const" in schema:
        return _shown(schema["const"])
    if "enum" in schema:
        return "one of " + ", ".join(_shown(choice) for choice in schema["enum"])
    kind = schema.get("type")
    if "pattern" in schema:
        return "one of " + ", ".join(_shown(choice) for choice in _patterns(schema))
    if kind in {"integer", "number"}:
        return ("a whole number" if kind == "integer" else "a number") + _range(schema)
    if kind == "array":
        return _expected_list(schema)
    if kind == "object":
        if isinstance(schema.get("additionalProperties"), Mapping):
            return f"a table of name = {_expected(schema['additionalProperties'])}"
        return "a table"
    return {
        "boolean": "true or false",
        "string": "a text" + (" that is not empty" if schema.get("minLength") else ""),
    }.get(str(kind), "something else")


def _expected_list(schema: Schema) -> str:
    if prefix := schema.get("prefixItems"):
        return f"a list of exactly {len(prefix)} values, each {_expected(prefix[0])}"
    items = schema.get("items")
    return f"a list, each entry {_expected(items)}" if isinstance(items, Mapping) else "a list"


def _range(schema: Schema) -> str:
    low, over, high, under = (
        _bound(schema.get(key))
        for key in ("minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum")
    )
    if low is not None and high is not None:
        return f" from {low} to {high}"
    bounds = []
    if low is not None or over is not None:
        bounds.append(f"greater than {over}" if low is None else f"of at least {low}")
    if high is not None or under is not None:
        bounds.append(f"less than {under}" if high is None else f"at most {high}")
    return f" {' and '.join(bounds)}" if bounds else ""


def _bound(value: float | None) -> str | None:
    """A bound in words; whole numbers have all of their digits."""
    if value is None:
        return None
    return str(value) if isinstance(value, int) else f"{value:g}"
