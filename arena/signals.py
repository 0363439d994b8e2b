"""What is asked of a running training: Ctrl-C, SIGTERM or SIGHUP once = save and stop; Ctrl-C
twice = stop now; or to go on with other members.
"""

import signal
from types import FrameType, TracebackType
from typing import Any, Self

from arena.data.edits import Edits

STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class SignalControl:
    """A ControlSource fed by signals; handlers are put back on exit.

    members_wanted  edits by which members come or go: the engine is to stop, and another one to go
                    on with them
    """

    def __init__(self) -> None:
        self.requested: signal.Signals | None = None
        self.members_wanted: Edits | None = None
        self._previous: dict[signal.Signals, Any] = {}

    def goes_on(self) -> bool:
        """Another engine is to go on with other members; no more, when somebody asked to stop
        meanwhile.
        """
        if self.requested is not None:
            self.members_wanted = None
        return self.members_wanted is not None

    def take_members(self) -> Edits | None:
        """What is wanted, once."""
        wanted, self.members_wanted = self.members_wanted, None
        return wanted

    def stop_requested(self) -> bool:
        return self.requested is not None or self.members_wanted is not None

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        if self.requested is not None and number == signal.SIGINT:
            raise KeyboardInterrupt
        self.requested = signal.Signals(number)

    def __enter__(self) -> Self:
        # Under nohup the closing of a terminal is meant to be survived.
        heeded = [
            number
            for number in STOPPING
            if number != signal.SIGHUP or signal.getsignal(number) != signal.SIG_IGN
        ]
        self._previous = {number: signal.signal(number, self._on_signal) for number in heeded}
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for number, handler in self._previous.items():
            signal.signal(number, handler)
