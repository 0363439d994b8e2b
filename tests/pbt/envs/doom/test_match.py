"""Matches of Doom: engines stay in step and agree, with and without the library in them."""

import hashlib
import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from itertools import count, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pbt.envs.contract import Preparing, SeatTurn
from pbt.envs.doom.match import SPEC, DoomMatch, make
from pbt.envs.doom.match_options import MatchOptions
from pbt.envs.doom.match_rewards import MatchRewards
from pbt.envs.doom.scene import known
from pbt.envs.doom.terms import RewardTerm
from pbt.envs.testing.check import check_game
from pbt.errors import EnvCrash
from pbt.native import doom_preload
from tests.pbt.envs.doom.scene import ending_wad

QUICK = (("helper", 4), ("barrier", 2))
SLOW = pytest.mark.slow
RUNS, STEPS = (
    int(os.environ.get("ARENA_DUEL_RUNS", "4")),
    int(os.environ.get("ARENA_DUEL_STEPS", "4000")),
)
Matches = Callable[..., DoomMatch]


@pytest.fixture
def matches() -> Iterator[Matches]:
    made: list[DoomMatch] = []

    def match(**options: Any) -> DoomMatch:
        made.append(make(**options))
        return made[-1]

    yield match
    for one in made:
        one.close()


def random_actions(match: DoomMatch, rng: np.random.Generator) -> dict[int, tuple[int, ...]]:
    sizes = match.roles[0].action_space.nvec  # type: ignore[attr-defined]
    return {seat: tuple(rng.integers(0, sizes).tolist()) for seat in range(len(match.seat_names))}


def play(match: DoomMatch, seed: int) -> list[list[SeatTurn]]:
    """A game of random actions that depend on the seed."""
    rng = np.random.default_rng(seed)
    turns = [match.reset(seed)]
    while not turns[-1][0].over:
        turns.append(match.step(random_actions(match, rng)))
    return turns


def trace(turns: list[list[SeatTurn]]) -> str:
    digest = hashlib.blake2b(digest_size=8)
    for turn in (turn for step in turns for turn in step):
        digest.update(
            turn.observation["screen"].tobytes()
            + turn.observation["variables"].tobytes()
            + repr(turn.rewards).encode()
        )
    return digest.hexdigest()


# --- engines in step ------------------------------------------------------------------------------


def test_the_library_was_built() -> None:
    assert doom_preload() is not None, "install again, or call `python hatch_build.py`"


@pytest.mark.parametrize(
    ("lock_step", "skip"),
    [
        pytest.param(*case, marks=[] if case in QUICK else SLOW)
        for case in product(("helper", "barrier"), (1, 2, 4))
    ],
)
def test_players_play_as_many_tics_as_were_asked_for(
    matches: Matches, lock_step: str, skip: int
) -> None:
    match = matches(lock_step=lock_step, frame_skip=skip, max_tics=99)
    for seed in range(2):
        turns = play(match, seed)
        # That the engines agree is checked by the match itself, at every step.
        assert [[turn.tics for turn in step] for step in turns[1:-1]] == [[skip, skip]] * (
            len(turns) - 2
        )
        assert sum(step[0].tics for step in turns) == 99
        assert all(turn.terminated and not turn.truncated for turn in turns[-1])
        assert match.outcome().reason == "timeout"


@pytest.mark.parametrize("lock_step", ["helper", "barrier"])
def test_a_map_may_end_within_a_step(matches: Matches, lock_step: str, tmp_path: Path) -> None:
    match = matches(
        wad=str(ending_wad(tmp_path / "ends.wad", "multi_duel", 60)),
        lock_step=lock_step,
        frame_skip=7,
        max_tics=1000,
    )
    for seed in range(2):
        turns = play(match, seed)
        assert [turn.tics for turn in turns[-1]] == [7, 7] and all(
            turn.terminated and not turn.truncated for turn in turns[-1]
        )
        assert sum(step[0].tics for step in turns) < 70
        assert match.outcome().reason == "rules"


def test_the_same_seed_and_actions_are_the_same_games(matches: Matches) -> None:
    first, second, other = (matches(max_tics=80, lock_step="helper") for _ in range(3))
    games = [trace(play(first, seed)) for seed in (5, 6)]
    assert [trace(play(second, seed)) for seed in (5, 6)] == games
    assert trace(play(other, 4)) != games[0]


