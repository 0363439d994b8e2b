"""What glibc does with memory that is freed. By default it learns from what is freed, and ends
up keeping blocks of up to 32 MB, between others.
"""

import ctypes

# Of <malloc.h>.
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3
_LARGE = 1 << 20


def keep_freed_memory() -> None:
    """For who learns or acts, over and over: what large tensors leave behind is kept for the next
    ones.

    Else every batch pays for fresh pages, as much as for a convolution.
    """
    _set_thresholds(mapped=1 << 30, trimmed=(1 << 31) - 1)


def return_freed_memory() -> None:
    """For who copies all weights now and then: large blocks are mapped, and so go back to the
    system the moment they are freed.
    """
    _set_thresholds(mapped=_LARGE, trimmed=2 * _LARGE)


def return_free_pages() -> None:
    """Give back what lies free now, between blocks in use as well. For who keeps it, at moments
    when all rests.

    What is kept spreads in time: a block that stays takes a part of a larger hole, which is too
    small then for what it was left by. For 300 MB this takes some 30 ms, and as much again or more
    when the pages are asked for anew.
    """
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)


def _set_thresholds(mapped: int, trimmed: int) -> None:
    """In bytes. mapped: from this size on a block is a mapping of its own;  trimmed: so much may
    lie free at the end of the heap.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_M_MMAP_THRESHOLD, mapped)
        mallopt(_M_TRIM_THRESHOLD, trimmed)
