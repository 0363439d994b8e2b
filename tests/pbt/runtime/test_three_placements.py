"""The same run in every placement, in processes of its own.

It ends, every row is accounted for and reaches its own learner, and games are equal.
"""

import math
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from pbt.records import GameRecord
from pbt.runtime.process_group import ProcessGroup
from tests.conftest import REPOSITORY
from tests.pbt.runtime.checked_process import LOGS
from tests.pbt.runtime.placing import PLACEMENTS, PROCESSES, Running, placed
from tests.pbt.runtime.routing import Routing

PARALLEL = [placement for placement in PLACEMENTS if placement != "serial"]
SEVERAL = [placement for placement in PARALLEL if placement != "shards"]


@pytest.fixture
def logs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Children write down what they do, in this folder."""
    folder = tmp_path / "logs"
    folder.mkdir()
    monkeypatch.setattr(ProcessGroup, "program", "tests.pbt.runtime.checked_process")
    monkeypatch.setenv(LOGS, str(folder))
    # They are started with -P, so they would not find the tests.
    monkeypatch.setenv("PYTHONPATH", str(REPOSITORY))
    return folder


def whole_life(
    placement: str, game: str, frames: int, folder: Path, logs: Path, **changes: Any
) -> Running:
    """A run to its end, looked at now and then on the way. changes: see `placed`."""
    config = placed(placement, game, frames, **changes)
    with Running(config, folder / "snapshots").start() as run:
        turns = 0

        def look() -> None:
            nonlocal turns
            turns += 1
            if turns % 150 == 40:
                run.account()
                assert run.engine.needed() <= {record.snapshot_id for record in run.sink.snapshots}
            elif turns % 150 == 100:
                run.cut()

        run.finish(look)
        assert (
            run.rests >= 3
            and len(run.pids) == PROCESSES[placement]
            and not any(run.restarts().values())
        )
        check_story(run)
    if placement != "serial":
        routing = Routing(logs, run)
        routing.check()
        assert (
            len(routing.gathered)
            >= run.engine.rows_trained
            >= sum(run.engine.clocks().values()) * 0.99
        )
    return run


def check_story(run: Running) -> None:
    """The run met what it is about."""
    engine, games, config = run.engine, run.games(), run.config
    assert engine.rows_trained == sum(engine.clocks().values())
    assert not any(record.end_reason.startswith("voided") for record in games.values())
    training = [record for record in games.values() if record.kind == "training"]
    assert any(seat.player.kind == "snapshot" for record in training for seat in record.seats), (
        "no member met a past opponent"
    )
    assert any(record.opening_plies for record in training) and len(training) < len(games)
    assert engine.games.total() == len(games) == engine.controller.games and engine.games[
        "training"
    ] == len(training)
    copies = [record for record in run.sink.rounds if record.directive.copy_from]
    assert sum(member.copies for member in engine.controller.members.values()) == len(copies)
    if len(engine.controller.members) >= 3:
        assert copies and engine.dropped()["generation"] > 0
    assert not engine.dropped()["restart"]
    numbers: dict[int, set[int]] = {}
    for environment, count in games:
        numbers.setdefault(environment, set()).add(count)
    assert len(numbers) == config.sampling.environments and all(
        counts == set(range(len(counts))) for counts in numbers.values()
    )
    lags = [values["lag_mean"] for _, _, values in run.sink.points]
    assert all(math.isfinite(lag) and lag >= 0 for lag in lags)
    if config.runtime.placement == "central":
        assert sum(lags) / len(lags) > 0


def in_turn(games: Sequence[str]) -> list[tuple[str, str]]:
    """Every placement with a game, every game with some placement."""
    return [(placement, games[index % len(games)]) for index, placement in enumerate(SEVERAL)]


FEW = {
    "serial": ("tictactoe", 700),
    "inline": ("tictactoe", 2000),
    "central": ("tictactoe", 1700),
    "mixture": ("hide_and_seek", 500),
    "shards": ("rock_paper_scissors", 6000),
}


@pytest.mark.parametrize(
    "placement",
    [
        pytest.param(name, marks=pytest.mark.slow) if name in ("mixture", "shards") else name
        for name in FEW
    ],
)
def test_a_run_ends_and_every_row_is_accounted_for_and_reaches_its_learner(
    placement: str, tmp_path: Path, logs: Path
) -> None:
    """Over all placements learners are given some 20 000 rows, and each of them is checked."""
    whole_life(placement, *FEW[placement], tmp_path, logs)


# Three members learn by APPO and three by DQN, which replays their rows.
MIXED: dict[str, Any] = {
    "population": {"members": 6},
    "members": {name: {"algorithm": "dqn"} for name in ("m1", "m3", "m5")},
    "model": {"core": "none"},
    "dqn": {"replay_rows": 256, "least_rows": 64, "batch_rows": 16, "epsilon_frames": 400},
}


@pytest.mark.parametrize("placement", ["inline", pytest.param("central", marks=pytest.mark.slow)])
def test_rows_reach_learners_of_their_algorithm(placement: str, tmp_path: Path, logs: Path) -> None:
    run = whole_life(placement, "connect_four", 700, tmp_path, logs, **MIXED)
    copied = [one.directive for one in run.sink.rounds if one.directive.copy_from]
    assert all(
        (one.member in MIXED["members"]) == (one.copy_from in MIXED["members"]) for one in copied
    )
    state = {name: handle.state() for name, handle in run.engine.controller._learners.items()}
    assert {name for name in state if "algorithm.target" in state[name]} == set(MIXED["members"])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("placement", "game"), in_turn(["connect_four", "rock_paper_scissors", "hide_and_seek"])
)
def test_more_rows_reach_their_learners(
    placement: str, game: str, tmp_path: Path, logs: Path
) -> None:
    """Some 25 000 rows over all."""
    whole_life(placement, game, 700 if game == "hide_and_seek" else 1400, tmp_path, logs)


# --- streams --------------------------------------------------------------------------------------


Games = Mapping[tuple[int, int], GameRecord]
# No member finishes or is frozen, and learning changes nothing.
STILL: dict[str, Any] = {
    "learning": {"learning_rate": 0.0},
    "pbt": {"enabled": False},
    "evaluation": {"share": 0.0},
    "matchmaking": {"past_share": 0.0},
}


def first_games(placement: str, game: str, number: int, folder: Path) -> Games:
    with Running(placed(placement, game, 1_000_000, **STILL), folder).start() as run:
        run.until(lambda: len(run.sink.games) >= number)
        return run.games()


@cache
def in_one_process(game: str, number: int) -> Games:
    with TemporaryDirectory() as folder:
        return first_games("serial", game, number, Path(folder))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("placement", "game"),
    in_turn(["hide_and_seek", "connect_four", "rock_paper_scissors"]),
)
def test_many_games_are_the_same_in_every_placement(
    placement: str, game: str, tmp_path: Path
) -> None:
    check_streams(placement, game, 1000, tmp_path)


def check_streams(placement: str, game: str, number: int, folder: Path) -> None:
    """Games with equal (environment, count) have equal seeds and players, and with weights that
    never change they are equal move by move.

    Rows stand in other batches in every placement, and a network's last digits depend on the
    batch's shape. A choice differs by it only when its uniform number falls between two sums of
    probabilities that differ by some 1e-7, which may happen once in millions of decisions.
    """
    games, reference = first_games(placement, game, number, folder), in_one_process(game, number)
    both = games.keys() & reference.keys()
    assert len(both) > 0.6 * number
    differing = 0
    for key in both:
        one, other = games[key], reference[key]
        assert (one.kind, one.seed, one.opening_plies) == (
            other.kind,
            other.seed,
            other.opening_plies,
        )
        assert [seat.player for seat in one.seats] == [seat.player for seat in other.seats]
        differing += (one.trajectory_hash, one.steps, [seat.place for seat in one.seats]) != (
            other.trajectory_hash, other.steps, [seat.place for seat in other.seats]
        )  # fmt: skip
    assert differing <= len(both) / 1000
    assert len({record.trajectory_hash for record in games.values()}) > 5, (
        "the test needs games that could differ"
    )