def test_a_match_whose_process_was_started_before_is_the_same(matches: Matches) -> None:
    prepared, other = (
        matches(max_tics=40, lock_step="helper"),
        matches(max_tics=40, lock_step="helper"),
    )
    assert isinstance(prepared, Preparing)
    with ThreadPoolExecutor(1) as pool:
        pool.submit(prepared.prepare).result()
    link = prepared._link
    assert trace(play(prepared, 5)) == trace(play(other, 5)) and prepared._link is link is not None
    prepared.close()
    prepared.prepare()
    assert prepared._link is not None
    prepared._link._process.kill()
    with pytest.raises(EnvCrash, match="its process was killed by SIGKILL"):
        prepared.reset(5)
    assert len(prepared.reset(6)) == 2


@SLOW
def test_equal_games_with_the_library_and_without(matches: Matches) -> None:
    """Equal seeds and actions make equal games, over RUNS matches of each kind.

    With the library that holds for the second game of a match, too. A campaign makes 20 runs
    (bench/doom_in_step.py).

    Other work on the machine stirs the order in which engines run. Without the library that order
    decides what a map's change has left behind.
    """

    def games(lock_step: str) -> list[str]:
        match = matches(max_tics=120, lock_step=lock_step)
        found = [trace(play(match, seed)) for seed in (5, 6)]
        match.close()
        return found

    helped, hindered = (
        [games(lock_step) for _ in range(RUNS)] for lock_step in ("helper", "barrier")
    )
    assert helped == [helped[0]] * RUNS
    assert [first for first, _ in hindered] == [helped[0][0]] * RUNS


@SLOW
@pytest.mark.timeout(900)
@pytest.mark.parametrize("skip", [1, 2, 4])
def test_players_stay_in_step(matches: Matches, skip: int) -> None:
    match, rng, steps = matches(frame_skip=skip, max_tics=900), np.random.default_rng(0), 0
    while steps < STEPS:
        turns = match.reset(steps)
        while not turns[0].over:
            turns = match.step(random_actions(match, rng))
            steps += 1


def test_the_contract_is_kept() -> None:
    report = check_game(replace(SPEC, make=partial(make, max_tics=20)), seeds=3)
    assert report.problems == ()
    assert (report.games, report.seats, report.seed_matters) == (3, ("player1", "player2"), True)


def test_engines_that_draw_apart_end_the_match(matches: Matches) -> None:
    match = matches(max_tics=80)
    match.reset(1)
    link = match._link
    assert link is not None
    match.begin({0: (0,) * 7, 1: (0,) * 7})
    link.finish()
    link.memory.tics[1] += 1
    link.finish = lambda *_: None  # type: ignore[method-assign]
    with pytest.raises(
        EnvCrash, match=r"not in step: their engines have come to tics \[\d+, \d+\]"
    ):
        match.step({0: (0,) * 7, 1: (0,) * 7})
    assert match._link is None and link._process.exit_code() is not None


def test_players_who_count_different_frags_end_the_match(matches: Matches) -> None:
    """The counts agree at the end of every game.

    Within a game one engine may know of a frag a moment before the other.
    """
    match = matches(max_tics=20)
    match.reset(1)
    for _ in range(9):
        match.step({0: (0,) * 7, 1: (0,) * 7})
    link = match._link
    assert link is not None
    match.begin({0: (0,) * 7, 1: (0,) * 7})
    link.finish()
    link.memory.measured[1, match._counted.column["PLAYER1_FRAGCOUNT"]] += 1
    link.finish = lambda *_: None  # type: ignore[method-assign]
    with pytest.raises(
        EnvCrash, match=r"not in step: their engines count different frags, \[\[0, 0\], \[1, 0\]\]"
    ):
        match.step({0: (0,) * 7, 1: (0,) * 7})
    assert match._link is None and link._process.exit_code() is not None


