"""The win matrix has rows that are mappings."""

import pytest

from arena.stats.bradley_terry import PairResult
from arena.stats.score import Tally
from arena.stats.win_matrix import win_matrix

RESULTS = [
    PairResult("a", "b", 3, 2, 1),
    PairResult("b", "a", 4, 0, 0),
    PairResult("c", "a", 0, 5, 0),
]


def test_a_row_is_what_one_player_did() -> None:
    a, b, c = win_matrix(RESULTS).rows()
    assert dict(a) == {"b": Tally(3, 2, 5), "c": Tally(0, 5, 0)}
    assert dict(b) == {"a": Tally(5, 2, 3)}
    assert (len(a), len(b), len(c)) == (2, 1, 1)
    assert (a.total, b.total, c.total) == (Tally(3, 7, 5), Tally(5, 2, 3), Tally(0, 5, 0))
    assert b.get("c") is None
    assert "b" not in b
    with pytest.raises(KeyError):
        b["a stranger"]
