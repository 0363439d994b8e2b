"""The closing evaluation is shared out once, and what is left of it again when all workers died."""

from pbt.runtime.closing import Closing

WORKERS = ("a", "b", "c")


def test_every_game_has_one_worker() -> None:
    closing = Closing(10, WORKERS)
    assert closing.shares(0) == {"a": 0, "b": 0, "c": 0}, "not before they begin"
    closing.begun = True
    assert closing.shares(0) == {"a": 4, "b": 3, "c": 3}
    assert sum(closing.shares(7).values()) == 3
    assert closing.shares(12) == {"a": 0, "b": 0, "c": 0}


def test_it_is_over_when_every_worker_is_through() -> None:
    closing = Closing(10, WORKERS)
    for worker in WORKERS:
        closing.quiet(worker)
    assert not closing.over, "nobody was told to begin"
    closing.begun = True
    assert closing.over
    closing.restart()
    closing.quiet("a")
    assert not closing.over
