"""Lists of matches show the interval that each match itself has, and compute it once."""

from dataclasses import replace
from pathlib import Path
from statistics import fmean

import pytest

from arena.league.database import League, open_league
from arena.league.match_standings import MatchStandings
from arena.league.matches import KIND_KEY, OBJECTIVE_KEY, Match, create_match, stored_games
from arena.league.writer import LeagueWriter
from arena.matches import match_intervals
from arena.matches.match_intervals import ListedIntervals, MatchInterval, MatchIntervals
from arena.matches.stored import stored_duel
from arena.stats.seat_means import mean_of
from tests.arena.league.samples import RANDOM, game, snapshot_player


def write_games(league: League, match: Match, first: int, last: int) -> None:
    one = snapshot_player("a")
    with LeagueWriter(league, match) as writer:
        for number in range(first, last):
            players = (one, RANDOM) if number % 2 == 0 else (RANDOM, one)
            wins = number % 3 > 0
            places = (0, 1) if wins == (number % 2 == 0) else (1, 0)
            returns = [1.0 + number % 5, -1.0 - number % 5]
            row = game(
                number,
                players,
                places,
                "evaluation",
                returns=returns if places[0] == 0 else returns[::-1],
                pair=number // 2,
            )
            writer.game(replace(row, count=number))


def match_of(league: League, objective: str) -> Match:
    settings = {"greedy": False, OBJECTIVE_KEY: objective}
    players = [snapshot_player("a"), RANDOM]
    return create_match(league, "leduc_holdem", {}, players, 40, 1, settings)


def listed(
    league: League, intervals: MatchIntervals, *matches: Match
) -> list[MatchInterval | None]:
    found = intervals.of(league, matches, MatchStandings().of(league, matches))
    return [found[match.id].first for match in matches]


def test_an_interval_is_that_of_the_match_itself(tmp_path: Path) -> None:
    with open_league(tmp_path / "league.db") as league:
        won, by_margin, empty, by_return = (
            match_of(league, objective) for objective in ("win", "margin", "win", "return")
        )
        for match in (won, by_margin, by_return):
            write_games(league, match, 0, 40)
        intervals = MatchIntervals()
        score, margin, none, returns = listed(league, intervals, won, by_margin, empty, by_return)
        duel = stored_duel(league, won)
        assert duel is not None and score is not None
        assert (score.low, score.high) == (duel.statistics.low, duel.statistics.high)
        chips = stored_duel(league, by_margin)
        assert chips is not None and chips.margin is not None and margin is not None
        assert (margin.low, margin.high) == (chips.margin.low, chips.margin.high)
        assert none is returns is None


def test_where_returns_count_each_player_has_the_interval_of_its_mean_return(
    tmp_path: Path,
) -> None:
    with open_league(tmp_path / "league.db") as league:
        match = match_of(league, "return")
        write_games(league, match, 0, 40)
        standings = MatchStandings().of(league, [match])
        found = MatchIntervals().of(league, [match], standings)[match.id]
        assert found.first is None
        for one, standing in zip(found.players, standings[match.id], strict=True):
            assert one is not None and one.low is not None and one.high is not None
            assert one.low < standing.mean_return < one.high
        means = [mean_of(blocks) for blocks in by_pair(league, match)]
        assert found.players == tuple(MatchInterval(one.low, one.high) for one in means)


def by_pair(league: League, match: Match) -> list[dict[int, float]]:
    """For each player: pair of games -> its mean return there."""
    games = stored_games(league, match)
    return [
        {
            pair: fmean(
                seat.returns
                for one in games
                if one.pair == pair
                for seat in one.seats
                if seat.player == player
            )
            for pair in {one.pair for one in games if one.pair is not None}
        }
        for player in match.players
    ]


def test_of_more_than_two_each_has_the_interval_of_how_often_it_is_first(tmp_path: Path) -> None:
    players = [snapshot_player("a"), snapshot_player("b"), RANDOM]
    with open_league(tmp_path / "league.db") as league:
        match = create_match(league, "three", {}, players, 30, 1, {"greedy": False})
        with LeagueWriter(league, match) as writer:
            for number in range(30):
                # `a` is first in two of three games, and `random` never.
                places = (0, 1, 2) if number % 3 else (0, 0, 2)
                row = game(number, players, places, "evaluation", returns=(3.0, 2.0, 1.0))
                writer.game(replace(row, count=number))
        found = MatchIntervals().of(league, [match], MatchStandings().of(league, [match]))[match.id]
        first, second, third = found.players
        assert found.first is second is third is None
        assert first is not None and first.low is not None and first.high is not None
        assert first.low < 20 / 30 < first.high


def test_two_at_a_larger_table_have_the_interval_of_the_score(tmp_path: Path) -> None:
    one = snapshot_player("a")
    settings = {"greedy": False, KIND_KEY: "copies"}
    with open_league(tmp_path / "league.db") as league:
        match = create_match(league, "three", {}, [one, RANDOM], 30, 1, settings)
        with LeagueWriter(league, match) as writer:
            for number in range(30):
                places = (0, 1, 1) if number % 3 else (0, 0, 2)
                row = game(number, [one, RANDOM, RANDOM], places, "evaluation")
                writer.game(replace(row, count=number))
        (found,) = listed(league, MatchIntervals(), match)
        assert found is not None and found.low is not None and found.high is not None
        assert found.low < (20 + 10 / 2) / 30 < found.high


def test_games_that_came_since_are_counted_and_no_match_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []
    with open_league(tmp_path / "league.db") as league:
        match, other = match_of(league, "win"), match_of(league, "win")
        write_games(league, match, 0, 20)
        write_games(league, other, 0, 20)

        def counting(league: League, match: Match) -> ListedIntervals:
            asked.append(match.id)
            duel = stored_duel(league, match)
            assert duel is not None
            return ListedIntervals(MatchInterval(duel.statistics.low, duel.statistics.high))

        monkeypatch.setattr(match_intervals, "intervals_of", counting)
        monkeypatch.setattr(match_intervals, "PATIENCE_S", -1.0)
        intervals = MatchIntervals()
        # One a request, where there is no time for more.
        assert [one is not None for one in listed(league, intervals, match, other)] == [True, False]
        assert None not in listed(league, intervals, match, other)
        first = listed(league, intervals, match)
        assert asked == [match.id, other.id]
        write_games(league, match, 20, 40)
        assert listed(league, intervals, match) != first and len(asked) == 3
