"""What is worth its own machine code, compiled by `hatch_build.py` where there is a C compiler. Without it torch does the work, slower."""

import ctypes
from collections.abc import Callable
from functools import cache
from pathlib import Path

Kernel = Callable[[int, int], None]  # (address of the first value, number of values)


@cache
def elu_bf16() -> Kernel | None:
    """ELU over bfloat16 values that lie one behind the other, in place, in one thread; None where it was not built or does not load.

    The kernel returns in a fraction of a nanosecond per value and lets other threads run meanwhile.
    """
    try:
        function = ctypes.CDLL(str(Path(__file__).with_name("elu.so"))).elu_bf16
    except (OSError, AttributeError):
        return None
    function.argtypes = (ctypes.c_void_p, ctypes.c_int64)
    function.restype = None
    return function
