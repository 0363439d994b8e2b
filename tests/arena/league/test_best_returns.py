"""What may be claimed of the best where returns count, and at tables of more than two seats."""

import math
import random
from collections.abc import Sequence

import pytest

from arena.cli.best_text import best_lines, return_best_lines
from arena.cli.rating_report import league_report
from arena.league.best_of_many import best_of_many, best_return_of_many
from arena.league.database import League
from arena.league.fresh_matches import headline_matches
from arena.league.populations import Incarnation, create_population, open_incarnation
from arena.league.ratings import population_table
from arena.league.returns import best_by_return, return_ranks, return_table
from arena.league.writer import LeagueWriter
from arena.matches.fresh import fresh_strength
from arena.matches.match_result import PlayedMatch
from arena.matches.play import play_match
from pbt.records import GameRecord
from tests.arena.league.samples import MEMBERS, RANDOM, game, snapshot, snapshot_player
from tests.arena.matches import bidding
from tests.arena.matches.agreeing import AGREEING, GUESSING, HUNTING, player
from tests.arena.matches.bidding import BOLD, bidder

Started = tuple[League, Incarnation]
LETTERS = "abcdef"


def population(league: League, objective: str, games: Sequence[GameRecord]) -> None:
    config = {"env": {"name": "leduc", "options": {}, "objective": objective}}
    source = open_incarnation(
        league, create_population(league, "p", "leduc", config, {}, MEMBERS), 1
    )
    with LeagueWriter(league, source) as writer:
        for at, letter in enumerate(LETTERS):
            writer.snapshot(snapshot(letter, frames=1_000_000 * at))
        for one in games:
            writer.game(one)


def alone(means: Sequence[float], episodes: int = 40) -> list[GameRecord]:
    """Games of one seat of the snapshots, whose returns vary by 1."""
    rng = random.Random(3)
    return [
        game(
            number,
            [snapshot_player(LETTERS[number % 6])],
            (0,),
            "evaluation",
            returns=[means[number % 6] + rng.gauss(0, 1)],
        )
        for number in range(6 * episodes)
    ]


def test_the_best_of_equal_returns_claims_little(started: Started) -> None:
    league, _ = started
    population(league, "return", alone([5.0] * 6))
    table = return_table(league, "p")
    claim, best = best_return_of_many(league, "p", table), best_by_return(table.rows)
    assert best is not None and best.low is not None
    assert (claim.candidates, claim.may_be_best, claim.may_be_untrained) == (6, 6, True)
    assert claim.may_be_random is None
    assert claim.own_low is not None and claim.own_low < best.low
    assert claim.low is not None and claim.low < 5.0
    text = "\n".join(return_best_lines(league, "p", table, ["player"]))
    assert f"p@best is {best.label}: the highest lower end of its 6 snapshots" in text
    assert "6 of 6 may be the best, an untrained one among them" in text
    assert f"without fresh games; play them: arena match {best.label} random --fresh" in text
    report = league_report(league, "p")
    assert report["best_of_many"]["player"]["may_be_best"] == 6
    assert report["best_of_many"]["player"]["fresh_strength"] is None


def test_returns_that_rise_leave_few_that_may_be_best(started: Started) -> None:
    league, _ = started
    population(league, "return", alone([0.0, 2.0, 4.0, 6.0, 8.0, 8.1]))
    claim = best_return_of_many(league, "p", return_table(league, "p"))
    assert (claim.may_be_best, claim.may_be_untrained) == (2, False)
    assert claim.low is not None and 7.0 < claim.low < 8.1


def short_training(late: float, games: int) -> list[GameRecord]:
    """A has 40 games with returns near 55; the newest, f, has few, near `late`."""
    rng = random.Random(4)
    return [
        game(
            number,
            [snapshot_player("a" if number < 40 else "f")],
            (0,),
            "evaluation",
            returns=[(55.0 if number < 40 else late) + rng.gauss(0, 20)],
        )
        for number in range(40 + games)
    ]


def test_a_late_snapshot_that_is_surely_better_needs_ten_games(started: Started) -> None:
    league, _ = started
    population(league, "return", short_training(245.0, 10))
    table = return_table(league, "p")
    best = best_by_return(table.rows)
    assert best is not None and (best.games, best.snapshot.record.frames) == (10, 5_000_000)
    assert return_ranks(table.rows) == [1, 2]
    claim = best_return_of_many(league, "p", table)
    assert claim.candidates == 2 and claim.low is not None and claim.low > 100
    (line, *_) = return_best_lines(league, "p", table, ["player"])
    assert line.endswith("; it has only 10, but lies above the intervals of all of them")


@pytest.mark.parametrize(("late", "games"), [(245.0, 9), (62.0, 10), (40.0, 20)])
def test_else_the_best_needs_thirty(started: Started, late: float, games: int) -> None:
    """Too few games, or an interval that overlaps those of snapshots with enough."""
    league, _ = started
    population(league, "return", short_training(late, games))
    table = return_table(league, "p")
    best = best_by_return(table.rows)
    assert best is not None and best.games == 40
    assert sorted(map(str, return_ranks(table.rows))) == ["1", "None"]


