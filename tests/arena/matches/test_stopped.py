"""What a match by margin says after a sequential test ended it."""

from dataclasses import replace

from arena.cli.match_text import match_lines
from arena.stats.anytime import duel_statistics
from arena.stats.margin import MarginStatistics
from arena.stats.sprt import SequentialTest, Sprt
from tests.arena.matches.test_report import published_match
from tests.arena.stats.test_score import published_sample


def test_a_test_by_margin_speaks_of_the_margin_and_of_an_interval_that_holds_0() -> None:
    won = MarginStatistics(200, 0.4, 1.0, -0.1, 0.9, "sequence", None)
    test = SequentialTest(Sprt(0, 20, model="margin"), 2)
    test.look([0.9, 1.1] * 1000)
    assert test.state == "accept H1"
    stats = duel_statistics(published_sample(), Sprt(0, 20))
    decided = replace(published_match(), statistics=stats, test=test, margin=won)
    lines = match_lines(decided)
    (margin,) = [line for line in lines if line.startswith("Margin")]
    assert "at any stop a game   (oneply above random)" in margin
    notes = [line for line in lines if line.startswith("Note")]
    assert any("score, Elo and margin lean" in note for note in notes)
    assert any("the interval holds 0, where both are equal, although" in note for note in notes)
    apart = replace(decided, margin=replace(won, low=0.1))
    assert not any("although the test decided" in line for line in match_lines(apart))
