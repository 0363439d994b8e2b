"""Two members compared on common opponents: against slow references, and against chance."""

import random
from fractions import Fraction
from statistics import fmean

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import ttest_ind

from pbt.population.comparison import compare, standings
from pbt.population.scores import Counted, score_points
from pbt.records import Against, MemberScore

cells = st.tuples(st.integers(1, 60), st.floats(0, 1)).map(
    lambda found: (found[0], round(found[0] * found[1]))
)
tables = st.dictionaries(st.sampled_from("abcdef"), cells, min_size=1, max_size=6)


def score(member: str, table: dict[str, tuple[int, int]]) -> MemberScore:
    """table: opponent -> (games, wins)."""
    games, wins = (sum(column) for column in zip(*table.values(), strict=True))
    against = tuple(
        Against(opponent, n, float(won)) for opponent, (n, won) in sorted(table.items())
    )
    return MemberScore(member, games, wins / games, 0, 999, None, against)


@given(tables, tables)
def test_the_gap_is_that_of_the_common_opponents(
    mine: dict[str, tuple[int, int]], theirs: dict[str, tuple[int, int]]
) -> None:
    a, b = score("a", mine), score("b", theirs)
    gap, back = compare(a, b, "win"), compare(b, a, "win")
    common = mine.keys() & theirs.keys()
    assert gap.opponents == len(common)
    if not common:
        assert gap.ahead == a.objective - b.objective
    else:
        above, below = Fraction(0), Fraction(0)
        for name in common:
            (n, x), (m, y) = mine[name], theirs[name]
            weight = Fraction(n * m, n + m)
            above += weight * (Fraction(x, n) - Fraction(y, m))
            below += weight
        assert gap.ahead == pytest.approx(float(above / below), abs=1e-12)
        without = {name: cell for name, cell in theirs.items() if name in common}
        assert compare(a, score("b", without), "win") == gap, (
            "whom only one of them met does not matter"
        )
    assert gap.ahead == pytest.approx(-back.ahead, abs=1e-12)
    assert 0 <= gap.p <= 1 and gap.p + back.p == pytest.approx(1, abs=1e-9)


def test_meeting_the_weak_is_no_merit() -> None:
    """Members of equal strength meet opponents unequally often: win rates differ, no gap shows."""
    a, b = (
        score("a", {"weak": (90, 81), "strong": (10, 2)}),
        score("b", {"weak": (10, 9), "strong": (90, 18)}),
    )
    assert a.objective - b.objective > 0.5
    assert compare(a, b, "win").ahead == pytest.approx(0, abs=1e-12)


@given(
    st.lists(st.floats(-1e3, 1e3), min_size=2, max_size=40),
    st.lists(st.floats(-1e3, 1e3), min_size=2, max_size=40),
)
def test_returns_are_compared_by_the_test_of_welch(first: list[float], second: list[float]) -> None:
    a, b = (
        score_points(name, [Counted(n, value) for n, value in enumerate(values)], "squares")
        for name, values in (("a", first), ("b", second))
    )
    gap = compare(a, b, "return")
    assert gap.ahead == a.objective - b.objective
    # Below 1e-100 the squares of both programs underflow, and scipy answers nan.
    spread = max(1e-100, max(map(abs, [*first, *second])) * 1e-6)
    if max(first) - min(first) > spread and max(second) - min(second) > spread:
        assert gap.p == pytest.approx(
            float(ttest_ind(first, second, equal_var=False, alternative="greater").pvalue), abs=1e-9
        )


def test_returns_that_never_vary_and_those_nobody_squared() -> None:
    two, one = MemberScore("a", 9, 2.0, 0, 9, 0.0), MemberScore("b", 9, 1.0, 0, 9, 0.0)
    assert [compare(a, b, "return").p for a, b in ((two, one), (one, two), (one, one))] == [
        0.0,
        1.0,
        0.5,
    ]
    assert (
        compare(MemberScore("a", 9, 2.0, 0, 9), MemberScore("b", 9, 1.0, 0, 9), "return").p == 0.5
    )
    assert compare(MemberScore("a", 1, 2.0, 0, 9, 0.0), one, "return").p == 0.5


def test_chance_passes_for_a_gap_as_often_as_promised() -> None:
    """Equal members meet four opponents of unequal strength unequally often.

    There are 4 000 pairs of scores, from a fixed seed.
    """
    rng, rates = random.Random(1), {"a": 0.9, "b": 0.5, "c": 0.3, "d": 0.7}

    def drawn(member: str, games: dict[str, int]) -> MemberScore:
        return score(
            member,
            {
                name: (n, sum(rng.random() < rates[name] for _ in range(n)))
                for name, n in games.items()
            },
        )

    found = [
        compare(
            drawn("x", {"a": 40, "b": 10, "c": 25, "d": 5}),
            drawn("y", {"a": 8, "b": 30, "c": 25, "d": 17}),
            "win",
        ).p
        for _ in range(4000)
    ]
    for level in (0.01, 0.05, 0.2):
        assert fmean(p <= level for p in found) <= level * 1.2, level
    assert fmean(p <= 0.05 for p in found) > 0.02, "and not much more careful than that"


def test_standings_are_mean_gaps() -> None:
    scores = [score("m0", {"o": (10, 9)}), score("m1", {"o": (10, 5)}), score("m2", {"o": (10, 1)})]
    assert standings(scores, "win") == pytest.approx({"m0": 0.6, "m1": 0.0, "m2": -0.6})
    assert standings(scores[:1], "win") == {"m0": 0.0}
