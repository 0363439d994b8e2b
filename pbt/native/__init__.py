"""Native kernels, compiled by `hatch_build.py` where there is a C compiler.

Each function here returns None where its kernel was not built or does not load. Without kernels
torch does the work, games are played in Python, and matches of Doom wait at every tic: slower. The
kernels work in the calling thread and let other threads run meanwhile.
"""

import ctypes
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

_POINTER, _COUNT = ctypes.c_void_p, ctypes.c_int64


@cache
def elu_bf16() -> Callable[[int, int], None] | None:
    """ELU over bfloat16 values that lie one behind the other, in place.

    Its parameters are the address of the first value and the number of values.
    """
    return _function("elu", "elu_bf16", _POINTER, _COUNT)


@cache
def elu_float32() -> Callable[[int, int], None] | None:
    """The same over float32."""
    return _function("elu_float32", "elu_float32", _POINTER, _COUNT)


@cache
def pixel_blocks_bf16() -> Callable[..., None] | None:
    """Bytes to normalised bfloat16 in blocks. Its parameters are explained in pixels.c."""
    return _function(
        "pixels", "pixel_blocks_bf16", *[_POINTER] * 3, ctypes.c_float, _POINTER, *[_COUNT] * 5
    )


@cache
def doom_preload() -> Path | None:
    """The library that engines of a match of Doom are started with (doom_preload.c).

    None where it was not built or is of no use.
    """
    library = Path(__file__).with_name("doom_preload.so")
    return library if sys.platform == "linux" and _loaded(library) is not None else None


TABLE_GAME_FORM = 1
"""That of table_game.h: a library of another form is not used."""


class TableGame(NamedTuple):
    """The functions of a game in C, which table_game.h explains, and the size of a table."""

    begin: Callable[..., int]
    step: Callable[..., int]
    observe: Callable[..., None]
    rank: Callable[..., None]
    table_bytes: int


@cache
def table_game(name: str) -> TableGame | None:
    """The game of this name; None where it was not built, or in another form."""
    library = _loaded(Path(__file__).with_name(f"{name}.so"))
    form = getattr(library, f"{name}_form", None)
    if form is None or form() != TABLE_GAME_FORM:
        return None
    begin, step, observe, rank = (
        getattr(library, f"{name}_{verb}") for verb in ("begin", "step", "observe", "rank")
    )
    begin.argtypes = _COUNT, *[_POINTER] * 4
    step.argtypes = _COUNT, *[_POINTER] * 5
    observe.argtypes = _COUNT, *[_POINTER] * 6
    rank.argtypes = _COUNT, *[_POINTER] * 3
    begin.restype = step.restype = _COUNT
    observe.restype = rank.restype = None
    return TableGame(begin, step, observe, rank, getattr(library, f"{name}_table_bytes")())


BOOKKEEPING_FORM = 1
"""That of bookkeeping.c: a library of another form is not used."""


class BookkeepingCode(NamedTuple):
    """The functions of bookkeeping.c."""

    take: Callable[..., None]
    answered: Callable[..., int]
    act: Callable[..., int]
    decide: Callable[..., int]


@cache
def bookkeeping() -> BookkeepingCode | None:
    """The code of pbt/sampling/bookkeeping.py in C; None where it was not built."""
    library = _loaded(Path(__file__).with_name("bookkeeping.so"))
    form = getattr(library, "bookkeeping_form", None)
    if form is None or form() != BOOKKEEPING_FORM:
        return None
    take, answered, act, decide = (
        getattr(library, f"bookkeeping_{name}") for name in BookkeepingCode._fields
    )
    take.argtypes = *(_POINTER, _COUNT, *[_POINTER] * 6), *(_COUNT, *[_POINTER] * 3)
    answered.argtypes = _POINTER, _COUNT, _POINTER, _COUNT, _COUNT, _POINTER
    act.argtypes = _POINTER, _COUNT, _POINTER, _POINTER
    decide.argtypes = _POINTER, _COUNT, *[_POINTER] * 3
    take.restype = None
    answered.restype = act.restype = decide.restype = _COUNT
    return BookkeepingCode(take, answered, act, decide)


def _loaded(library: Path) -> ctypes.CDLL | None:
    try:
        return ctypes.CDLL(str(library))
    except OSError:
        return None


def _function(library: str, name: str, *parameters: Any) -> Callable[..., None] | None:
    function = getattr(_loaded(Path(__file__).with_name(f"{library}.so")), name, None)
    if function is None:
        return None
    function.argtypes, function.restype = parameters, None
    return function  # type: ignore[no-any-return]
