"""Seats, seeds and batches of a match, before any game."""

from collections import Counter
from dataclasses import replace

import pytest

from arena.matches.plan import MatchPlan, plan_match
from arena.players.resolve import ResolvedPlayer
from pbt.envs.contract import EnvSpec
from pbt.envs.registry import spec
from pbt.errors import PlayerError
from pbt.records import PlayerRef
from tests.arena.matches import bidding
from tests.arena.matches.bidding import BOLD, MIDDLING, MODEST


def scripted(name: str, env: str) -> ResolvedPlayer:
    return ResolvedPlayer(PlayerRef("scripted", name), name, env, {})


def planned(env: EnvSpec, *players: ResolvedPlayer, games: int = 12, batch: int = 64) -> MatchPlan:
    return plan_match(env, players, games, 1, greedy=False, batch=batch)


def test_at_a_table_of_three_everybody_sits_everywhere_on_every_seed() -> None:
    plan = planned(bidding.SPEC, BOLD, MODEST, MIDDLING, games=12)
    taken = Counter(
        (seat, player) for index in range(3) for seat, player in enumerate(plan.game(index).sitting)
    )
    assert taken == {(seat, player): 1 for seat in range(3) for player in range(3)}
    blocks = [
        {plan.game(index).plan.seed for index in range(first, first + 3)}
        for first in range(0, 12, 3)
    ]
    assert [len(seeds) for seeds in blocks] == [1, 1, 1, 1]
    assert len(set.union(*blocks)) == 4
    assert [plan.game(index).plan.pair for index in range(6)] == [0, 0, 0, 1, 1, 1]


def test_numbers_of_games_are_rounded_up_to_whole_blocks_and_batches_hold_whole_ones() -> None:
    plan = planned(bidding.SPEC, BOLD, MODEST, MIDDLING, games=100, batch=64)
    assert (plan.games, plan.batch, plan.batches) == (102, 66, 2)
    assert [index for batch in range(plan.batches) for index in plan.batch_games(batch)] == list(
        range(102)
    )
    assert any(
        "100 games were asked for; 102 are planned, because games come in rounds of 3" in note
        for note in plan.notes
    )


def test_what_cannot_be_replayed_is_not_paired_and_it_is_said() -> None:
    env = replace(spec("rock_paper_scissors"), replayable=False)
    plan = planned(
        env, scripted("random", "rock_paper_scissors"), scripted("random", "rock_paper_scissors")
    )
    games = [plan.game(index) for index in range(12)]
    assert len({game.plan.seed for game in games}) == 12
    assert {game.plan.pair for game in games} == {None}
    assert [game.sitting for game in games[:4]] == [(0, 1), (1, 0), (0, 1), (1, 0)]
    assert any("not replayable" in note and "not paired" in note for note in plan.notes)
    assert not plan.whole
    assert plan.seating.block == 1


def test_alone_both_play_every_seed() -> None:
    plan = planned(
        spec("cartpole"), scripted("random", "cartpole"), scripted("random", "cartpole"), games=9
    )
    assert (plan.games, plan.seating.alone, plan.seating.block) == (10, True, 2)
    games = [plan.game(index) for index in range(10)]
    assert [game.sitting for game in games[:4]] == [(0,), (1,), (0,), (1,)]
    assert len({game.plan.seed for game in games}) == 5
    assert len({game.plan.noise for game in games}) == 10, (
        "equal seeds, but each player's own noise"
    )


def test_noise_is_keyed_by_match_pair_and_game() -> None:
    plan = planned(
        spec("connect_four"), scripted("random", "connect_four"), scripted("oneply", "connect_four")
    )
    assert [plan.game(index).plan.noise for index in (0, 1, 2)] == [
        ("match", 1, 0, 0),
        ("match", 1, 0, 1),
        ("match", 1, 1, 0),
    ]


def test_one_of_too_many() -> None:
    with pytest.raises(
        PlayerError, match="cartpole has one seat, and 3 players were named; expected two"
    ):
        planned(spec("cartpole"), *[scripted("random", "cartpole")] * 3)


def test_only_games_of_turns_without_chance_open_at_random() -> None:
    opened = {
        name: planned(spec(name), scripted("random", name), scripted("random", name)).opening_plies
        for name in ("connect_four", "tictactoe", "rock_paper_scissors", "leduc_holdem", "mpe")
    }
    assert opened == {
        "connect_four": 2,
        "tictactoe": 2,
        "rock_paper_scissors": 0,
        "leduc_holdem": 0,
        "mpe": 0,
    }
