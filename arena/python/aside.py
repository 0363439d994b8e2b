"""Runs a training in a thread beside the caller's, so that an interrupt of the caller is a stop.

A KeyboardInterrupt may come between any two steps of the thread that it reaches: in the middle of
an update it would leave nothing to save. So the training has a thread of its own, which none
reaches, and the caller's thread waits. No signal handler is needed, and any thread may be the
caller's.
"""

import ctypes
import threading
from collections.abc import Callable
from typing import Generic, TypeVar

from arena.signals import TrainingControl

Done = TypeVar("Done")
Told = TypeVar("Told")

LOOK_EVERY_S = 1.0


class _Call:
    """A call that the training's thread waits for and the caller's thread makes."""

    def __init__(self, function: Callable[[], object]) -> None:
        self.function, self.begun, self.over = function, False, threading.Event()


class Aside(Generic[Done]):
    """One training in a thread of its own. Functions of the caller run in the caller's thread.

    The first KeyboardInterrupt asks the training to save and stop; the second is raised in its
    thread, so that it ends at once. The first exception of a function of the caller asks it to save
    and stop as well, no function is called any more, and `run` raises the exception in the end.
    """

    def __init__(self, control: TrainingControl) -> None:
        self._control = control
        self._call: _Call | None = None
        self._ended = threading.Event()
        # Set when there is something to look at: a call, or the end.
        self._wake = threading.Event()
        self._failure: BaseException | None = None

    def here(self, function: Callable[[Told], object]) -> Callable[[Told], None]:
        """The function, made to run in the caller's thread while the training's waits for it."""

        def called(told: Told) -> None:
            if self._failure is None:
                call = self._call = _Call(lambda: function(told))
                self._wake.set()
                call.over.wait()

        return called

    def run(self, work: Callable[[], Done]) -> Done:
        """What the work returns. Raises: what it raises, or a function of the caller."""
        results: list[Done] = []
        errors: list[BaseException] = []

        def working() -> None:
            try:
                results.append(work())
            except BaseException as error:  # noqa: BLE001  raised in the caller's thread
                errors.append(error)
            finally:
                self._ended.set()
                self._wake.set()

        thread = threading.Thread(target=working, name="arena-training", daemon=True)
        thread.start()
        interrupts = handled = 0
        while not self._ended.is_set():
            try:
                if handled < interrupts:
                    handled += 1
                    self._interrupt(thread, handled)
                self._answer()
            except KeyboardInterrupt:
                interrupts += 1
        thread.join()
        if errors:
            raise errors[0]
        if self._failure is not None:
            raise self._failure
        return results[0]

    def _answer(self) -> None:
        """Make the calls of the training's thread until that ends."""
        while not self._ended.is_set():
            call = self._call
            if call is not None and not call.over.is_set():
                call.begun = True
                try:
                    call.function()
                except KeyboardInterrupt:
                    raise
                except BaseException as error:  # noqa: BLE001  raised once the training has saved
                    self._failure = error
                    self._control.stop()
                call.over.set()
            elif self._wake.wait(LOOK_EVERY_S):
                self._wake.clear()

    def _interrupt(self, thread: threading.Thread, number: int) -> None:
        """Ask for a stop; the second time, raise the interrupt in the training's thread."""
        self._control.stop()
        if self._call is not None and self._call.begun:  # a function of the caller was interrupted
            self._call.over.set()
        if number == 2 and thread.ident is not None:
            ctypes.pythonapi.PyThreadState_SetAsyncExc(
                ctypes.c_ulong(thread.ident), ctypes.py_object(KeyboardInterrupt)
            )
