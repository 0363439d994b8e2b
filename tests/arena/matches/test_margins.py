"""Matches where margins decide: who won more counts, not who won more games."""

from dataclasses import replace
from pathlib import Path
from statistics import fmean

import pytest

from arena.cli.match_text import match_lines
from arena.league.database import open_league
from arena.league.matches import OBJECTIVE_KEY, create_match, find_match
from arena.league.writer import LeagueWriter
from arena.matches.play import play_match
from arena.matches.report import match_report
from arena.matches.report_schema import DuelReport
from arena.matches.stored import stored_duel
from arena.players.resolve import ResolvedPlayer
from arena.stats.sprt import Sprt
from pbt.errors import PlayerError
from pbt.records import PlayerRef
from tests.arena.league.samples import RANDOM, game, snapshot_player

LEDUC = ResolvedPlayer(PlayerRef("scripted", "random"), "random", "leduc_holdem", {})


def test_the_margin_is_that_of_the_stored_returns(tmp_path: Path) -> None:
    with open_league(tmp_path / "league.db") as league:
        result = play_match(LEDUC, LEDUC, games=200, league=league)
        assert result.plan.objective == "margin" and result.margin is not None
        # Seat 0 is the first player's in even games, seat 1 in odd ones.
        own = [one.seats[at % 2].returns for at, one in enumerate(result.records)]
        assert result.margin.units == 100
        assert result.margin.mean == pytest.approx(fmean(own))
        stored = find_match(league, result.match_id or 0)
        assert stored.objective == "margin"
        found = stored_duel(league, stored)
        assert found is not None and found.margin == result.margin
    report = match_report(result)
    assert isinstance(report, DuelReport) and report.margin is not None
    assert (report.objective, report.margin.mean) == ("margin", result.margin.mean)
    assert match_lines(result)[1].startswith("Margin ")


def test_a_player_that_loses_most_games_but_wins_more_is_stronger(tmp_path: Path) -> None:
    one = snapshot_player("a")
    with open_league(tmp_path / "league.db") as league:
        settings = {"greedy": False, OBJECTIVE_KEY: "margin"}
        match = create_match(league, "leduc_holdem", {}, [one, RANDOM], 200, 1, settings)
        with LeagueWriter(league, match) as writer:
            for number in range(200):
                players = (one, RANDOM) if number % 2 == 0 else (RANDOM, one)
                chips = (6.0 if number // 2 % 3 == 0 else -1.0) + number // 2 % 5 * 0.1
                own = chips if number % 2 == 0 else -chips
                places = (0, 1) if own > 0 else (1, 0)
                row = game(
                    number, players, places, "evaluation", returns=[own, -own], pair=number // 2
                )
                writer.game(replace(row, count=number))
        found = stored_duel(league, match)
    assert found is not None and found.margin is not None and found.margin.low is not None
    assert found.statistics.high < 0.5 and found.margin.low > 0


def test_a_sequential_test_of_margins_is_one_of_margins(tmp_path: Path) -> None:
    with open_league(tmp_path / "league.db") as league:
        result = play_match(LEDUC, LEDUC, games=60, sprt=Sprt(0, 200), league=league)
        assert result.test is not None and result.test.sprt.model == "margin"
        stored = find_match(league, result.match_id or 0)
        assert stored.settings["sprt"]["model"] == "margin"
    assert result.margin is not None and result.margin.interval == "sequence"


def test_players_that_count_differently_are_asked_what_decides() -> None:
    one = ResolvedPlayer(LEDUC.ref, "a", "leduc_holdem", {}, objective="margin")
    other = ResolvedPlayer(LEDUC.ref, "b", "leduc_holdem", {}, objective="win")
    with pytest.raises(PlayerError, match="a counts in margin, b in win"):
        play_match(one, other, games=2)
    assert play_match(one, other, games=2, objective="win").margin is None
