"""The functions of a caller that follow a training while it runs, and how they are called."""

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any, TypedDict

from arena.argument_kinds import check_kinds
from arena.league.flat_records import FlatGame, FlatRound
from arena.python.arguments import check_callable, check_keywords
from arena.python.aside import Aside
from arena.python.process import left_as_it_was
from arena.signals import TrainingControl
from arena.training.listeners import Listeners, Update
from arena.training.progress import Progress
from arena.training.result import Result
from pbt.records import Event

Stop = Callable[[], bool] | TrainingControl


class Following(TypedDict, total=False):
    """Keyword arguments of `arena.train` and `arena.resume`, each of which may be left out.

    on_update    called with every update of a learner
    on_game      called with every finished game
    on_round     called with every PBT round
    on_event     called with every event, such as a copy, a checkpoint or a warning
    on_progress  called with the progress, some times a second
    say          called with lines for people
    stop         asked in every turn from the training's thread: once it returns True, the training
                 saves and stops; or a TrainingControl, whose `stop` any thread may call
    The functions but `stop` run in the caller's thread, while the training waits. An exception in
    one of them ends the training with a checkpoint and is raised to the caller.
    """

    on_update: Callable[[Update], object] | None
    on_game: Callable[[FlatGame], object] | None
    on_round: Callable[[FlatRound], object] | None
    on_event: Callable[[Event], object] | None
    on_progress: Callable[[Progress], object] | None
    say: Callable[[str], object] | None
    stop: Stop | None


@dataclass(frozen=True)
class Follower:
    """The functions of one caller, as in `Following`."""

    on_update: Callable[[Update], object] | None = None
    on_game: Callable[[FlatGame], object] | None = None
    on_round: Callable[[FlatRound], object] | None = None
    on_event: Callable[[Event], object] | None = None
    on_progress: Callable[[Progress], object] | None = None
    say: Callable[[str], object] | None = None
    stop: Stop | None = None

    @property
    def listeners(self) -> Listeners:
        return Listeners(self.on_update, self.on_game, self.on_round, self.on_event)

    def observe(self, progress: Progress) -> None:
        if self.on_progress is not None:
            self.on_progress(progress)

    def told(self, line: str) -> None:
        if self.say is not None:
            self.say(line)

    def calling(self, here: Callable[[Callable[[Any], object]], Any]) -> "Follower":
        """The same functions but `stop`, each given to `here`."""
        given = {one.name: getattr(self, one.name) for one in fields(self) if one.name != "stop"}
        return replace(self, **{name: one and here(one) for name, one in given.items()})


class _AskedControl(TrainingControl):
    """A control that a function of the caller feeds. Its first exception stops the training, too.

    failure  that exception; None before one
    """

    def __init__(self, asked: Callable[[], bool]) -> None:
        super().__init__()
        self._asked = asked
        self.failure: Exception | None = None

    def stop_requested(self) -> bool:
        if not super().stop_requested():
            try:
                if self._asked():
                    self.stop()
            except Exception as error:  # noqa: BLE001  raised once the training has saved
                self.failure = error
                self.stop()
        return super().stop_requested()


def follower_of(function: Callable[..., object], following: Following, *, strict: bool) -> Follower:
    """The functions that a call of `arena.train` or `arena.resume` was given.

    strict  as it was given; it is checked with them
    Raises: TypeError for a keyword that it does not take, ConfigError for one that is no function.
    """
    check_keywords(function, following, Following.__annotations__)
    check_callable(function, following, (TrainingControl,))
    check_kinds(f"arena.{function.__name__}", {"strict": strict})
    return Follower(**following)


def followed(follower: Follower, work: Callable[[Follower, TrainingControl], Result]) -> Result:
    """The result of a training that calls the caller's functions and that the caller may stop.

    With a control that takes Ctrl-C itself the training runs in the caller's thread, else beside
    it. Raises: what the training or a function of the caller raises.
    """
    stop = follower.stop
    if isinstance(stop, TrainingControl):
        control = stop
    else:
        control = TrainingControl() if stop is None else _AskedControl(stop)
    if control.takes_interrupts:
        return work(follower, control)
    aside = Aside[Result](control)
    with left_as_it_was():
        result = aside.run(lambda: work(follower.calling(aside.here), control))
    if isinstance(control, _AskedControl) and control.failure is not None:
        raise control.failure
    return result
