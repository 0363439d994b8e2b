"""Matches that were stopped, or are played by several processes: the games of an even run."""

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from arena.league.database import League, open_league
from arena.league.match_locks import match_lock
from arena.league.matches import (
    MatchError,
    create_match,
    find_match,
    newest_unfinished,
    stored_games,
    unfinished_matches,
)
from arena.league.ratings import game_table
from arena.matches.game_list import BatchTables
from arena.matches.helper_process import WIRES, BatchPlayed, Order, PlayBatch, main, order_of
from arena.matches.match_result import PlayedMatch
from arena.matches.play import play_match, resume_match
from arena.matches.report import match_report
from arena.players.resolve import ResolvedPlayer
from arena.stats.sprt import Sprt
from pbt.envs.contract import EnvSpec
from pbt.envs.registry import spec
from pbt.errors import EnvError, HeldError
from pbt.processes.messages import Failed
from pbt.records import PlayerRef
from pbt.transport.channel import Channel, channel_pair
from pbt.transport.messages import GameEnd
from pbt.transport.wire import Wire
from tests.arena.matches import bidding
from tests.arena.matches.bidding import BOLD, MIDDLING, MODEST


def scripted(name: str, env: str = "connect_four") -> ResolvedPlayer:
    return ResolvedPlayer(PlayerRef("scripted", name), name, env, {})


RANDOM, ONEPLY = scripted("random"), scripted("oneply")
ENV = spec("connect_four")


@pytest.fixture
def league(tmp_path: Path) -> Iterator[League]:
    with open_league(tmp_path / "league.db") as opened:
        yield opened


def stopping_at(games: int) -> Callable[[int, int], None]:
    def interrupt(done: int, planned: int) -> None:
        if done >= games:
            raise KeyboardInterrupt

    return interrupt


def same(one: PlayedMatch, other: PlayedMatch) -> bool:
    """Everything but which match it was and how fast."""
    left, right = (
        match_report(result).model_dump(exclude={"match", "games_per_s", "head"})
        for result in (one, other)
    )
    return left == right and one.records == other.records


# --- going on -------------------------------------------------------------------------------------


def test_an_interrupted_match_goes_on_to_the_same_games(league: League) -> None:
    whole = play_match(ONEPLY, RANDOM, games=60, tables=8, league=league)
    for stop in (3, 30, 59):
        cut = play_match(
            ONEPLY, RANDOM, games=60, tables=8, league=league, on_progress=stopping_at(stop)
        )
        assert cut.interim
        begun = newest_unfinished(league)
        kept = stored_games(league, begun)
        assert len(kept) == cut.duel.total.games < 60
        went_on = resume_match(league, begun, (ONEPLY, RANDOM), ENV)
        assert same(went_on, whole)
        assert stored_games(league, find_match(league, begun.id)) == list(whole.records)


def test_tables_of_three_and_games_of_one_seat_go_on_likewise(league: League) -> None:
    alone = scripted("random", "cartpole")
    for players, env in (
        ((MODEST, BOLD, MIDDLING), bidding.SPEC),
        ((alone, alone), spec("cartpole")),
    ):
        whole = play_match(*players, games=30, tables=6, league=league, env=env)
        cut = play_match(
            *players, games=30, tables=6, league=league, env=env, on_progress=stopping_at(10)
        )
        kept = stored_games(league, newest_unfinished(league))
        assert cut.interim
        assert 0 < len(kept) < 30
        assert len(kept) % cut.plan.seating.block == 0
        assert same(resume_match(league, newest_unfinished(league), players, env), whole)


def test_a_finished_match_tells_its_result_again_and_plays_nothing(league: League) -> None:
    whole = play_match(ONEPLY, RANDOM, games=10, league=league)
    assert whole.match_id is not None
    done = find_match(league, whole.match_id)
    again = resume_match(league, done, (ONEPLY, RANDOM), ENV)
    assert same(again, whole)
    assert again.games_per_s is None
    assert find_match(league, whole.match_id).finished_at == done.finished_at


def test_only_what_is_missing_is_played_where_nothing_repeats(league: League) -> None:
    env = replace(ENV, replayable=False)
    cut = play_match(
        ONEPLY, RANDOM, games=40, tables=8, league=league, env=env, on_progress=stopping_at(20)
    )
    before = stored_games(league, newest_unfinished(league))
    went_on = resume_match(league, newest_unfinished(league), (ONEPLY, RANDOM), env)
    assert (went_on.duel.total.games, went_on.plan.seating.paired, went_on.duel.interval) == (
        40,
        False,
        "games",
    )
    assert set(cut.records) <= set(went_on.records)
    assert len(before) >= 20
    assert any("not replayable" in note for note in match_report(went_on).notes)


