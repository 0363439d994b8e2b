"""The two messages that every child process knows, whatever else it is told and tells."""

from typing import NamedTuple


class Stop(NamedTuple):
    """parent -> child: leave."""


class Failed(NamedTuple):
    """child -> parent: it ends by an exception of its own.

    kind    name of the error class
    text    what went wrong
    trace   the traceback
    engine  an EngineError, which is about processes with each other
    """

    kind: str
    text: str
    trace: str
    engine: bool
