"""The config and status of a population, and edits of that config.

An edit is decided on the config in force. It is decided again where another request came first.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from api.context import Context, revision_of
from arena.data.status import RunStatus, read_status
from arena.league.idempotency import Answer, Keyed
from arena.league.population_requests import edit
from arena.league.populations import stored_config
from arena.league.supervised import PreconditionError, Supervised, get_supervised
from pbt.config.load import config_from_table
from pbt.config.resume import takes_live
from pbt.config.schema import RunConfig
from pbt.errors import PbtError

TRIES = 8
WITH_TRAINER = ("starting", "running", "recovering")


@dataclass(frozen=True)
class Decided:
    """An edit that was decided.

    words   "key=value", in order
    render  makes the answer from the edited row
    anchor  a snapshot that becomes an anchor together with the edit, or not at all
    """

    words: Sequence[str]
    render: Callable[[Supervised], Answer]
    anchor: str | None = None


def edit_decided(
    here: Context,
    name: str,
    decide: Callable[[Supervised, RunConfig], Decided],
    keyed: Keyed | None,
    if_match: str | None,
) -> Answer:
    """Store an edit.

    decide  makes the edit from the population's row and its config with the waiting edits; it
            raises an error for an edit that it refuses
    Of two edits at the same time the second one is decided again, on what the first one left: each
    may be valid alone, but not both together.
    """
    required = revision_of(if_match)
    for attempt in range(1, TRIES + 1):
        row = get_supervised(here.league, name)
        decided = decide(row, in_force(here, name, row))
        revision = row.revision if required is None else required
        try:
            return edit(
                here.league,
                name,
                decided.words,
                decided.render,
                keyed=keyed,
                if_revision=revision,
                anchor=decided.anchor,
            )
        except PreconditionError:
            if required is not None or attempt == TRIES:
                raise
    raise AssertionError("the last attempt answers or raises")


def effects(state: str, before: RunConfig, after: RunConfig, status: RunStatus | None) -> list[str]:
    """What an edit does beside setting values, in words. Pure.

    state   of the population
    status  of its newest trainer
    """
    sentences = []
    if state in WITH_TRAINER and not takes_live(before, after):
        sentences.append("its trainer saves, and starts again with the new values")
    learning = (
        [member.frames for member in status.members if member.state != "failed"]
        if status is not None
        else []
    )
    target, least = after.stop_at_frames, min(learning, default=0)
    if state == "finished":
        return (
            ["it is finished; start it to train on"]
            if target > max(least, before.stop_at_frames)
            else []
        )
    if learning and least >= target:
        when = (
            "the population finishes" if state in WITH_TRAINER else "it finishes at its next start"
        )
        sentences.append(f"every member has trained {target:,} frames already: {when}")
    return sentences


def config_table(here: Context, name: str) -> dict[str, Any]:
    """The config in force; before the first start, the one that the population was created with."""
    path = here.paths(name).config
    try:
        table: dict[str, Any] = json.loads(path.read_bytes())
    except FileNotFoundError:
        return stored_config(here.league, name)
    except ValueError as error:
        raise PbtError(f"{path}: damaged ({error})") from error
    return table


def status_of(here: Context, name: str) -> RunStatus | None:
    """The newest status that its trainer wrote; None where the file is damaged.

    The trainer writes it again every second.
    """
    try:
        return read_status(here.paths(name).status)
    except PbtError:
        return None


def in_force(here: Context, name: str, row: Supervised) -> RunConfig:
    """The config with the edits that wait."""
    return config_from_table(config_table(here, name), f"stored config of {name!r}", row.overrides)
