"""Games that people play by hand: each in a process of its own, of which only so many run at
once. Used from the threads of requests.
"""

import json
import secrets
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import IO, Any, Literal, cast

import structlog

from api.http.problems import Problem
from api.http.settings import Settings
from api.reconcile.trainer_process import complaint
from pbt.errors import PlayerError
from pbt.processes.child_process import ChildProcess

State = Literal["starting", "turn", "thinking", "over", "dropped", "failed"]
ENDED: tuple[State, ...] = ("over", "dropped", "failed")
# Loading a large network on a busy machine takes its time; a move does not.
ANSWER_S = 60.0
LEAVE_S = 5.0
# Between the end of its output and its own: a game may still be stored.
END_S = 15.0
KEPT = 100
# Of a process that was asked for something that cannot be done.
REFUSED_CODE = PlayerError.exit_code
_WORDS = 2000

log = structlog.stdlib.get_logger("api.plays")


class Play:
    """One game that a person plays, from its start to its end.

    asked     what its process was started with (`arena.matches.by_hand.Request`)
    said      the body of the HTTP request, which a caller that retries sends again
    key       the Idempotency-Key of that request, None without one
    state     "turn": the person is to move; "thinking": their move is being answered; "dropped":
              the game ended and nothing was stored
    standing  how the game stands by the newest report of its process, None before the first
    message   why it failed or was dropped
    refused   its process could not do what was asked, and ended before the game began
    """

    def __init__(
        self, command: Sequence[str], asked: Mapping[str, Any], said: object, key: str | None
    ) -> None:
        self.asked, self.said, self.key = asked, said, key
        self.state: State = "starting"
        self.standing: Mapping[str, Any] | None = None
        self.message = ""
        self.refused = False
        self._refused: Mapping[str, Any] | None = None
        self._changed = threading.Condition()
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115  closed when the process has ended
        words = [*command, json.dumps(asked)]
        self._process = ChildProcess(
            words,
            session=True,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
        )
        threading.Thread(target=self._listen, name=f"play {asked['id']}", daemon=True).start()

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def running(self) -> bool:
        return self._process.exit_code() is None

    def _listen(self) -> None:
        for line in cast(IO[bytes], self._process.stdout):
            with self._changed:
                self._take(json.loads(line))
                self._changed.notify_all()
        code = self._process.wait(END_S)
        if code is None:
            code = self._process.kill() or -signal.SIGKILL
        words = self._words()
        with self._changed:
            if self.state not in ENDED:
                self.state, self.message = "failed", self.message or complaint(words, code)
                self.refused = self.standing is None and code == REFUSED_CODE
            self._changed.notify_all()
        for stream in (self._process.stdin, self._process.stdout, self._errors):
            with suppress(BrokenPipeError):
                cast(IO[bytes], stream).close()
        if self.state == "failed":
            log.error("failed", play=self.asked["id"], code=code, output=words)
        log.info("ended", play=self.asked["id"], state=self.state, code=code)

    def _take(self, told: Mapping[str, Any]) -> None:
        if self.state in ENDED:
            return
        if told["type"] == "refused":
            self.state, self._refused = "turn", told
        elif told["type"] == "dropped":
            self.state, self.message = "dropped", told["detail"]
        else:
            self.state, self.standing = told["state"], told

    def _words(self) -> list[str]:
        self._errors.seek(0)
        return self._errors.read()[-_WORDS:].decode(errors="replace").splitlines()

    def say(self, message: Mapping[str, Any]) -> None:
        """Return when it is answered. Raises: Problem when the person is not to move, and for
        what is no move.
        """
        with self._changed:
            if self.state != "turn":
                raise Problem(
                    "conflict",
                    (
                        f"play {self.asked['id']} is {self.state}; a move can be made when it is "
                        "at turn"
                    ),
                )
            self.state, self._refused = "thinking", None
            with suppress(BrokenPipeError, ValueError):
                # Its end shows on the other pipe.
                stdin = cast(IO[bytes], self._process.stdin)
                stdin.write(json.dumps(message).encode() + b"\n")
                stdin.flush()
            if not self._changed.wait_for(lambda: self.state != "thinking", ANSWER_S):
                self.message = f"its process gave no answer within {ANSWER_S:g} s"
                self.kill()
                raise Problem("conflict", self.message)
            if self._refused is not None:
                raise Problem(
                    self._refused["kind"],
                    self._refused["detail"],
                    [("/action", self._refused["detail"])],
                )

    def wait_seen(self, timeout_s: float) -> None:
        """Wait until the game has begun or failed, at most `timeout_s`."""
        with self._changed:
            self._changed.wait_for(lambda: self.state != "starting", timeout_s)

    def resign(self) -> None:
        """End the game: it is forfeited if the person has moved, else dropped.

        Raises: Problem while a move is being answered.
        """
        if self.state == "starting":
            with self._changed:
                self.state, self.message = "dropped", "it was ended before it began"
            self.kill()
        elif self.state not in ENDED:
            self.say({"resign": True})

    def leave(self) -> None:
        """Let its process end. What it does not store at once is lost."""
        with suppress(BrokenPipeError):
            cast(IO[bytes], self._process.stdin).close()

    def kill(self) -> None:
        self._process.kill()

    def gone(self, timeout_s: float) -> bool:
        return self._process.wait(timeout_s) is not None


