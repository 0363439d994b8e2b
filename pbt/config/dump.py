"""A config written down again: TOML for people, a JSON Schema for editors."""

from collections.abc import Mapping
from typing import Any

from pbt.config.problems import toml_key, toml_text
from pbt.config.schema import RunConfig

# A list with more characters than this is written with one entry per line.
WIDE = 160


def to_toml(config: RunConfig, origins: Mapping[str, str] | None = None) -> str:
    """The resolved config as TOML. Reading it again gives an equal one.

    origins  dotted key -> "file" or "--set"; with it each line ends with its own origin
    """
    table = config.model_dump()
    plain = {key: value for key, value in table.items() if not isinstance(value, Mapping)}
    lines = _key_lines(plain, (), origins)
    for name, section in table.items():
        if name == "members":
            for member, override in section.items():
                # A value that a member does not set is that of [learning] or of its schedule, so
                # no line says that it is decided later.
                values = {key: value for key, value in override.items() if value is not None}
                lines += [
                    "",
                    f"[members.{toml_key(member)}]",
                    *_key_lines(values, ("members", member), origins),
                ]
        elif isinstance(section, Mapping):
            lines += ["", f"[{name}]", *_key_lines(section, (name,), origins)]
    return "\n".join(lines) + "\n"


def json_schema() -> dict[str, Any]:
    """JSON Schema of a config file."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **RunConfig.model_json_schema(),
    }


def _key_lines(
    section: Mapping[str, Any], path: tuple[str, ...], origins: Mapping[str, str] | None
) -> list[str]:
    lines = []
    for name, value in section.items():
        # TOML has no null, so a value that is decided at run time is shown as a comment.
        line = (
            f"# {toml_key(name)}: decided when training starts"
            if value is None
            else f"{toml_key(name)} = {toml_value(value)}"
        )
        lines.append(
            line if origins is None else f"{line}  # {_origin('.'.join((*path, name)), origins)}"
        )
    return lines


def _origin(key: str, origins: Mapping[str, str]) -> str:
    origins_here = {
        origin
        for given_key, origin in origins.items()
        if given_key == key or given_key.startswith(f"{key}.") or key.startswith(f"{given_key}.")
    }
    return " and ".join(sorted(origins_here)) or "default"


def toml_value(value: Any) -> str:
    """A value as TOML writes it."""
    if isinstance(value, str):
        return toml_text(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Mapping):
        inner = ", ".join(
            f"{toml_key(name)} = {toml_value(entry)}"
            for name, entry in value.items()
            if entry is not None
        )
        return f"{{ {inner} }}" if inner else "{}"
    if isinstance(value, list | tuple):
        entries = [toml_value(entry) for entry in value]
        if sum(map(len, entries)) > WIDE:
            return "[\n" + "".join(f"    {entry},\n" for entry in entries) + "]"
        return f"[{', '.join(entries)}]"
    return repr(value)
