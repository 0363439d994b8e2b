"""What the C library does with freed memory: malloc's thresholds for mapping and trimming.

Left to itself, glibc adapts them to what is freed, and ends up keeping blocks of up to 32 MB
between others. Elsewhere than on glibc these functions do nothing.
"""

import ctypes

# Of <malloc.h>.
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3
_LARGE = 1 << 20
# The most that glibc's own adaptation reaches.
_MAPPED, _TRIMMED = 32 << 20, 64 << 20


def keep_freed_memory(*, images: bool) -> None:
    """Reuse the memory of freed tensors: raise both thresholds. Call it where networks learn.

    Otherwise every batch pays for fresh pages.

    images: observations are images: blocks of up to 1 GB stay in the heap; else those of up to
            32 MB, and the end of the heap is given back when 64 MB of it are free
    """
    if images:
        _set_thresholds(mapped=1 << 30, trimmed=(1 << 31) - 1)
    else:
        _set_thresholds(mapped=_MAPPED, trimmed=_TRIMMED)


def return_freed_memory() -> None:
    """Map large blocks, so that they go back to the system when they are freed.

    Call it in a process that copies all weights now and then.
    """
    _set_thresholds(mapped=_LARGE, trimmed=2 * _LARGE)


def return_free_pages() -> None:
    """Give back what lies free now, between blocks in use as well.

    Call it at a moment of rest in a process that keeps freed memory. What is kept spreads in time:
    a block that stays takes a part of a larger hole, which is then too small for its former size.
    For 300 MB this takes some 30 ms, and as much again or more when the pages are asked for anew.
    """
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)


def _set_thresholds(mapped: int, trimmed: int) -> None:
    """Set both thresholds, in bytes.

    mapped   from this size on, a block is a mapping of its own
    trimmed  this much may lie free at the end of the heap
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_M_MMAP_THRESHOLD, mapped)
        mallopt(_M_TRIM_THRESHOLD, trimmed)