class Plays:
    """All games by hand that run, and the newest KEPT that are over."""

    def __init__(self, settings: Settings) -> None:
        self._settings, self._plays = settings, dict[str, Play]()
        self._lock = threading.Lock()

    def begin(self, asked: Mapping[str, Any], said: object, key: str | None) -> Play:
        """asked: as for `arena.matches.by_hand.Request`, without the id. Raises: Problem when too
        many run, and when `key` was used for something else.
        """
        with self._lock:
            known = next(
                (play for play in self._plays.values() if key is not None and play.key == key), None
            )
            if known is not None:
                if known.said != said:
                    raise Problem(
                        "reused-key", f"Idempotency-Key {key!r} was used for another play"
                    )
                return known
            if sum(play.running for play in self._plays.values()) >= self._settings.max_plays:
                limit = (
                    f"{self._settings.max_plays} games are being played by hand; end one, or wait"
                )
                raise Problem("too-many-requests", limit, headers={"retry-after": "30"})
            name = secrets.token_hex(8)
            command = [
                *self._settings.sitting,
                str(self._settings.data),
                str(self._settings.play_idle_s),
            ]
            play = self._plays[name] = Play(command, {"id": name, **asked}, said, key)
            self._forget()
        log.info("begin", play=name, pid=play.pid)
        return play

    def seated(self, play: Play, timeout_s: float) -> Play:
        """The play, when its game has begun or timeout_s are over.

        Raises: Problem for players that cannot meet at a board; the play is forgotten.
        """
        play.wait_seen(timeout_s)
        if play.refused:
            with self._lock:
                self._plays.pop(play.asked["id"], None)
            raise Problem("invalid", play.message, [("/opponent", play.message)])
        return play

    def _forget(self) -> None:
        over = [name for name, play in self._plays.items() if not play.running]
        for name in over[: max(0, len(self._plays) - KEPT)]:
            del self._plays[name]

    def find(self, name: str) -> Play:
        """Raises: Problem."""
        play = self._plays.get(name)
        if play is None:
            raise Problem(
                "not-found",
                (
                    f"there is no play {name}: it ended a while ago, or the service was started "
                    "again since"
                ),
            )
        return play

    def close(self) -> None:
        """All of them end. May be called again."""
        plays = [play for play in self._plays.values() if play.running]
        for play in plays:
            play.leave()
        deadline = time.monotonic() + LEAVE_S
        for play in plays:
            if not play.gone(max(0.0, deadline - time.monotonic())):
                play.kill()
                play.gone(LEAVE_S)
