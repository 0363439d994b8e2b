"""The win matrix has rows that are mappings, and it is rated as the pairs it was made of."""

import pytest
from hypothesis import given, settings

from arena.stats.bradley_terry import PairResult, fit
from arena.stats.score import Tally
from arena.stats.win_matrix import fit_matrix, win_matrix
from tests.arena.stats.test_bradley_terry import by_player, leagues

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


@given(leagues())
@settings(max_examples=40, deadline=None)
def test_it_is_rated_as_its_pairs_are(league: list[PairResult[str]]) -> None:
    for anchor in ("random", None):
        ours, theirs = (
            by_player(fit_matrix(win_matrix(league), anchor)),
            by_player(fit(league, anchor)),
        )
        assert ours.keys() == theirs.keys()
        for name, values in theirs.items():
            assert ours[name] == pytest.approx(values, abs=1e-6)