@pytest.mark.parametrize(("dead", "came"), [((1, 1), None), ((1,), 1), ((0, 1), 0)])
def test_a_game_begins_when_everybody_has_lived(
    matches: Matches, monkeypatch: pytest.MonkeyPatch, dead: tuple[int, ...], came: int | None
) -> None:
    """A game begins when every player has been alive.

    dead  seats that are dead at every look, two of the same in turns
    came  how many players are there; None: all
    """
    monkeypatch.setattr("pbt.envs.doom.match._LONGEST_WARMUP_TICS", 30)
    match, looks = matches(max_tics=20), count()
    real, column = match._measure, match._counted.column["DEAD"]

    def measure() -> list[list[float]]:
        rows, look = real(), next(looks)
        for seat in dead if len(set(dead)) == len(dead) else (look % 2,):
            rows[seat][column] = 1.0
        return rows

    monkeypatch.setattr(match, "_measure", measure)
    if came is None:
        assert len(match.reset(1)) == 2
        assert match.engine_tics()[0] >= 40, "while a player is dead it waits for a better moment"
    else:
        with pytest.raises(EnvCrash, match=rf"{came} of 2 players and bots came within 40 tics"):
            match.reset(1)
        assert match._link is None


# --- what is seen and counted ---------------------------------------------------------------------


def test_both_see_the_room_and_their_own_numbers(matches: Matches) -> None:
    turns = matches(max_tics=20).reset(3)
    screens = [turn.observation["screen"] for turn in turns]
    assert screens[0].shape == (72, 128, 3) and not np.array_equal(*screens)
    assert all(len(np.unique(screen)) > 20 for screen in screens)
    for turn in turns:
        health, armor, frags, players, weapon, rockets, *_ = turn.observation["variables"].tolist()
        assert (health, armor, frags, players) == (1.0, 0.0, 0.0, 2.0)
        # The room gives a rocket launcher, slot 5, with fifty rockets.
        assert (weapon, rockets) == (5.0, 1.0)


def test_health_is_never_below_zero(matches: Matches) -> None:
    """The engine says -999900 of a player that another one tore apart by appearing on the spot."""
    match = matches(max_tics=20)
    match.reset(1)
    link = match._link
    assert link is not None
    match.begin({0: (0,) * 7, 1: (0,) * 7})
    link.finish()
    link.memory.measured[1, match._counted.column["HEALTH"]] = -999_900.0
    link.finish = lambda *_: None  # type: ignore[method-assign]
    turns = match.step({0: (0,) * 7, 1: (0,) * 7})
    assert [turn.observation["variables"][0] for turn in turns] == [1.0, 0.0]
    assert match._measured[1][match._counted.column["HEALTH"]] == 0.0


def test_frags_are_points_and_decide_the_ranking(matches: Matches) -> None:
    match = matches(
        max_tics=700,
        frame_skip=7,
        variables=["FRAGCOUNT"],
        terms={"death": {"variable": "DEATHCOUNT", "gain": 1.0}},
    )
    for seed in range(2):
        turns = play(match, seed)
        returns = np.array([[turn.rewards for turn in step] for step in turns]).sum(axis=0)
        outcome = match.outcome()
        assert outcome.points == tuple(returns[:, 0].tolist())
        assert outcome.ranking == tuple(
            sum(other > own for other in outcome.points) for own in outcome.points
        )
        # By the engine's numbers of the players, everybody has the same table.
        number, table = match._counted.column["PLAYER_NUMBER"], match._counted.scores
        assert [row[table[int(row[number])]] for row in match._measured] == match._column(
            "FRAGCOUNT"
        )
        # Only two players are in the room, and they shoot around with rockets: each death is a frag
        # of the other one or a suicide.
        assert returns[:, 1].sum() > 0
        assert abs(returns[:, 0].sum()) <= returns[:, 1].sum()


@SLOW
def test_the_lead_of_two_sums_to_zero(matches: Matches) -> None:
    match = matches(max_tics=700, frame_skip=7, reward="lead")
    rewards = np.array([[turn.rewards[0] for turn in step] for step in play(match, 1)])
    assert np.array_equal(rewards[:, 0], -rewards[:, 1]) and rewards.any()


