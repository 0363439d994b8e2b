"""Plays one game with a person: `python -P -m arena.programs.play DATA IDLE_S REQUEST`.

REQUEST is a JSON object with the fields of `arena.matches.by_hand.Request`. The process is on a
leash and speaks one JSON object per line. It writes `standing` whenever the person is to move and
at the end of the game, and `refused` after an illegal move. It reads {"action": 3, "at": 5} or
{"resign": true}. The end of standard input ends the process, and then nothing of the game is
stored.

Exit codes: 0 the game is over, 1 to 4 as of `arena match`, 130 the other end hung up.
"""

import json
import os
import sys
import threading
import time
from collections.abc import Mapping
from io import FileIO
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any, TextIO

from arena.data.paths import league_path
from arena.league.database import open_league
from arena.matches.by_hand import Dropped, HandGame, Request, Silence
from pbt.errors import PbtError

INTERRUPTED = 130
# Time to store a finished game after the other end has hung up.
LEAVE_S = 10.0


class HungUp(Exception):
    """The process at the other end of standard input is gone."""


class Lines:
    """Messages on standard input, read by a thread of their own.

    The thread keeps the leash, even while the process computes.

    idle_s  how long a person may take for a message
    """

    def __init__(self, descriptor: int, idle_s: float) -> None:
        # Unbuffered: a waiting thread that held a buffer's lock would block the interpreter's exit.
        self._stream, self._idle_s = FileIO(descriptor, closefd=False), idle_s
        self._said: SimpleQueue[Mapping[str, Any] | None] = SimpleQueue()
        threading.Thread(target=self._read, daemon=True, name="leash").start()

    def _read(self) -> None:
        try:
            for line in self._stream:
                self._said.put(json.loads(line))
        finally:
            self._said.put(None)
            time.sleep(LEAVE_S)
            os._exit(INTERRUPTED)

    def hear(self) -> Mapping[str, Any]:
        """The next message, as `arena.matches.by_hand.Hear`. Raises: Silence, HungUp."""
        try:
            message = self._said.get(timeout=self._idle_s)
        except Empty:
            raise Silence(f"said nothing for {self._idle_s:g} s") from None
        if message is None:
            raise HungUp
        return message


def main() -> int:
    """Returns the exit code. An error that a user can mend is one line on standard error."""
    data, idle_s = Path(sys.argv[1]), float(sys.argv[2])
    request = Request(**json.loads(sys.argv[3]))
    out = _own_output()
    lines = Lines(sys.stdin.fileno(), idle_s)

    def say(message: Mapping[str, Any]) -> None:
        print(json.dumps(message), file=out, flush=True)

    try:
        with open_league(league_path(data)) as league:
            HandGame(request, data, league, say, lines.hear).play()
    except Dropped as dropped:
        say({"type": "dropped", "detail": str(dropped)})
    except PbtError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_code
    except (HungUp, BrokenPipeError):
        return INTERRUPTED
    return 0


def _own_output() -> TextIO:
    """Standard output, kept for the messages: prints of libraries go to standard error."""
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    return out


if __name__ == "__main__":
    os.environ.setdefault("PYGAME_HIDE_SUPPORT_PROMPT", "1")
    sys.exit(main())
