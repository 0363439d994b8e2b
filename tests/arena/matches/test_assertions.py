"""What scripts ask of a match."""

import pytest

from arena.league.matches import MatchError
from arena.matches.assertions import holds, read_assertions
from arena.stats.score import MatchGame, match_statistics
from arena.stats.sprt import SequentialTest, Sprt
from tests.arena.stats.test_score import pairs

# Score 0.75, from 20 pairs.
GOOD = match_statistics(pairs(*[(1.0, 1.0)] * 10, *[(1.0, 0.0)] * 10))
SWEPT = match_statistics([MatchGame(1.0, True, None, str(index)) for index in range(20)])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("score>0.55", True),
        ("score > 0.75", False),
        ("score>=0.75", True),
        ("score<0.75", False),
        ("low>0.5", True),
        ("low>.7", False),
        ("high<=1", True),
        ("los>0.99", True),
        ("elo>190", True),
        ("elo>191", False),
        ("elo>-20", True),
    ],
)
def test_numbers_are_compared(text: str, expected: bool) -> None:
    (assertion,) = read_assertions([text], tested=False)
    assert holds(assertion, GOOD, None) is expected


def test_a_score_without_a_finite_elo_is_above_any() -> None:
    assert SWEPT.elo is None
    above, below = read_assertions(["elo>700", "elo<700"], tested=False)
    assert (holds(above, SWEPT, None), holds(below, SWEPT, None)) == (True, False)


WRONG = [
    "",
    "score",
    "score>",
    ">0.5",
    "score>0.5 or True",
    "score==0.5",
    "wins>3",
    "score>55",
    "__import__('os')",
    "score>nan",
]


def test_superiority_is_not_asserted_of_a_match_that_a_test_may_stop() -> None:
    with pytest.raises(MatchError, match="los is for a fixed number of games"):
        read_assertions(["sprt", "los>0.95"], tested=True)


@pytest.mark.parametrize("text", WRONG)
def test_anything_else_is_refused_with_what_was_expected(text: str) -> None:
    with pytest.raises(MatchError, match="--assert") as found:
        read_assertions(["score>0.5", text], tested=True)
    assert f'"{text}"' in str(found.value)


def test_a_sequential_test_holds_fails_or_is_open() -> None:
    (assertion,) = read_assertions(["sprt"], tested=True)
    states = []
    for points in ([2.0] * 40, [0.0] * 40, [1.0]):
        test = SequentialTest(Sprt(0.0, 50.0), 2)
        test.look(points)
        states.append(holds(assertion, GOOD, test))
    assert states == [True, False, None]
    with pytest.raises(MatchError, match="no sequential test; add one, such as --sprt 0,20"):
        read_assertions(["sprt"], tested=False)
