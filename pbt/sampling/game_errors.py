"""Texts about games that went wrong: what happened, and in which line of the game's code."""

import traceback

from pbt.errors import EnvCrash, EnvError, NumberError

# A table has a fault of its own when more of its engines than this end without a finished game in
# between.
MAX_CRASHES = 5


def error_text(error: EnvError) -> str:
    """The error for people, with a traceback where the game's code raised.

    An engine that ended leaves none: where it ended says nothing about the reason. Nor does a
    number, which the game's code gave without raising.
    """
    if isinstance(error, EnvCrash):
        return (
            f"at one table, {MAX_CRASHES + 1} engines in a row ended before a game was "
            f"over; of the last one: {error}"
        )
    if isinstance(error, NumberError):
        return f"{error}; `arena env check` finds such numbers, rare ones with more --seeds"
    return f"{error}\n{''.join(traceback.format_exception(error.__cause__ or error))}".rstrip()


def raising_line(error: EnvError) -> str:
    """The error's type and the innermost line of its traceback.

    They identify an error whose message differs from game to game.
    """
    cause = error.__cause__ or error
    frames = traceback.extract_tb(cause.__traceback__)
    where = f" at {frames[-1].filename}:{frames[-1].lineno}" if frames else ""
    return type(cause).__name__ + where
