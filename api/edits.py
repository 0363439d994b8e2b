"""Edits of a population's config, decided on what stands, and anew where another request came in between."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from api.context import Context, revision_of
from arena.league.answers import Answer, Keyed
from arena.league.populations import stored_config
from arena.league.supervision import PreconditionError, Supervised, edit, get_supervised
from pbt.config.load import config_from_table
from pbt.config.schema import RunConfig
from pbt.errors import PbtError

TRIES = 8


@dataclass(frozen=True)
class Decided:
    """words: "key=value", in order;  anchor: a snapshot that is kept from now on, with the edit or not at all"""

    words: Sequence[str]
    render: Callable[[Supervised], Answer]
    anchor: str | None = None


def edit_decided(here: Context, name: str, decide: Callable[[Supervised, RunConfig], Decided], keyed: Keyed | None, if_match: str | None) -> Answer:
    """decide: from the population and its config with the edits that wait; what it refuses it raises.

    Two edits that are each sound are held against each other: the second one is decided on what the first one left.
    """
    wished = revision_of(if_match)
    for attempt in range(1, TRIES + 1):
        row = get_supervised(here.league, name)
        decided = decide(row, in_force(here, name, row))
        revision = row.revision if wished is None else wished
        try:
            return edit(here.league, name, decided.words, decided.render, keyed=keyed, if_revision=revision, anchor=decided.anchor)
        except PreconditionError:
            if wished is not None or attempt == TRIES:
                raise
    raise AssertionError("the last attempt answers or raises")


def config_table(here: Context, name: str) -> dict[str, Any]:
    """The config in force; before its first start, the one it was made with."""
    path = here.paths(name).config
    try:
        table: dict[str, Any] = json.loads(path.read_bytes())
    except FileNotFoundError:
        return stored_config(here.league, name)
    except ValueError as error:
        raise PbtError(f"{path}: damaged ({error})") from error
    return table


def in_force(here: Context, name: str, row: Supervised) -> RunConfig:
    """With the edits that wait."""
    return config_from_table(config_table(here, name), f"stored config of {name!r}", row.overrides)
