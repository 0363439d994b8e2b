"""Assessments of leagues with simulated games: what is read, and what is kept."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from arena.assessment.assessor import LOOK_EVERY_S, Assessor
from arena.assessment.league_strengths import read_strengths
from arena.assessment.pbt_actions import action_text, read_actions
from arena.data.lock import PopulationLock
from arena.data.metrics import MetricsWriter
from arena.data.paths import population_paths
from arena.data.status import MemberRow, Moment, write_status
from arena.league.database import League
from arena.league.populations import find_population, open_incarnation, set_state
from arena.league.writer import LeagueWriter
from pbt.errors import PlayerError
from pbt.records import Directive
from tests.arena.assessment.leagues import simulated
from tests.arena.league.samples import round_record
from tests.arena.sample_status import STATUS

GOAL = 400_000


def grows(member: str, number: int) -> float:
    return 150.0 * number


@contextmanager
def league_of(folder: Path, *arguments: object, **named: object) -> Iterator[League]:
    with simulated(folder, *arguments, **named) as league:  # type: ignore[arg-type]
        paths = population_paths(folder, "demo")
        paths.root.mkdir(parents=True)
        paths.config.write_text(
            f'{{"env": {{"name": "connect_four"}}, "stop_at_frames": {GOAL}, "population": {{}}}}'
        )
        yield league


def tell(folder: Path, *rows: MemberRow, ended: str = "finished") -> None:
    paths = population_paths(folder, "demo")
    write_status(
        paths.status, replace(STATUS, population="demo", members=rows, ended=ended, wiring=None)
    )


ROWS = tuple(MemberRow(f"m{one}", GOAL, 1.0, "finished", 0.5, 100) for one in range(4))


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_a_population_that_grew_is_said_to_have_learned(tmp_path: Path) -> None:
    with league_of(tmp_path, grows) as league:
        set_state(league, 1, "finished")
        tell(tmp_path, *ROWS)
        made = Assessor(league, tmp_path).assess("demo")
    assert made.conclusion == "learning" and made.state == "finished"
    assert made.gain is not None and made.gain.low > 0
    # The true gain from the first snapshots to the last is 600 Elo.
    assert made.gain.low < 600 < made.gain.high and made.gain.frames == 4 * 100_000
    assert made.sentence.startswith("finished; learned: +")
    assert made.best is not None and made.best.of == 20
    assert made.best.low is not None and 200 < made.best.low < made.best.value
    assert made.anchors[0].player == "random" and made.anchors[0].low > 0.6
    assert [one.frames for one in made.members] == [GOAL] * 4 and made.progress == 1.0
    assert made.game == "connect_four" and made.updates_taken == 400


def test_members_that_play_as_random_does(tmp_path: Path) -> None:
    with league_of(tmp_path, lambda member, number: 0.0) as league:
        tell(tmp_path, *ROWS)
        made = Assessor(league, tmp_path).assess("demo")
    assert made.conclusion == "none_better"
    assert "no member is surely better than random" in made.sentence


def test_a_member_that_failed_makes_a_population_broken(tmp_path: Path) -> None:
    with league_of(tmp_path, grows) as league:
        dead = replace(ROWS[3], state="failed", frames=GOAL // 4, failure="loss is nan")
        tell(tmp_path, *ROWS[:3], dead)
        made = Assessor(league, tmp_path).assess("demo")
    assert made.conclusion == "broken"
    assert made.sentence.startswith("broken: m3 failed, and learns no more: loss is nan; ")


def test_what_pbt_did_is_counted_without_what_was_taken_back(tmp_path: Path) -> None:
    with league_of(tmp_path, grows, games=60) as league:
        start = open_incarnation(league, 1, 1, last_game=59)
        with LeagueWriter(league, start) as writer:
            writer.round(round_record("m0", 1, 1000))
            kept = replace(
                round_record("m1", 1, 1500), directive=Directive("m1", 1, None, None, {}, ())
            )
            writer.round(kept)
            writer.round(round_record("m0", 2, 2000))
            writer.drain(60)
        with league.read() as connection:
            found = read_actions(connection, int(find_population(connection, "demo").id))
        assert (found.copies, found.mutations) == (2, 2)
        assert found.newest["m0"].text == "copied m1, changed learning_rate"
        assert found.newest["m0"].frames == 2000 and found.newest["m1"].text == "kept as it was"
        open_incarnation(league, 1, 1, last_game=59, last_rounds={"m0": 1})
        with league.read() as connection:
            found = read_actions(connection, int(find_population(connection, "demo").id))
        assert (found.copies, found.mutations) == (1, 1)
    assert action_text(Directive("m0", 1, None, None, {}, ("a", "b"))) == "changed a, b"


def test_strengths_are_fitted_again_only_where_games_came(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = []

    def counted(league: League, name: str) -> object:
        read.append(name)
        return read_strengths(league, name)

    monkeypatch.setattr("arena.assessment.assessor.read_strengths", counted)
    clock = Clock()
    with league_of(tmp_path, grows, games=200) as league:
        assessor = Assessor(league, tmp_path, clock=clock)
        first = assessor.assess("demo")
        assert assessor.assess("demo") is first and assessor.known("demo")
        clock.now += LOOK_EVERY_S
        assessor.assess("demo")
        assert len(read) == 1
        with LeagueWriter(league, open_incarnation(league, 1, 1, last_game=150)):
            pass
        clock.now += LOOK_EVERY_S
        assessor.assess("demo")
        assert len(read) == 2
        with pytest.raises(PlayerError):
            assessor.assess("other")
        assert not assessor.known("other")


def test_a_population_at_rest_is_assessed_again_only_after_a_change(tmp_path: Path) -> None:
    clock = Clock()
    with league_of(tmp_path, grows, games=200) as league:
        set_state(league, 1, "stopped")
        assessor = Assessor(league, tmp_path, clock=clock)
        first = assessor.assess("demo")
        clock.now += 100
        assert assessor.assess("demo") is first
        tell(tmp_path, *ROWS)
        clock.now += 100
        again = assessor.assess("demo")
        assert again.updates_taken == 400


def test_a_training_that_was_killed_does_not_seem_to_run(tmp_path: Path) -> None:
    with league_of(tmp_path, grows, games=60) as league:
        assert Assessor(league, tmp_path).assess("demo").state == "interrupted"


def test_speed_and_entropy_come_from_the_ends_of_the_curves(tmp_path: Path) -> None:
    with league_of(tmp_path, grows, games=60, snapshots=3) as league:
        paths, seconds = population_paths(tmp_path, "demo"), Clock()
        with MetricsWriter(paths.metrics, 1, tensorboard=False, clock=seconds) as metrics:
            for point in range(400):
                seconds.now += 2.0
                metrics.series("m0", 500 * point, {"entropy": 1.9 if point < 300 else 0.001})
                metrics.series("m1", 500 * point, {"entropy": 1.2})
        rows = [replace(one, state="learning", frames=200_000) for one in ROWS]
        tell(tmp_path, *rows, ended="")
        with PopulationLock(paths.lock, "demo"):
            made = Assessor(league, tmp_path).assess("demo")
    assert made.state == "running" and made.seconds_left == pytest.approx(800.0)
    assert [one.member for one in made.findings if one.kind == "entropy"] == ["m0"]
    assert "13 min left" in made.sentence


@pytest.mark.parametrize(("silent_s", "kind"), [(30.0, "warning"), (90.0, "fault")])
def test_a_trainer_that_reports_nothing_is_a_fault_after_a_minute(
    tmp_path: Path, silent_s: float, kind: str
) -> None:
    with league_of(tmp_path, grows, games=60) as league:
        now, paths = Moment.now(), population_paths(tmp_path, "demo")
        told = replace(STATUS, population="demo", members=ROWS, ended="", wiring=None, trouble=None)
        steady_s = now.steady_s - silent_s
        write_status(paths.status, replace(told, written_at=0.0, steady_s=steady_s))
        with PopulationLock(paths.lock, "demo"):
            made = Assessor(league, tmp_path).assess("demo")
    (found,) = (one for one in made.findings if "has reported nothing for" in one.text)
    assert found.kind == kind and (made.conclusion == "broken") == (kind == "fault")
