"""What is said of a game that went wrong."""

import traceback

from pbt.errors import EnvCrash, EnvError

MAX_CRASHES = 5
"""A table whose engines end more often than this without a finished game in between has a fault
of its own.
"""


def told(error: EnvError) -> str:
    """For people. Where an engine ended says nothing about why; where a game's code raised does."""
    if isinstance(error, EnvCrash):
        return (
            f"at one table, {MAX_CRASHES + 1} engines in a row ended before a game was "
            f"over; of the last one: {error}"
        )
    return f"{error}\n{''.join(traceback.format_exception(error.__cause__ or error))}".rstrip()


def raising_line(error: EnvError) -> str:
    """Where an error came from: its type and the innermost line of its traceback. Messages may
    differ from game to game.
    """
    cause = error.__cause__ or error
    frames = traceback.extract_tb(cause.__traceback__)
    return (
        f"{type(cause).__name__} at {frames[-1].filename}:{frames[-1].lineno}"
        if frames
        else type(cause).__name__
    )
