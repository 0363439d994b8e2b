"""Signals ask a training to stop: one to save, two to end at once."""

import os
import signal

import pytest

from arena.signals import SignalControl


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_one_signal_asks_to_stop(number: signal.Signals) -> None:
    before = signal.signal(number, signal.SIG_DFL)
    with SignalControl() as control:
        assert not control.stop_requested()
        os.kill(os.getpid(), number)
        assert control.stop_requested() and control.requested == number
    assert signal.signal(number, before) == signal.SIG_DFL, "as it was"


def test_ctrl_c_twice_interrupts() -> None:
    with SignalControl() as control:
        os.kill(os.getpid(), signal.SIGTERM)
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)
        assert control.requested == signal.SIGTERM


def test_under_nohup_a_closed_terminal_changes_nothing() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    with SignalControl() as control:
        os.kill(os.getpid(), signal.SIGHUP)
        assert not control.stop_requested()
    signal.signal(signal.SIGHUP, before)