@pytest.mark.parametrize(
    "options",
    [
        {"players": 1, "bots": 2},
        pytest.param({"players": 2, "bots": 1, "bot_skill": 90}, marks=SLOW),
        pytest.param({"players": 3, "lock_step": "barrier"}, marks=SLOW),
        pytest.param({"players": 8, "bots": 2}, marks=SLOW),
        # What the host says to let three bots in is a packet of more than 256 bytes.
        {"players": 2, "bots": 3, "lock_step": "helper"},
        *(
            pytest.param({"players": players, "bots": bots, "lock_step": lock_step}, marks=SLOW)
            for players, bots, lock_step in (
                (2, 3, "barrier"),
                *((*seats, way) for seats in ((2, 14), (8, 8)) for way in ("helper", "barrier")),
            )
        ),
    ],
)
def test_more_players_and_bots(matches: Matches, options: dict[str, Any]) -> None:
    match = matches(scenario="cig", max_tics=40, variables=["PLAYER_COUNT"], **options)
    for seed in range(2):
        turns = play(match, seed)
        everybody = options["players"] + options.get("bots", 0)
        assert [turn.observation["variables"].tolist() for turn in turns[-1]] == [
            [min(everybody, 10)]
        ] * options["players"]
        points = match.outcome().points
        assert points is not None and len(points) == options["players"]


@SLOW
@pytest.mark.parametrize(
    "options", [{"scenario": "freedoom2", "map": "map07"}, {"scenario": "cig", "map": "map02"}]
)
def test_other_maps(matches: Matches, options: dict[str, Any]) -> None:
    assert len(play(matches(max_tics=30, **options), 1)) == 16


@SLOW
def test_a_map_from_a_file_of_ones_own(matches: Matches, tmp_path: Path) -> None:
    """The file is played, not the scenario's own map: there are no fifty rockets to begin with."""
    wad = tmp_path / "mine.wad"
    wad.write_bytes((known().scenarios / "cig.wad").read_bytes())
    turns = play(matches(wad=str(wad), max_tics=30, variables=["AMMO5"]), 1)
    assert turns[0][0].observation["variables"].tolist() != [1.0] and len(turns) == 16


# --- rewards, computed ----------------------------------------------------------------------------

TERMS = (
    RewardTerm("health", "HEALTH", 0.5, -0.25),
    RewardTerm("damage", "DAMAGECOUNT", 0.01, 0.0),
    RewardTerm("death", "DEATHCOUNT", -1.0, 0.0),
    RewardTerm("ammo", "AMMO5", 1.0, 0.0),
)


def worth(before: dict[str, float], now: dict[str, float], **options: Any) -> list[float]:
    """Of seat 0, while nothing happens to seat 1."""
    counted = MatchRewards(MatchOptions(terms=TERMS, **options))

    def row(values: dict[str, float]) -> list[float]:
        return [values.get(name, 0.0) for name in counted.names]

    (own, _) = counted.rewards([row(now), row({})], [row(before), row({})])
    return own


def test_gains_and_losses_are_counted_as_changes() -> None:
    assert worth(
        {"HEALTH": 60.0, "FRAGCOUNT": 7.0, "DAMAGECOUNT": 900.0},
        {"HEALTH": 80.0, "FRAGCOUNT": 8.0, "DAMAGECOUNT": 950.0},
    ) == [
        1,
        10,
        0.5,
        0,
        0,
    ]
    assert worth({"HEALTH": 80.0}, {"HEALTH": 60.0}) == [0, -5.0, 0, 0, 0]


def test_dying_counts_and_a_new_life_is_no_gain() -> None:
    assert worth(
        {"HEALTH": 10.0, "AMMO5": 9.0},
        {"HEALTH": 0.0, "AMMO5": 9.0, "DEAD": 1.0, "DEATHCOUNT": 1.0},
    ) == [0, -2.5, 0, -1, 0]
    assert worth(
        {"DEAD": 1.0, "DEATHCOUNT": 1.0}, {"HEALTH": 100.0, "AMMO5": 50.0, "DEATHCOUNT": 1.0}
    ) == [0, 0, 0, 0, 0]
    assert worth({"HEALTH": 10.0}, {"HEALTH": 100.0, "AMMO5": 50.0, "DEATHCOUNT": 1.0}) == [
        0,
        0,
        0,
        -1,
        0,
    ]


def test_a_telefrag_is_not_worth_a_million() -> None:
    assert worth({}, {"DAMAGECOUNT": 1_000_100.0})[2] == 2.0


def test_the_lead_is_over_the_mean_of_all_others() -> None:
    frags = {
        "FRAGCOUNT": 2.0,
        "PLAYER1_FRAGCOUNT": 2.0,
        "PLAYER2_FRAGCOUNT": 0.0,
        "PLAYER3_FRAGCOUNT": 1.0,
    }
    assert worth({}, frags, reward="lead", bots=1)[0] == 1.5
