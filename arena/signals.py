"""Signals of a running training: the first asks it to save and stop, a second Ctrl-C stops it now.

The first one may be Ctrl-C (SIGINT), SIGTERM or SIGHUP. The same object carries the other request
that stops an engine: edits by which members join or leave, after which training goes on.
"""

import signal
from types import FrameType
from typing import Any, Self

from arena.data.edits import Edits

STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class SignalControl:
    """A ControlSource that is fed by signals. It puts the earlier signal handlers back on exit.

    requested       the signal that asked for the stop, None before one arrived
    members_wanted  edits by which members join or leave: this engine is to stop, and a new engine
                    is to go on with those members
    """

    def __init__(self) -> None:
        self.requested: signal.Signals | None = None
        self.members_wanted: Edits | None = None
        self._previous: dict[signal.Signals, Any] = {}

    def goes_on(self) -> bool:
        """Whether a new engine is to go on with other members. A stop by signal overrules this."""
        if self.requested is not None:
            self.members_wanted = None
        return self.members_wanted is not None

    def take_members(self) -> Edits | None:
        """Returns the edits of the members that are waiting, and forgets them."""
        edits, self.members_wanted = self.members_wanted, None
        return edits

    def stop_requested(self) -> bool:
        return self.requested is not None or self.members_wanted is not None

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        if self.requested is not None and number == signal.SIGINT:
            raise KeyboardInterrupt
        self.requested = signal.Signals(number)

    def __enter__(self) -> Self:
        # A process under nohup ignores SIGHUP, because it is meant to survive its terminal.
        handled = [
            number
            for number in STOPPING
            if number != signal.SIGHUP or signal.getsignal(number) != signal.SIG_IGN
        ]
        self._previous = {number: signal.signal(number, self._on_signal) for number in handled}
        return self

    def __exit__(self, *failure: object) -> None:
        for number, handler in self._previous.items():
            signal.signal(number, handler)
