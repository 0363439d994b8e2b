"""Requests to a running training, by callers of this process or by signals.

The first signal asks it to save and stop, a second Ctrl-C stops it now. The first one may be Ctrl-C
(SIGINT), SIGTERM or SIGHUP. The same object carries the other request that stops an engine: edits
by which members join or leave, after which training goes on.
"""

import signal
from types import FrameType
from typing import Any, ClassVar, Self

from arena.data.edits import Edits

STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class TrainingControl:
    """A ControlSource that callers of this process feed. It touches no signal.

    members_wanted    edits by which members join or leave: this engine is to stop, and a new engine
                      is to go on with those members
    takes_interrupts  whether Ctrl-C comes to this object instead of as a KeyboardInterrupt
    """

    takes_interrupts: ClassVar[bool] = False

    def __init__(self) -> None:
        self.members_wanted: Edits | None = None
        self._stopping = False

    def stop(self) -> None:
        """Ask the training to save and stop. Any thread may call it."""
        self._stopping = True

    def goes_on(self) -> bool:
        """Whether a new engine is to go on with other members. A stop overrules this."""
        if self._stopping:
            self.members_wanted = None
        return self.members_wanted is not None

    def take_members(self) -> Edits | None:
        """Returns the edits of the members that are waiting, and forgets them."""
        edits, self.members_wanted = self.members_wanted, None
        return edits

    def stop_requested(self) -> bool:
        """Whether the engine is to stop. It asks in each of its turns."""
        return self._stopping or self.members_wanted is not None

    def __enter__(self) -> Self:
        """The training begins."""
        return self

    def __exit__(self, *failure: object) -> None:
        """The training is over."""


class SignalControl(TrainingControl):
    """A control that signals feed as well. It puts the earlier signal handlers back on exit.

    requested  the signal that asked for the stop, None before one arrived
    """

    takes_interrupts = True

    def __init__(self) -> None:
        super().__init__()
        self.requested: signal.Signals | None = None
        self._previous: dict[signal.Signals, Any] = {}

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        if self.requested is not None and number == signal.SIGINT:
            raise KeyboardInterrupt
        self.requested = signal.Signals(number)
        self.stop()

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
