"""Costly answers: computed once for each revision, and once for all callers that ask together."""

import threading

import pytest

from api.http.cache import FRESH_S, MAX_ENTRIES, RevisionCache


class World:
    """A revision and a clock that the test moves."""

    def __init__(self) -> None:
        self.revision, self.now, self.looks, self.computed = "r1", 0.0, 0, 0
        self.cache = RevisionCache(self.look, lambda: self.now)

    def look(self) -> str:
        self.looks += 1
        return self.revision

    def compute(self) -> bytes:
        self.computed += 1
        return f"{self.revision} {self.computed}".encode()


def test_computed_again_only_for_a_new_revision() -> None:
    world = World()
    assert world.cache.get("a", world.compute).body == b"r1 1"
    world.now += FRESH_S
    assert world.cache.get("a", world.compute).body == b"r1 1"
    assert (world.looks, world.computed) == (2, 1)
    world.revision = "r2"
    # Fresh: not even looked, and told with the revision that it is of.
    assert world.cache.get("a", world.compute).revision == "r1"
    world.now += FRESH_S
    found = world.cache.get("a", world.compute)
    assert (found.revision, found.body) == ("r2", b"r2 2")


def test_those_who_ask_together_wait_for_one_computation() -> None:
    world = World()
    gate = threading.Event()

    def slow() -> bytes:
        gate.wait(10)
        return world.compute()

    found: list[bytes] = []
    threads = [
        threading.Thread(target=lambda: found.append(world.cache.get("a", slow).body))
        for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    gate.set()
    for thread in threads:
        thread.join()
    assert (set(found), world.computed) == ({b"r1 1"}, 1)


def test_the_oldest_goes_first() -> None:
    world = World()
    for number in range(MAX_ENTRIES + 1):
        world.cache.get(str(number), world.compute)
    world.cache.get("1", world.compute)
    assert world.computed == MAX_ENTRIES + 1
    world.cache.get("0", world.compute)
    assert world.computed == MAX_ENTRIES + 2


def test_what_cannot_be_computed_leaves_nothing_behind() -> None:
    world = World()

    def refuse() -> bytes:
        raise LookupError

    for number in range(10):
        with pytest.raises(LookupError):
            world.cache.get(f"failed-{number}", refuse)
    assert world.cache.names == []
    assert world.cache.get("failed-1", world.compute).body == b"r1 1"
    assert world.cache.names == ["failed-1"]
