"""What a training or a match sets for its whole process, put back when it is over."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager

import torch


@contextmanager
def left_as_it_was() -> Iterator[None]:
    """In this block torch's number of threads and the logger `arena` may be set; then not any more.

    Trainings log into their population's folder (`arena.data.logs`), matches compute with one
    thread.
    """
    threads, log = torch.get_num_threads(), logging.getLogger("arena")
    handlers, level, propagate = list(log.handlers), log.level, log.propagate
    raises = logging.raiseExceptions
    log.handlers = []
    try:
        yield
    finally:
        for handler in log.handlers:
            handler.close()
        log.handlers, log.propagate, logging.raiseExceptions = handlers, propagate, raises
        log.setLevel(level)
        torch.set_num_threads(threads)
