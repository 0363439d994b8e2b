"""Matches and evaluations: planned games, played by real snapshots and scripted players.

Over 350 lines: its cases share one trained population and read best together.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from arena.cli.match_text import match_lines
from arena.data.paths import league_path
from arena.league.database import League, open_league
from arena.league.matches import find_match, stored_games
from arena.matches.match_result import PlayedMatch
from arena.matches.plan import opening_plies
from arena.matches.play import play_match
from arena.matches.report import match_json
from arena.matches.returns import evaluate_player
from arena.matches.verdict import verdict
from arena.players.resolve import ResolvedPlayer, resolve_players
from arena.stats.intervals import mean_interval
from pbt.config.schema import RunConfig
from pbt.envs.actions import GamePacking
from pbt.envs.contract import EnvSpec, Game, Outcome, SeatTurn
from pbt.envs.registry import spec
from pbt.errors import EnvError, PlayerError
from pbt.records import GameRecord, PlayerRef
from tests.arena.tiny_populations import CONNECT_FOUR, TWO_ROLES, train


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("data")
    train(folder, "demo", CONNECT_FOUR)
    train(folder, "roles", TWO_ROLES)
    return folder


def scripted(name: str, env: str = "connect_four") -> ResolvedPlayer:
    return ResolvedPlayer(PlayerRef("scripted", name), name, env, {})


RANDOM, ONEPLY = scripted("random"), scripted("oneply")


def hashes(result: PlayedMatch) -> list[str]:
    return [record.trajectory_hash for record in result.records]


def openings(record: GameRecord) -> list[tuple[int, tuple[int, ...]]]:
    assert record.actions is not None
    unpacked = GamePacking.of(spec("connect_four").make()).unpack(record.actions)
    return unpacked[: record.opening_plies]


# --- the plan -------------------------------------------------------------------------------------


def test_one_ply_of_foresight_beats_chance() -> None:
    stats = play_match(ONEPLY, RANDOM, games=200).duel
    assert stats.score > 0.85
    assert stats.low > 0.5
    assert stats.distinct > 190


def test_the_score_is_that_of_the_first_player() -> None:
    assert play_match(RANDOM, ONEPLY, games=60).duel.score < 0.25


def test_both_orders_of_two_players_open_alike() -> None:
    def asking(plies: int) -> ResolvedPlayer:
        config = RunConfig.model_validate(
            {"env": {"name": "connect_four"}, "evaluation": {"opening_plies": plies}}
        )
        return replace(RANDOM, config=config)

    assert opening_plies([asking(1), asking(4)]) == opening_plies([asking(4), asking(1)]) == 4
    assert opening_plies([asking(0), RANDOM]) == opening_plies([RANDOM, asking(0)]) == 0


def test_seats_are_swapped_in_every_pair() -> None:
    result = play_match(ONEPLY, RANDOM, games=40)
    assert result.duel.as_first.games == result.duel.as_second.games == 20
    for first, second in zip(result.records[::2], result.records[1::2], strict=True):
        assert first.pair == second.pair
        assert [seat.player.name for seat in first.seats] == ["oneply", "random"]
        assert [seat.player.name for seat in second.seats] == ["random", "oneply"]


def test_both_games_of_a_pair_share_seed_and_opening_and_pairs_differ() -> None:
    result = play_match(ONEPLY, RANDOM, games=100)
    for first, second in zip(result.records[::2], result.records[1::2], strict=True):
        assert first.seed == second.seed
        assert openings(first) == openings(second)
        assert first.trajectory_hash != second.trajectory_hash
    assert len({record.seed for record in result.records}) == 50
    assert len({tuple(openings(record)) for record in result.records}) > 20
    assert {record.opening_plies for record in result.records} == {2}


def test_games_with_chance_open_by_themselves() -> None:
    result = play_match(
        scripted("random", "leduc_holdem"), scripted("random", "leduc_holdem"), games=4
    )
    assert {record.opening_plies for record in result.records} == {0}


def test_odd_numbers_of_games_are_rounded_up_and_it_is_said() -> None:
    result = play_match(ONEPLY, RANDOM, games=9)
    assert (result.plan.games, len(result.records)) == (10, 10)
    assert any("9 games were asked for; 10 are planned" in note for note in result.notes)


# --- determinism ----------------------------------------------------------------------------------


def test_equal_seeds_give_equal_matches(data: Path) -> None:
    env, (a, b) = resolve_players(["demo/m0", "demo/m1@500"], data)
    once, again, other = (play_match(a, b, games=30, seed=seed, env=env) for seed in (3, 3, 4))
    assert once.records == again.records
    assert once.duel == again.duel
    assert set(hashes(once)).isdisjoint(hashes(other))


def test_how_many_games_run_at_once_changes_none() -> None:
    few, many = (play_match(ONEPLY, RANDOM, games=30, tables=tables) for tables in (1, 30))
    assert hashes(few) == hashes(many)


def test_greedy_players_repeat_themselves_and_the_report_says_so(data: Path) -> None:
    env, (a, b) = resolve_players(["demo/m0", "demo/m1"], data)
    greedy, sampled = (
        play_match(a, b, games=200, greedy=greedy, env=env) for greedy in (True, False)
    )
    assert greedy.duel.distinct < 100 < 180 < sampled.duel.distinct
    assert any("games are distinct" in line for line in match_lines(greedy))
    assert not any("games are distinct" in line for line in match_lines(sampled))
    assert all(record.greedy for record in greedy.records)


def test_a_player_against_itself_is_even(data: Path) -> None:
    env, (a, b) = resolve_players(["demo/m0", "demo/m0"], data)
    result = play_match(a, b, games=200, env=env)
    assert result.duel.low < 0.5 < result.duel.high
    assert result.duel.as_first.games == 100
    assert "the same player twice" in verdict(result)
    # Played by the same mind, the swapped game of a pair is the same game.
    greedy = play_match(a, b, games=20, greedy=True, env=env)
    assert hashes(greedy)[::2] == hashes(greedy)[1::2]
    assert greedy.duel.score == 0.5


# --- the league -----------------------------------------------------------------------------------


@pytest.fixture
def league(tmp_path: Path) -> Iterator[League]:
    with open_league(tmp_path / "league.db") as opened:
        yield opened


def test_a_match_stands_in_the_league_as_it_was_played(data: Path) -> None:
    env, (a, b) = resolve_players(["demo/m0", "oneply"], data)
    with open_league(league_path(data)) as league:
        result = play_match(a, b, games=12, seed=5, league=league, env=env)
        assert result.match_id is not None
        row = find_match(league, result.match_id)
        stored = stored_games(league, find_match(league, result.match_id))
    assert (row.players, row.games, row.seed) == ((a.ref, b.ref), 12, 5)
    assert row.finished_at is not None
    assert stored == list(result.records)
    assert all(record.actions for record in stored)


def test_without_a_league_nothing_is_recorded() -> None:
    result = play_match(ONEPLY, RANDOM, games=2)
    assert result.match_id is None
    assert not any(line.startswith("Saved") for line in match_lines(result))


# --- games that fail ------------------------------------------------------------------------------


class Flaky:
    """Connect four whose steps ask `fails` first."""

    def __init__(self, fails: Callable[[], None]) -> None:
        self._game, self._fails = spec("connect_four").make(), fails
        self.roles, self.seat_names = self._game.roles, self._game.seat_names
        self.seat_roles, self.reward_terms = self._game.seat_roles, self._game.reward_terms

    def reset(self, seed: int) -> list[SeatTurn]:
        return self._game.reset(seed)

    def step(self, actions: Mapping[int, tuple[int, ...]]) -> list[SeatTurn]:
        self._fails()
        return self._game.step(actions)

    def outcome(self) -> Outcome:
        return self._game.outcome()

    def close(self) -> None:
        self._game.close()


def failing_at(*steps: int) -> EnvSpec:
    """Connect four that raises, each time another error, at these steps of all its tables."""
    counted = Counter[str]()

    def fails() -> None:
        counted["steps"] += 1
        if counted["steps"] in steps:
            raise EnvError(f"the engine fell over at step {counted['steps']}")

    return replace(spec("connect_four"), name="flaky", make=lambda: Flaky(fails))


def test_a_voided_game_is_played_again_and_counted_apart(league: League) -> None:
    result = play_match(ONEPLY, RANDOM, games=20, env=failing_at(100), league=league)
    assert hashes(result) == hashes(play_match(ONEPLY, RANDOM, games=20))
    assert result.duel.total.games == 20
    assert result.left_out == 0
    assert len(result.errors) == 1
    assert not result.spoiled
    assert any("fell over at step 100" in line for line in match_lines(result))
    assert result.match_id is not None
    stored = stored_games(league, find_match(league, result.match_id))
    assert Counter(record.end_reason.startswith("voided") for record in stored) == {
        False: 20,
        True: 1,
    }


@pytest.mark.parametrize(
    ("games", "steps", "spoiled"),
    [
        (20, (50,), False),
        (20, (50, 120), True),
        (200, (50, 120), False),
        (200, (50, 120, 300), True),
    ],
)
def test_more_errors_than_one_and_than_one_in_a_hundred_spoil_a_match(
    games: int, steps: tuple[int, ...], spoiled: bool
) -> None:
    result = play_match(ONEPLY, RANDOM, games=games, env=failing_at(*steps))
    assert len(result.errors) == len(steps)
    assert result.spoiled == spoiled


def test_a_game_that_always_raises_ends_the_match(league: League) -> None:
    with pytest.raises(EnvError, match="fell over"):
        play_match(ONEPLY, RANDOM, games=4, env=failing_at(*range(1, 1000)), league=league)
    assert find_match(league, 1).finished_at is None


def test_an_interrupted_match_keeps_whole_pairs(league: League) -> None:
    def interrupt(done: int, planned: int) -> None:
        if done >= 11:
            raise KeyboardInterrupt

    result = play_match(ONEPLY, RANDOM, games=40, tables=1, league=league, on_progress=interrupt)
    assert result.interim
    assert result.duel.total.games == 10
    assert (len(result.records), result.left_out) == (10, 1)
    assert result.match_id is not None
    assert len(stored_games(league, find_match(league, result.match_id))) == 10
    assert find_match(league, result.match_id).finished_at is None
    lines = match_lines(result)
    assert lines[0].startswith("oneply vs random   connect_four, 10 of 40 games")
    assert any("distinct 10/10" in line for line in lines)
    assert any("games of unfinished pairs are left out: 1" in line for line in lines)
    assert lines[-1].startswith("Interim")


def test_an_interrupt_before_the_first_pair_leaves_nothing_to_report() -> None:
    def interrupt(done: int, planned: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        play_match(ONEPLY, RANDOM, games=40, tables=1, on_progress=interrupt)


# --- players that can meet ------------------------------------------------------------------------


def test_fixed_roles_are_played_unpaired(data: Path) -> None:
    env, (seeker, hider) = resolve_players(["roles/m2", "roles/m0"], data)
    result = play_match(seeker, hider, games=7, env=env)
    assert (result.plan.seating.paired, result.plan.games) == (False, 7)
    assert [seat.player for seat in result.records[0].seats] == [hider.ref, seeker.ref]
    assert len({record.seed for record in result.records}) == 7
    assert result.duel.pair_counts is None
    assert result.duel.interval == "games"
    assert any("roles/m2@" in note and "is seeker" in note for note in result.notes)


def test_scripted_players_swap_roles() -> None:
    result = play_match(
        scripted("random", "hide_and_seek"), scripted("random", "hide_and_seek"), games=10
    )
    assert result.plan.seating.paired
    assert result.duel.as_first.games == 5


def test_two_of_one_role_do_not_meet(data: Path) -> None:
    env, (a, b) = resolve_players(["roles/m0", "roles/m1"], data)
    with pytest.raises(
        PlayerError, match="seats one hider and one seeker: name a player of each role"
    ):
        play_match(a, b, games=2, env=env)


def test_players_of_two_games_do_not_meet() -> None:
    with pytest.raises(PlayerError, match="expected players of one game"):
        play_match(RANDOM, scripted("random", "tictactoe"))


class ThreeSeats(Flaky):
    def __init__(self) -> None:
        super().__init__(lambda: None)
        self.seat_names, self.seat_roles = ("a", "b", "c"), (0, 0, 0)


def test_a_player_alone_is_sent_to_an_evaluation() -> None:
    crowded: Callable[[], Game] = ThreeSeats
    with pytest.raises(PlayerError, match="random is alone; expected two players or more"):
        play_match(RANDOM, env=replace(spec("connect_four"), make=crowded))


def test_two_seats_hold_two_players() -> None:
    with pytest.raises(PlayerError, match="has 2 seats, and 3 players were named"):
        play_match(RANDOM, ONEPLY, RANDOM)


# --- reports --------------------------------------------------------------------------------------


def test_the_report_for_programs_has_fractions_and_no_nan() -> None:
    report = match_json(play_match(ONEPLY, RANDOM, games=20))
    assert 0.5 < report["score"] <= 1.0
    assert 0.0 <= report["low"] <= report["score"] <= report["high"] <= 1.0
    assert report["wins"] + report["draws"] + report["losses"] == report["games"] == 20
    assert (report["a"]["name"], report["b"]["id"], report["seed"]) == ("oneply", "random", 1)
    assert report["verdict"] == "oneply is stronger (95 %)"
    assert report["match"] is None


def test_verdicts_name_the_stronger_or_nobody() -> None:
    assert verdict(play_match(RANDOM, ONEPLY, games=40)) == "oneply is stronger (95 %)"
    even = play_match(RANDOM, RANDOM, games=40)
    undecided = replace(even, plan=replace(even.plan, players=(ONEPLY, RANDOM)))
    assert verdict(undecided).startswith("not decided (95 %); four times the games, 160, ")


# --- evaluation -----------------------------------------------------------------------------------


def test_a_player_alone_is_measured_by_its_returns() -> None:
    result = evaluate_player(scripted("random", "cartpole"), spec("cartpole"), episodes=50)
    assert len(result.returns) == 50
    # Cartpole gives 1 a step; random play lasts 22 steps on average.
    assert result.returns == tuple(float(steps) for steps in result.steps)
    assert 17 < result.mean_return < 30
    assert (result.seats, result.others) == (("player",), 0)
    assert (
        result.returns
        == evaluate_player(
            scripted("random", "cartpole"), spec("cartpole"), episodes=50, tables=3
        ).returns
    )


def test_at_a_table_the_player_sits_everywhere_among_random_ones() -> None:
    result = evaluate_player(ONEPLY, spec("connect_four"), episodes=60)
    assert (len(result.seats), result.others) == (2, 1)
    assert result.mean_return > 0.7


def test_a_role_is_evaluated_in_its_own_seat(data: Path) -> None:
    env, (seeker,) = resolve_players(["roles/m2"], data)
    result = evaluate_player(seeker, env, episodes=20)
    assert result.seats == ("seeker",)
    assert set(result.returns) <= {-1.0, 1.0}


def test_the_interval_covers_the_mean_as_often_as_it_says() -> None:
    rng = np.random.default_rng(1)
    covered = 0
    for _ in range(2000):
        low, high = mean_interval(rng.normal(2.0, 3.0, 12).tolist()) or (0.0, 0.0)
        covered += low <= 2.0 <= high
    assert 0.935 < covered / 2000 < 0.965
    assert mean_interval([1.0]) is None


def test_an_interrupted_evaluation_says_so() -> None:
    def interrupt(done: int, planned: int) -> None:
        if done >= 5:
            raise KeyboardInterrupt

    result = evaluate_player(
        ONEPLY, spec("connect_four"), episodes=30, tables=1, on_progress=interrupt
    )
    assert result.interim
    assert len(result.returns) == 5
