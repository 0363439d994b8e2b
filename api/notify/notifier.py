"""The notifier: the threads that look what happened, and send webhooks.

No trainer and no request waits for them. Each attempt has a thread of its own, a few at a time and
one of each population, so that a slow receiver holds up no other.
"""

import threading
import time
from collections.abc import Callable
from pathlib import Path

import structlog

from api.http.settings import Settings
from api.notify.happenings import ends, frames_of, new_bests, progress_of
from api.notify.outbox import Outbox, WebhookView, stored_view
from api.notify.stored import (
    Notice,
    Outgoing,
    WebhookSettings,
    after_restart,
    read_outgoing,
    read_settings,
    settings_file,
)
from arena.data.paths import POPULATION_NAME, population_paths
from arena.league.database import League
from arena.league.paging import league_revision
from arena.league.service_events import event_bounds, events_after, tell
from arena.league.supervised import find_supervised
from pbt.errors import PbtError, PlayerError

AT_ONCE = 4
PAGE = 500
REST = 20
"""A look for the best rests for so many times as long as it took: ratings need much time."""
CLOSE_TIMEOUT_S = 0.5

log = structlog.stdlib.get_logger("api.webhooks")


class Notifier:
    """Sends the webhooks of all populations. One of the service."""

    def __init__(self, settings: Settings, league: League) -> None:
        self._settings, self._league = settings, league
        self._outboxes: dict[str, Outbox] = {}
        self._lock = threading.Lock()
        self._closing = threading.Event()
        self._places = threading.Semaphore(AT_ONCE)
        self._threads = [
            threading.Thread(target=self._repeat, args=arguments, daemon=True, name=f"webhooks {n}")
            for n, arguments in enumerate(((self._look,), (self._look_for_bests,)))
        ]
        self._revision = ""

    def start(self) -> None:
        """Begin to look; a service that only reads sends nothing."""
        if not self._settings.read_only:
            for thread in self._threads:
                thread.start()

    def close(self) -> None:
        """End within half a second. An attempt that goes on is not made again later."""
        self._closing.set()
        for thread in self._threads:
            if thread.is_alive():
                thread.join(CLOSE_TIMEOUT_S)

    def put(self, name: str, hook: WebhookSettings) -> WebhookView:
        """Set the webhook of a population. What happened before is not told. Raises: OSError."""
        with self._lock:
            if (before := self._outboxes.pop(name, None)) is not None:
                before.close()
            root, (_, newest) = self._root(name), event_bounds(self._league)
            self._outboxes[name] = Outbox.set_anew(name, root, hook, Outgoing(newest))
            return self._outboxes[name].view()

    def remove(self, name: str) -> bool:
        """Remove the webhook of a population; False where there is none. Raises: OSError."""
        with self._lock:
            if (before := self._outboxes.pop(name, None)) is not None:
                before.close()
            file = settings_file(self._root(name))
            there = file.exists()
            file.unlink(missing_ok=True)
            return there

    def view(self, name: str) -> WebhookView | None:
        """The webhook of a population, None where there is none. Raises: PbtError when damaged."""
        with self._lock:
            outbox = self._outboxes.get(name)
        return stored_view(name, self._root(name)) if outbox is None else outbox.view()

    def _root(self, name: str) -> Path:
        return population_paths(self._settings.data, name).root

    # --- the threads ------------------------------------------------------------------------------

    def _repeat(self, look: Callable[[], float]) -> None:
        while not self._closing.is_set():
            try:
                wait_s = look()
            except (PbtError, OSError) as error:
                log.warning("webhooks wait", error=str(error))
                wait_s = self._settings.webhook_look_s * REST
            except Exception:  # if this thread ended, no webhook would be sent any more
                log.exception("fault; looking again")
                wait_s = self._settings.webhook_look_s * REST
            self._closing.wait(wait_s)

    def _look(self) -> float:
        """See what ended or stands still, and begin what is due. Returns the time to wait."""
        self._league.refuse_if_away()
        for outbox in self._present():
            try:
                self._look_at(outbox)
            except (PlayerError, FileNotFoundError):
                continue  # the population is being deleted
            if outbox.due(time.time()) and self._places.acquire(blocking=False):
                threading.Thread(
                    target=self._send, args=(outbox,), name=f"webhook {outbox.name}", daemon=True
                ).start()
        return self._settings.webhook_look_s

    def _present(self) -> list[Outbox]:
        """The outboxes of the webhooks that are in the data directory now."""
        files = (self._settings.data / "populations").glob("*/" + settings_file(Path()).name)
        names = {file.parent.name for file in files if POPULATION_NAME.fullmatch(file.parent.name)}
        with self._lock:
            for name in self._outboxes.keys() - names:
                self._outboxes.pop(name).close()
            for name in names - self._outboxes.keys():
                if (opened := self._opened(name)) is not None:
                    self._outboxes[name] = opened
            return list(self._outboxes.values())

    def _opened(self, name: str) -> Outbox | None:
        """The outbox of an earlier service; None where its files are damaged."""
        root, (_, newest) = self._root(name), event_bounds(self._league)
        try:
            hook, outgoing = read_settings(root), read_outgoing(root)
        except PbtError as error:
            log.warning("webhook cannot be read", population=name, error=str(error))
            return None
        if hook is None:
            return None
        outgoing = Outgoing(newest) if outgoing is None else outgoing
        return Outbox(name, root, hook, after_restart(outgoing, newest, time.time()))

    def _look_at(self, outbox: Outbox) -> None:
        name, paths = outbox.name, population_paths(self._settings.data, outbox.name)
        with self._league.read() as connection:
            row = find_supervised(connection, name)
        progress = progress_of(self._league, name, paths)
        with outbox.lock:
            outgoing = outbox.outgoing
            page, after = events_after(
                self._league, outgoing.after, PAGE, ("population",), population=name
            )
            found = ends(outgoing, page, frames_of(paths))
            outgoing.after = after
            found += outbox.standstill.look(
                outgoing, row, progress, self._settings.webhook_stalled_s
            )
            if found:
                outbox.add(found, time.time())

    def _look_for_bests(self) -> float:
        """See whether a snapshot is the best for the first time. Returns the time to wait."""
        began, revision = time.monotonic(), league_revision(self._league)
        with self._lock:
            outboxes = list(self._outboxes.values())
        for outbox in outboxes:
            asked = "best" in outbox.hook.events
            if not asked or (revision == self._revision and outbox.outgoing.best is not None):
                continue
            try:
                self._look_for_best(outbox)
            except (PlayerError, FileNotFoundError):
                continue  # the population is being deleted
        self._revision = revision
        return max(self._settings.webhook_best_s, REST * (time.monotonic() - began))

    def _look_for_best(self, outbox: Outbox) -> None:
        seen = Outgoing(0, best=outbox.outgoing.best)
        found = new_bests(self._league, outbox.name, seen)
        with outbox.lock:
            if seen.best != outbox.outgoing.best:
                outbox.outgoing.best = seen.best
                outbox.add(found, time.time())

    def _send(self, outbox: Outbox) -> None:
        try:
            outbox.send_first(self._settings, self._ended)
        except (PbtError, OSError) as error:
            log.warning("webhook waits", population=outbox.name, error=str(error))
        except Exception as error:  # noqa: BLE001  its traceback would show the secret
            words = f"{type(error).__name__}: {error}"
            log.error("fault in a webhook", population=outbox.name, error=words)
        finally:
            self._places.release()

    def _ended(self, name: str, notice: Notice) -> None:
        """Tell the subscribers of events how a notice ended."""
        told = {
            "event": notice.event,
            "delivered": not notice.problem,
            "problem": notice.problem or None,
            "tries": notice.tries,
        }
        if notice.problem:
            log.warning(
                "webhook not delivered", population=name, notice=notice.event, error=notice.problem
            )
        with self._league.write() as connection:
            tell(connection, "webhook", name, told)
