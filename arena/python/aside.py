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
        self._caller = threading.current_thread()
        self._left = self._ended = False
        # Set when there is something to look at: a call, or the end (which may go without).
        self._wake = threading.Event()
        self._failure: BaseException | None = None

    def here(self, function: Callable[[Told], object]) -> Callable[[Told], None]:
        """The function, made to run in the caller's thread while the training's waits for it."""

        def called(told: Told) -> None:
            if self._failure is None:
                call = self._call = _Call(lambda: function(told))
                self._wake.set()
                while not call.over.wait(LOOK_EVERY_S):
                    if self._left or not self._caller.is_alive():
                        self._control.stop()  # the caller is gone, and the training saves
                        break

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
                self._ended = True
                self._wake.set()

        self._caller = threading.current_thread()
        thread = threading.Thread(target=working, name="arena-training", daemon=True)
        try:
            thread.start()
            self._attend(thread)
        finally:
            self._left = True
        if errors:
            raise errors[0]
        if self._failure is not None:
            raise self._failure
        if not results:  # the second interrupt came after the work, where nothing keeps it
            raise KeyboardInterrupt
        return results[0]

    def _attend(self, thread: threading.Thread) -> None:
        """Make the calls of the training's thread and pass on interrupts until it is over.

        The second interrupt may end it anywhere, also before it says so: its life counts.
        """
        interrupts = handled = 0
        while thread.is_alive():
            try:
                if handled < interrupts:
                    handled += 1
                    self._interrupt(thread, handled)
                self._answer(thread)
                thread.join(LOOK_EVERY_S)
            except KeyboardInterrupt:
                interrupts += 1

    def _answer(self, thread: threading.Thread) -> None:
        """Make the calls of the training's thread until that ends."""
        while thread.is_alive() and not self._ended:
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
