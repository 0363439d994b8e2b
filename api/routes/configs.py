"""Configs in requests: a whole one is checked against its game, an edit is applied to one."""

import json
import subprocess
from collections.abc import Mapping
from typing import Any

from api.context import Context
from api.http.problems import EDITS, Problem
from pbt.config.load import config_from_table
from pbt.config.resume import changes
from pbt.config.schema import RunConfig
from pbt.errors import ConfigError

CHECK_TIMEOUT_S = 60.0
SHAPING = "learning.shaping."


def checked(
    here: Context, table: Mapping[str, Any], source: str = "config"
) -> tuple[RunConfig, list[tuple[str, str]]]:
    """The config and its (member, role) pairs. Raises: ConfigError with every problem.

    A request may name registered games only. The code of a game runs in another process.
    """
    config = config_from_table(table, source)
    try:
        done = subprocess.run(
            list(here.settings.checker),
            input=config.model_dump_json(),
            capture_output=True,
            text=True,
            timeout=CHECK_TIMEOUT_S,
            check=True,
        )
        report = json.loads(done.stdout.splitlines()[-1])
    except (subprocess.SubprocessError, ValueError, IndexError) as error:
        raise ConfigError(
            source,
            [
                (
                    f"env.name = {config.env.name}: the game could not be made ({error}); try "
                    "`arena env check`"
                )
            ],
        ) from error
    if report["problems"]:
        raise ConfigError(source, report["problems"])
    return config, [(member, role) for member, role in report["roles"]]


def edited(before: RunConfig, values: Mapping[str, Any]) -> tuple[tuple[str, ...], RunConfig]:
    """The edits that change something, as words, and the config with them.

    None takes a shaping term out: its weight becomes the game's own again.
    Raises: ConfigError, Problem.
    """
    removed = [key for key, value in values.items() if value is None and key.startswith(SHAPING)]
    words = [
        f"{key}={toml_value(value)}" for key, value in sorted(values.items()) if key not in removed
    ]
    after = config_from_table(before.model_dump(mode="json"), EDITS, words)
    if removed:
        terms = dict(after.learning.shaping)
        if missing := [
            (f"/set/{key}", "no such term")
            for key in removed
            if terms.pop(key.removeprefix(SHAPING), None) is None
        ]:
            raise Problem(
                "invalid",
                (
                    "a shaping term that does not exist cannot be removed; there are "
                    f"{', '.join(after.learning.shaping) or 'none'}"
                ),
                missing,
            )
        kept = ", ".join(
            f"{json.dumps(term)} = {json.dumps(weight)}" for term, weight in terms.items()
        )
        words.append(f"{SHAPING.rstrip('.')}={{{kept}}}")
        after = config_from_table(before.model_dump(mode="json"), EDITS, words)
    # A word that changes nothing is left out: it would start the trainer again without need.
    differ = changes(before, after).keys()
    return tuple(
        word
        for word in words
        if any(f"{key}.".startswith(f"{word.partition('=')[0]}.") for key in differ)
    ), after


def toml_value(value: Any) -> str:
    """The value as `--set` reads it.

    JSON's numbers, texts, booleans and lists are valid TOML; null and tables are refused.
    """
    if value is None or isinstance(value, Mapping):
        raise Problem(
            "invalid",
            "a value to set must be a number, a text, a boolean or a list",
            [("/set", f"{json.dumps(value)} is none of these")],
        )
    return json.dumps(value)