def test_without_any_that_has_thirty_there_is_no_best(started: Started) -> None:
    league, _ = started
    population(league, "return", short_training(245.0, 20)[40:])
    assert best_by_return(return_table(league, "p").rows) is None


def test_snapshots_that_sat_in_one_game_are_correlated_by_it(started: Started) -> None:
    """A and B share each return, so they are equal however uncertain both are."""
    league, _ = started
    rng = random.Random(5)
    shared = [rng.gauss(0, 9) for _ in range(80)]
    own = [rng.gauss(-60, 9) for _ in range(80)]
    players = [(snapshot_player("a"), snapshot_player("b")), (snapshot_player("c"), RANDOM)]
    population(
        league,
        "return",
        [
            game(number, players[number % 2], (0, 0), "evaluation", returns=[value, value + 1])
            for number, value in enumerate(
                one for both in zip(shared, own, strict=True) for one in both
            )
        ],
    )
    claim = best_return_of_many(league, "p", return_table(league, "p"))
    assert (claim.candidates, claim.may_be_best) == (3, 1)


def seated(number: int) -> GameRecord:
    """A game of three seats; later snapshots come before earlier ones, and all before `random`."""
    rng = random.Random(number)
    first, second = rng.sample(range(6), 2)
    players = [snapshot_player(LETTERS[first]), snapshot_player(LETTERS[second]), RANDOM]
    strength = [first + rng.gauss(0, 2), second + rng.gauss(0, 2), rng.gauss(-1, 2)]
    places = [sorted(strength, reverse=True).index(one) for one in strength]
    return game(number, players, places, "evaluation")


def test_at_larger_tables_the_best_of_many_has_a_lower_end(started: Started) -> None:
    league, _ = started
    population(league, "win", [seated(number) for number in range(400)])
    table = population_table(league, "p")
    claim = best_of_many(league, "p", table)
    best = max(row.low for row in table.rows if row.low is not None)
    assert claim.low is not None and 0 < claim.low < best + 1e-6
    assert claim.may_be_best is not None and 1 <= claim.may_be_best < 6
    assert (claim.may_be_untrained, claim.may_be_random) == (False, False)
    text = "\n".join(best_lines(league, "p", table, ["player"]))
    assert "chosen among 6: it is at least" in text and "(95 %, for all of them at once)" in text


def numbers(*results: PlayedMatch) -> list[int]:
    return [one.match_id for one in results if one.match_id is not None]


def test_fresh_games_of_a_team_are_those_with_itself_in_all_seats(started: Started) -> None:
    league, _ = started
    team = player("mostly zero", "agreeing"), player("random", "agreeing")
    played = [
        play_match(
            *named,
            games=400,
            seed=seed,
            league=league,
            env=AGREEING,
            objective="return",
            fresh=True,
        )
        for seed, named in enumerate((team, team[::-1]))
    ]
    assert [one.id for one in headline_matches(league, team[0].ref, "return")] == numbers(*played)
    found = fresh_strength(league, numbers(*played))
    assert found is not None and found.low is not None and found.high is not None
    assert (found.objective, found.seated) == ("return", "with itself in all seats")
    assert (found.units, found.matches) == (100, 2)
    # All three seats name the same number.
    assert found.low < 0.7**3 + 0.3**3 < found.high


def test_fresh_games_of_a_role_are_beside_random(started: Started) -> None:
    league, _ = started
    hunter = player("zero", "hunting", "hunter"), player("random", "hunting")
    played = play_match(
        *hunter, games=400, league=league, env=HUNTING, objective="return", fresh=True
    )
    found = fresh_strength(league, numbers(played))
    assert found is not None and found.low is not None and found.high is not None
    assert found.seated == "beside random" and found.low < 0.5 < found.high


def test_fresh_games_at_larger_tables_are_in_elo(started: Started) -> None:
    league, _ = started
    played = play_match(
        BOLD, bidder("random"), games=402, league=league, env=bidding.SPEC, fresh=True
    )
    found = fresh_strength(league, numbers(played))
    assert found is not None and found.value is not None
    assert (found.objective, found.seated) == ("win", "against random")
    # Bold names 2, 3 or 4 and `random` 0 to 4: it is ahead in 9 of 15 cases and even in 3.
    assert found.low is not None and found.high is not None
    assert found.low < 400 * math.log10(0.7 / 0.3) < found.high


def test_fresh_games_of_one_seat_are_returns_and_not_seeds_won(started: Started) -> None:
    league, _ = started
    named = player("mostly zero", "guessing"), player("random", "guessing")
    played = play_match(*named, games=400, league=league, env=GUESSING, fresh=True)
    found = fresh_strength(league, numbers(played))
    assert found is not None and found.low is not None and found.high is not None
    assert (found.objective, found.units) == ("return", 200)
    assert found.low < 0.7 < found.high
