"""A person at a board, in a process of its own on a leash: `python -P -m arena.programs.play DATA
IDLE_S REQUEST`, REQUEST a JSON object.

One JSON object per line. On standard output: `standing` whenever the person is to move, and at the
end; `refused` for what was no move. On standard input: {"action": 3, "at": 5} or {"resign": true}.
Its end ends this process, and the game with it, of which nothing is stored then. Exit codes: 0
over, 1 to 4 as of `arena match`, 130 hung up.
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
# A game that is being stored when its holder goes away gets so long.
LEAVE_S = 10.0


class HungUp(Exception):
    """Whoever held the other end has gone."""


class Lines:
    """What is said on standard input, read by a thread of its own: the leash holds whatever this
    process is doing.
    """

    def __init__(self, descriptor: int, idle_s: float) -> None:
        # Unbuffered: a thread that waits with a buffer's lock would be in the way when the
        # interpreter ends.
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
        """As `arena.matches.by_hand.Hear`. Raises also: HungUp."""
        try:
            said = self._said.get(timeout=self._idle_s)
        except Empty:
            raise Silence(f"said nothing for {self._idle_s:g} s") from None
        if said is None:
            raise HungUp
        return said


def main() -> int:
    """Raises nothing that somebody could mend: that is one line on standard error."""
    data, idle_s, request = (
        Path(sys.argv[1]),
        float(sys.argv[2]),
        Request(**json.loads(sys.argv[3])),
    )
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
    """Standard output for the lines alone: what libraries print goes to standard error."""
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    return out


if __name__ == "__main__":
    os.environ.setdefault("PYGAME_HIDE_SUPPORT_PROMPT", "1")
    sys.exit(main())