def test_a_test_that_ends_a_match_ends_the_resumed_one_at_the_same_pair(league: League) -> None:
    sprt = Sprt(0.0, 30.0)
    whole = play_match(ONEPLY, RANDOM, games=600, tables=8, sprt=sprt, league=league)
    assert whole.test is not None and whole.test.state == "accept H1"
    assert len(whole.records) == 2 * whole.test.looked_at < 600
    play_match(
        ONEPLY, RANDOM, games=600, tables=8, sprt=sprt, league=league, on_progress=stopping_at(6)
    )
    went_on = resume_match(league, newest_unfinished(league), (ONEPLY, RANDOM), ENV)
    assert same(went_on, whole)
    assert match_report(went_on).biased  # type: ignore[union-attr]
    assert any(
        "the sequential test chose when to stop" in note for note in match_report(went_on).notes
    )


def test_games_behind_a_decision_are_no_evidence_and_equal_games_count_once(league: League) -> None:
    tested = play_match(ONEPLY, RANDOM, games=600, sprt=Sprt(0.0, 30.0), league=league)
    counted = len(tested.records)
    assert counted % 64, "some games of the last batch were played behind the decision"
    by_player = {row.label: row.total.games for row in game_table(league, "connect_four", {}).rows}
    assert by_player["oneply"] == counted
    play_match(ONEPLY, RANDOM, games=counted, league=league)
    assert {
        row.label: row.total.games for row in game_table(league, "connect_four", {}).rows
    } == by_player


def test_a_match_is_played_by_one_process_at_a_time(league: League) -> None:
    play_match(ONEPLY, RANDOM, games=20, tables=1, league=league, on_progress=stopping_at(4))
    begun = newest_unfinished(league)
    with (
        match_lock(league, begun.id),
        pytest.raises(HeldError, match=f"match {begun.id} is being played by another process"),
    ):
        resume_match(league, begun, (ONEPLY, RANDOM), ENV)
    with match_lock(league, begun.id + 1):
        assert not resume_match(league, begun, (ONEPLY, RANDOM), ENV).interim


def test_what_nothing_can_be_made_of_is_refused(league: League) -> None:
    with pytest.raises(MatchError, match=r"no match in .* is unfinished"):
        newest_unfinished(league)
    with pytest.raises(MatchError, match="match 7: none of this number"):
        find_match(league, 7)
    old = create_match(
        league,
        "connect_four",
        {},
        (ONEPLY.ref, RANDOM.ref),
        20,
        1,
        {"greedy": False, "opening_plies": 2, "paired": True, "tables": 64},
    )
    with pytest.raises(MatchError, match="played by an older version"):
        resume_match(league, old, (ONEPLY, RANDOM), ENV)
    play_match(ONEPLY, RANDOM, games=20, tables=1, league=league, on_progress=stopping_at(4))
    with pytest.raises(MatchError, match="would now be planned as .*'paired': False"):
        resume_match(
            league, newest_unfinished(league), (ONEPLY, RANDOM), replace(ENV, replayable=False)
        )


# --- several processes ----------------------------------------------------------------------------


def test_a_helper_plays_a_batch_to_the_same_games() -> None:
    plan = play_match(ONEPLY, RANDOM, games=40, tables=8).plan
    ours, theirs = channel_pair()
    helping = threading.Thread(target=main, args=(theirs.detach(),), daemon=True)
    helping.start()
    channel = Channel(ours, outgoing=Wire(WIRES.outgoing), incoming=Wire(WIRES.incoming))
    wanted = tuple(plan.batch_games(3))
    channel.send_many([Order(order_of(plan)), PlayBatch(3, wanted, (0,) * len(wanted))])
    heard: list[GameEnd | BatchPlayed | Failed] = []
    while not heard or not isinstance(heard[-1], BatchPlayed):
        assert channel.wait(60.0), "the helper says nothing"
        heard += channel.receive()
    channel.close()
    helping.join(10.0)
    here = BatchTables(ENV, plan, None)
    # Another batch before it changes nothing.
    for batch in (1, 3):
        here.begin(tuple(plan.batch_games(batch)), (0,) * 8)
        own: list[GameEnd] = []
        while here.left:
            own += here.turn()
            here.settle()
    here.close()
    assert heard[:-1] == own
    assert {end.plan.game_count for end in own} == set(wanted)


