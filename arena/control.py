"""What a person asks of a running training: Ctrl-C, SIGTERM or SIGHUP once = save and stop; Ctrl-C twice = stop now."""

import signal
from types import FrameType, TracebackType
from typing import Any, Self

STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class SignalControl:
    """A ControlSource fed by signals; handlers are put back on exit."""

    def __init__(self) -> None:
        self.requested: signal.Signals | None = None
        self._previous: dict[signal.Signals, Any] = {}

    def stop_requested(self) -> bool:
        return self.requested is not None

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        if self.requested is not None and number == signal.SIGINT:
            raise KeyboardInterrupt
        self.requested = signal.Signals(number)

    def __enter__(self) -> Self:
        # Under nohup the closing of a terminal is meant to be survived.
        heeded = [number for number in STOPPING if number != signal.SIGHUP or signal.getsignal(number) != signal.SIG_IGN]
        self._previous = {number: signal.signal(number, self._on_signal) for number in heeded}
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        for number, handler in self._previous.items():
            signal.signal(number, handler)
