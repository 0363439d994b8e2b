"""The files of a webhook, in the folder of its population.

`webhook.json` has what a person set, `webhook-sent.json` what was sent and what waits. They are
files and no rows: a webhook is no part of what a league proves, its secret must not stand in rows
that every viewer reads, and it goes with the folder when the population is deleted.
"""

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, get_args

from pbt.errors import PbtError
from pbt.files import whole_file

EventName = Literal["finished", "failed", "stalled", "best"]
EVENTS: tuple[EventName, ...] = get_args(EventName)
SENT_KEPT = 20


@dataclass(frozen=True, slots=True)
class WebhookSettings:
    """What a person set.

    url     where to send
    events  what to tell
    secret  to sign with, None for no signature
    """

    url: str = field(repr=False)
    events: tuple[EventName, ...] = EVENTS
    secret: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class Notice:
    """Something to be told, and how its sending stands.

    number    counts the notices of a webhook
    event     what happened
    time      when, in seconds since 1970
    details   more about it
    tries     attempts so far
    sending   an attempt was begun and has not ended
    next_at   when the next attempt is due, in seconds since 1970
    problem   why the last attempt failed, "" before any failed
    ended_at  when it was taken or given up, None while it waits
    """

    number: int
    event: EventName
    time: float
    details: Mapping[str, Any]
    tries: int = 0
    sending: bool = False
    next_at: float = 0.0
    problem: str = ""
    ended_at: float | None = None

    def id_of(self, population: str) -> str:
        """Its id, by which a receiver knows it again."""
        return f"{population}-{self.number}"


@dataclass(slots=True)
class Outgoing:
    """What a webhook has sent and what waits.

    after    events of the service up to this number are done
    state    of the population, by the last of these events
    stalled  the progress at which the population was told to be stalled
    best     ids of all snapshots that were the best so far; None before the first look
    count    how many notices there were
    waiting  oldest first
    ended    the newest that were taken or given up, oldest first
    """

    after: int
    state: str | None = None
    stalled: list[int] | None = None
    best: list[str] | None = None
    count: int = 0
    waiting: list[Notice] = field(default_factory=list)
    ended: list[Notice] = field(default_factory=list)

    def end(self, notice: Notice) -> None:
        """The oldest notice that waits has ended so."""
        self.waiting = self.waiting[1:]
        self.ended = [*self.ended, notice][-SENT_KEPT:]


def settings_file(root: Path) -> Path:
    """root: the folder of the population."""
    return root / "webhook.json"


def outgoing_file(root: Path) -> Path:
    return root / "webhook-sent.json"


def read_settings(root: Path) -> WebhookSettings | None:
    """None where there is no webhook. Raises: PbtError for a damaged file."""
    table = _read(settings_file(root))
    if table is None:
        return None
    try:
        events = tuple(name for name in EVENTS if name in table["events"])
        return WebhookSettings(str(table["url"]), events, table["secret"])
    except (KeyError, TypeError) as error:
        raise _damaged(settings_file(root), error) from error


def read_outgoing(root: Path) -> Outgoing | None:
    """None where nothing was sent. Raises: PbtError for a damaged file."""
    table = _read(outgoing_file(root))
    if table is None:
        return None
    try:
        rows = {name: [Notice(**row) for row in table[name]] for name in ("waiting", "ended")}
        return Outgoing(**{**table, **rows})
    except (KeyError, TypeError) as error:
        raise _damaged(outgoing_file(root), error) from error


def write_settings(root: Path, settings: WebhookSettings) -> None:
    """Raises: OSError when the disk refuses."""
    root.mkdir(parents=True, exist_ok=True)
    _write(settings_file(root), asdict(settings))


def write_outgoing(root: Path, outgoing: Outgoing) -> None:
    """Raises: OSError when the disk refuses, or the population is gone."""
    _write(outgoing_file(root), asdict(outgoing))


def after_restart(outgoing: Outgoing, newest: int, now: float) -> Outgoing:
    """What goes on in a new service.

    An attempt that had begun may have reached the receiver, so it is not made again.
    newest  number of the newest event; a restored league may have fewer than were told
    """
    lost = [
        replace(notice, sending=False, ended_at=now, problem="the service ended while it was sent")
        for notice in outgoing.waiting
        if notice.sending
    ]
    return replace(
        outgoing,
        after=min(outgoing.after, newest),
        waiting=[notice for notice in outgoing.waiting if not notice.sending],
        ended=[*outgoing.ended, *lost][-SENT_KEPT:],
    )


def _read(path: Path) -> dict[str, Any] | None:
    try:
        table = json.loads(path.read_bytes())
    except FileNotFoundError:
        return None
    except ValueError as error:
        raise _damaged(path, error) from error
    if not isinstance(table, dict):
        raise _damaged(path, "no object")
    return table


def _damaged(path: Path, error: object) -> PbtError:
    return PbtError(f"{path}: damaged ({error}); set the webhook anew, or remove the file")


def _write(path: Path, table: Mapping[str, Any]) -> None:
    with whole_file(path) as file:
        os.fchmod(file.fileno(), 0o600)
        file.write(json.dumps(table, indent=1).encode())
