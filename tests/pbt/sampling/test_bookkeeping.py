"""Bookkeeping in C and its reference in numpy do the same, bit for bit."""

import numpy as np
import pytest

from pbt import native
from pbt.sampling import rollout_worker
from pbt.sampling.bookkeeping import Bookkeeping, NativeBookkeeping
from tests.pbt.sampling.made_up_bench import Bench

TURNS = 150


def played(
    books: type[Bookkeeping], patch: pytest.MonkeyPatch, seat_roles: tuple[int, ...]
) -> Bench:
    """Games that raise, are truncated and copied over, with answers that come late."""
    patch.setattr(rollout_worker, "books_of", books)
    bench = Bench(3, seat_roles, 7, 4, 0.01, piecemeal=True)
    for _ in range(TURNS):
        bench.turn()
    return bench


@pytest.mark.skipif(native.bookkeeping() is None, reason="there is no C compiler here")
@pytest.mark.parametrize("seat_roles", [(0,), (0, 0), (0, 1, 1)], ids=str)
def test_the_code_in_c_does_what_the_reference_does(
    monkeypatch: pytest.MonkeyPatch, seat_roles: tuple[int, ...]
) -> None:
    one, two = (
        played(books, monkeypatch, seat_roles) for books in (NativeBookkeeping, Bookkeeping)
    )
    assert one.trained == two.trained > 0
    for own, other in zip(one.slabs, two.slabs, strict=True):
        for name, column in own.column.items():
            assert column.tobytes() == other.column[name].tobytes(), name
    (worker,), (reference,) = one.workers, two.workers
    for own, other in ((worker.state, reference.state), (worker.seats, reference.seats)):
        columns = {name: one for name, one in vars(own).items() if isinstance(one, np.ndarray)}
        assert len(columns) > 8
        for name, column in columns.items():
            np.testing.assert_array_equal(column, getattr(other, name), err_msg=name)
    for seat in range(len(worker.seats.role)):
        assert worker.seats.answers.of(seat) == reference.seats.answers.of(seat)
