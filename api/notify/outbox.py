"""The notices of one population: they wait, are sent one after the other, and are noted.

What is about to be sent is written down before. So no notice is sent again after a restart; one
whose sending was interrupted is given up, because the receiver may have it.
"""

import json
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

from api.http.settings import Settings
from api.notify.addresses import TargetError, resolve, target_of
from api.notify.happenings import Happening, Standstill
from api.notify.post import DeliveryError, post
from api.notify.stored import (
    EventName,
    Notice,
    Outgoing,
    WebhookSettings,
    read_outgoing,
    read_settings,
    write_outgoing,
    write_settings,
)

MOST_WAITING = 100
LONGER = 5
"""Each wait for the next attempt is so many times as long as the one before."""

Ended = Callable[[str, Notice], None]
"""Called with the population and a notice that was taken or given up."""


@dataclass(frozen=True, slots=True)
class WebhookView:
    """A webhook, as it is shown.

    target   where it goes, without the path
    events   what it tells
    signed   whether there is a secret
    waiting  notices that were not taken yet, oldest first
    ended    the newest that were taken or given up, oldest first
    """

    target: str
    events: tuple[EventName, ...]
    signed: bool
    waiting: tuple[Notice, ...]
    ended: tuple[Notice, ...]


class Outbox:
    """The webhook of one population. Several threads may use it.

    outgoing  what was sent and what waits; changed only inside `with outbox.lock`
    """

    def __init__(self, name: str, root: Path, hook: WebhookSettings, outgoing: Outgoing) -> None:
        self.name, self.root, self.hook, self.outgoing = name, root, hook, outgoing
        self.lock = threading.Lock()
        self.standstill = Standstill()
        self._closed = threading.Event()

    @classmethod
    def set_anew(cls, name: str, root: Path, hook: WebhookSettings, outgoing: Outgoing) -> Self:
        """Write a webhook that a person set. Raises: OSError."""
        root.mkdir(parents=True, exist_ok=True)
        write_outgoing(root, outgoing)
        write_settings(root, hook)
        return cls(name, root, hook, outgoing)

    def close(self) -> None:
        """Nothing is written or sent any more, but an attempt that was begun."""
        with self.lock:
            self._closed.set()

    def add(self, happenings: Sequence[Happening], now: float) -> None:
        """Note what is to be told, with everything that was seen. Raises: OSError."""
        outgoing = self.outgoing
        for happening in happenings:
            if happening.event not in self.hook.events:
                continue
            outgoing.count += 1
            outgoing.waiting.append(
                Notice(outgoing.count, happening.event, now, happening.details, next_at=now)
            )
        while len(outgoing.waiting) > MOST_WAITING:
            first = outgoing.waiting[1 if outgoing.waiting[0].sending else 0]
            outgoing.waiting.remove(first)
            outgoing.ended.append(replace(first, ended_at=now, problem="too many notices wait"))
        write_outgoing(self.root, outgoing)

    def due(self, now: float) -> bool:
        """Whether an attempt can be begun."""
        waiting = self.outgoing.waiting
        return bool(waiting) and not waiting[0].sending and waiting[0].next_at <= now

    def send_first(self, settings: Settings, ended: Ended) -> None:
        """Make one attempt to send the oldest notice. Raises: OSError when nothing can be noted."""
        with self.lock:
            if self._closed.is_set() or not self.due(time.time()):
                return
            first = self.outgoing.waiting[0]
            notice = replace(first, tries=first.tries + 1, sending=True)
            self._replace_first(notice)
        problem, lasting = self._attempt(notice, settings)
        now = time.time()
        over = not problem or lasting or notice.tries >= settings.webhook_tries
        wait_s = settings.webhook_backoff_s * LONGER ** (notice.tries - 1)
        after = replace(notice, sending=False, problem=problem, next_at=now + wait_s)
        with self.lock:
            if self._closed.is_set():
                return
            if over:
                after = replace(after, ended_at=now)
                self.outgoing.end(after)
                write_outgoing(self.root, self.outgoing)
            else:
                self._replace_first(after)
        if over:
            ended(self.name, after)

    def _replace_first(self, notice: Notice) -> None:
        before = self.outgoing.waiting[0]
        self.outgoing.waiting[0] = notice
        try:
            write_outgoing(self.root, self.outgoing)
        except OSError:
            self.outgoing.waiting[0] = before
            raise

    def _attempt(self, notice: Notice, settings: Settings) -> tuple[str, bool]:
        """(why it failed, "" where it was taken; whether another attempt would fail as well)."""
        try:
            target = target_of(self.hook.url)
            address = resolve(target, settings.webhook_hosts)
            body = json.dumps(body_of(self.name, notice)).encode()
            post(target, address, body, self.hook.secret, settings.webhook_timeout_s)
        except (DeliveryError, TargetError) as error:
            return str(error), error.lasting
        return "", False

    def view(self) -> WebhookView:
        with self.lock:
            return WebhookView(
                target_of(self.hook.url).shown,
                self.hook.events,
                self.hook.secret is not None,
                tuple(self.outgoing.waiting),
                tuple(self.outgoing.ended),
            )


def body_of(name: str, notice: Notice) -> dict[str, object]:
    """The JSON that a receiver gets."""
    return {
        "id": notice.id_of(name),
        "name": name,
        "event": notice.event,
        "time": notice.time,
        "details": dict(notice.details),
    }


def stored_view(name: str, root: Path) -> WebhookView | None:
    """The webhook in the folder of a population; its notices may belong to another service.

    Raises: PbtError for damaged files.
    """
    hook = read_settings(root)
    if hook is None:
        return None
    return Outbox(name, root, hook, read_outgoing(root) or Outgoing(0)).view()


def troubles(view: WebhookView) -> list[str]:
    """What is wrong with a webhook, one sentence each."""
    texts = [
        f"webhook: {one.event!r} was not taken at attempt {one.tries}: {one.problem}; it is tried "
        "again"
        for one in view.waiting
        if one.problem
    ]
    if view.ended and view.ended[-1].problem:
        last = view.ended[-1]
        texts.append(f"webhook: {last.event!r} was not delivered: {last.problem}")
    return texts