SLOW = """
import time
from pbt.envs.classic.connect_four import SPEC


def make():
    game = SPEC.make()
    step = game.step

    def slowly(actions):
        time.sleep(0.002)
        return step(actions)

    game.step = slowly
    return game
"""


@pytest.fixture
def slow_env(tmp_path: Path) -> EnvSpec:
    path = tmp_path / "slow.py"
    path.write_text(SLOW, encoding="utf-8")
    return spec(f"{path}:make", allow_files=True)


def helpers() -> list[psutil.Process]:
    found = []
    for child in psutil.Process().children(recursive=True):
        with suppress(psutil.NoSuchProcess, psutil.ZombieProcess):
            if child.name() == "helper_process":
                found.append(child)
    return found


@pytest.mark.slow
def test_any_number_of_processes_plays_the_same_match_and_leaves_none_behind(
    slow_env: EnvSpec, monkeypatch: pytest.MonkeyPatch
) -> None:
    player = scripted("random", slow_env.name)
    monkeypatch.setattr("arena.matches.helper_group.WORTH_HELP_S", 2.0)
    seen: set[int] = set()

    def look(done: int, planned: int) -> None:
        seen.update(helper.pid for helper in helpers())

    alone = play_match(player, player, games=256, env=slow_env)
    helped = play_match(player, player, games=256, env=slow_env, concurrency=3, on_progress=look)
    assert len(seen) == 2
    assert not any(psutil.pid_exists(pid) for pid in seen)
    assert same(alone, helped)
    print(f"games/s alone {alone.games_per_s:.0f}, with two helpers {helped.games_per_s:.0f}")


@pytest.mark.slow
def test_a_helper_that_is_killed_or_hangs_costs_no_game(
    slow_env: EnvSpec, monkeypatch: pytest.MonkeyPatch
) -> None:
    player = scripted("random", slow_env.name)
    monkeypatch.setattr("arena.matches.helper_group.WORTH_HELP_S", 2.0)
    hurt: dict[int, int] = {}

    def hurt_each(done: int, planned: int) -> None:
        for helper in helpers():
            # It plays when it has used as much time as loading takes.
            if helper.pid not in hurt and time.time() - helper.create_time() > 6.0:
                hurt[helper.pid] = signal.SIGKILL if not hurt else signal.SIGSTOP
                os.kill(helper.pid, hurt[helper.pid])

    alone = play_match(player, player, games=384, env=slow_env)
    helped = play_match(
        player, player, games=384, env=slow_env, concurrency=4, on_progress=hurt_each
    )
    assert sorted(hurt.values()) == [signal.SIGKILL, signal.SIGSTOP, signal.SIGSTOP]
    assert helped.records == alone.records
    assert any("a helping process ended" in note for note in helped.notes)
    assert not any(psutil.pid_exists(pid) for pid in hurt)


def failing(done: int, planned: int) -> None:
    raise EnvError("the board is on fire\nand so is the table")


def test_the_last_match_is_the_last_that_can_go_on(league: League) -> None:
    """Not a failed one, and none that is being played."""
    whole = play_match(ONEPLY, RANDOM, games=20, tables=4)
    cut = play_match(ONEPLY, RANDOM, games=20, tables=4, league=league, on_progress=stopping_at(6))
    played = play_match(
        ONEPLY, RANDOM, games=20, tables=4, league=league, on_progress=stopping_at(6)
    )
    with pytest.raises(EnvError):
        play_match(
            ONEPLY,
            RANDOM,
            games=20,
            tables=4,
            sprt=Sprt(-300, 300),
            league=league,
            on_progress=failing,
        )
    newest, *_ = unfinished_matches(league)
    assert newest.failed == "the board is on fire"
    assert (cut.match_id, played.match_id, newest.id) == (1, 2, 3)
    with match_lock(league, 2):
        assert newest_unfinished(league).id == 1
        with (
            match_lock(league, 1),
            pytest.raises(
                MatchError,
                match=r"match 3 failed \(the board is on fire\); match 2 is being played",
            ),
        ):
            newest_unfinished(league)
    assert newest_unfinished(league).id == 2
    with pytest.raises(EnvError):
        resume_match(league, newest_unfinished(league), (ONEPLY, RANDOM), ENV, on_progress=failing)
    assert find_match(league, 2).failed == "the board is on fire"
    went_on = resume_match(league, find_match(league, 2), (ONEPLY, RANDOM), ENV)
    assert (went_on.records, find_match(league, 2).failed) == (whole.records, None)
    decided = resume_match(league, find_match(league, 3), (ONEPLY, RANDOM), ENV)
    assert decided.test is not None and decided.test.state == "accept H1"
