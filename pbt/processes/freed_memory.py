"""What the C library does with freed memory: malloc's thresholds for mapping and trimming.

Left to itself, glibc adapts them to what is freed, and ends up keeping blocks of up to 32 MB
between others. Elsewhere than on glibc these functions do nothing.
"""

import ctypes

# Of <malloc.h>.
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3
_LARGE = 1 << 20
# What the tensors of a batch of small observations take. Blocks of half of it are as large as glibc
# itself lets them become before it maps them.
_OF_SMALL = 64 << 20


def keep_freed_memory(*, large: bool) -> None:
    """Reuse the memory of freed tensors: raise both thresholds. Call it in workers and learners.

    Otherwise every batch pays for fresh pages: as much as for a convolution of images, and some
    tenth of the time with networks of boards.

    large: observations are images, so whatever was freed is kept; else some 64 MB of it
    """
    if large:
        _set_thresholds(mapped=1 << 30, trimmed=(1 << 31) - 1)
    else:
        _set_thresholds(mapped=_OF_SMALL // 2, trimmed=_OF_SMALL)


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
