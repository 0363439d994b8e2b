"""In rounds equal seeds give equal weights and games, however many processes play and learn."""

import hashlib
import os
import signal
import time
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from pbt.algorithms.batch import Batch
from pbt.config.schema import RunConfig
from pbt.errors import ConfigError
from pbt.learning import background_gathering
from pbt.runtime import process_group
from tests.pbt.runtime import round_faults
from tests.pbt.runtime.checked_process import ROUNDS
from tests.pbt.runtime.placing import Running, placed

LAYOUTS: dict[str, tuple[str, dict[str, Any]]] = {
    "serial": ("serial", {}),
    "inline, 1": ("inline", {"workers": 1}),
    "inline, 2": ("inline", {"workers": 2}),
    "inline, 4": ("inline", {"workers": 4}),
    "central, 1 server, 1 group": ("central", {"servers": 1, "groups": 1}),
    "central, 2 servers, 2 groups": ("central", {"workers": 2, "servers": 2, "groups": 2}),
    "central, 3 servers, 2 groups": ("central", {"servers": 3, "groups": 2}),
    "servers that learn": ("mixture", {}),
}
RHYTHMS = ("sync", "hts")
FRAMES = 200


class Outcome(NamedTuple):
    """What a run must share with its likes.

    weights  digest of all members' weights
    games    digest of all games in the order in which they were told
    lags     (least, most) lag in rounds of every update, in the order of members
    """

    weights: str
    games: str
    lags: tuple[tuple[float, float], ...]


def config_of(layout: str, rhythm: str, **changes: Any) -> RunConfig:
    placement, runtime = LAYOUTS[layout]
    # Networks as wide as real ones, so that sums depend on their order.
    changes = {"model": {"core": "none", "hidden": [64]}, **changes}
    return placed(placement, "tictactoe", FRAMES, runtime={**runtime, "sync": rhythm}, **changes)


def tables(config: RunConfig) -> int:
    assert isinstance(config.sampling.environments, int)
    return config.sampling.environments


def outcome(run: Running) -> Outcome:
    games = hashlib.sha256("\n".join(map(repr, run.sink.games)).encode()).hexdigest()
    points = sorted(run.sink.points, key=lambda point: point[:2])
    lags = tuple((one["round_lag_min"], one["round_lag_max"]) for _, _, one in points)
    return Outcome(run.engine.weights_digest(), games, lags)


def run_whole(folder: Path, layout: str, rhythm: str, **changes: Any) -> Outcome:
    with Running(config_of(layout, rhythm, **changes), folder).start() as run:
        run.finish()
        return outcome(run)


def with_change(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Make a change of `round_faults` here and in all processes of runs."""
    getattr(round_faults, name)(monkeypatch.setattr)
    monkeypatch.setenv(ROUNDS, name)
    program = "tests.pbt.runtime.checked_process"
    monkeypatch.setattr(process_group.ProcessGroup, "program", program)


@pytest.mark.parametrize("rhythm", RHYTHMS)
@pytest.mark.parametrize(
    "layout",
    [
        "inline, 2",
        *(pytest.param(one, marks=pytest.mark.slow) for one in LAYOUTS if one != "inline, 2"),
    ],
)
def test_the_placement_changes_nothing(
    layout: str, rhythm: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With sleeps at random places. "serial" runs twice, without them at first."""
    alone = run_whole(tmp_path / "alone", "serial", rhythm)
    with_change(monkeypatch, "sleeps")
    assert run_whole(tmp_path / "other", layout, rhythm) == alone
    # Rows of the first round are trained before any learning is over.
    lag = float(rhythm == "hts")
    assert set(alone.lags) == {(lag, lag), (0.0, 0.0)}
    assert alone.lags.count((0.0, 0.0)) == (3 if lag else len(alone.lags))


# Each fault, and a training in which it matters.
FAULTS: dict[str, dict[str, Any]] = {
    "rows_as_they_come": {},
    "games_as_they_come": {
        "stop_at_frames": 500,
        "snapshots": {"every_frames": 50},
        "matchmaking": {"past_share": 0.8, "past_window": 6},
    },
    "shards_by_workers": {},
}


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS)
def test_each_of_the_reasons_is_one(
    fault: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_change(monkeypatch, fault)
    changes = FAULTS[fault]
    one, two = (
        run_whole(tmp_path / name, name, "sync", **changes) for name in ("serial", "inline, 2")
    )
    assert one.weights != two.weights


@pytest.mark.parametrize("rhythm", RHYTHMS)
def test_a_run_that_was_stopped_ends_like_one_that_was_not(rhythm: str, tmp_path: Path) -> None:
    """It goes on in another placement, also within the final evaluation."""
    whole = run_whole(tmp_path / "whole", "serial", rhythm)
    config = config_of("serial", rhythm)
    with Running(config, tmp_path / "parts").start() as run:
        run.until(lambda: run.engine.rows_trained > 150)
        cut, games = run.cut(), list(run.sink.games)
    with Running(config_of("inline, 2", rhythm), tmp_path / "parts") as run:
        run.engine.restore(cut)
        run.sink.games[:0] = games
        run.finish()
        assert outcome(run)[:2] == whole[:2]


@pytest.mark.parametrize("game", ["connect_four", "openspiel:leduc_poker", "cartpole"])
def test_nine_of_ten_places_of_a_batch_are_rows(
    game: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shares, gather = list[float](), background_gathering.gather_lanes

    def noting(*given: Any) -> Batch:
        batch = gather(*given)
        shares.append(float(batch.valid.float().mean()))
        return batch

    monkeypatch.setattr(background_gathering, "gather_lanes", noting)
    changes = {"sampling": {"environments": 48, "rollout_steps": 16, "opening_plies": 0}}
    config = placed(
        "serial",
        game,
        1500,
        population={"members": 1},
        learning={"batch_steps": 768},
        evaluation={"share": 0.0, "final_games": 0},
        runtime={"sync": "sync"},
        **changes,
    )
    with Running(config, tmp_path).start() as run:
        run.finish()
    assert len(shares) > 1 and sum(shares) / len(shares) >= 0.9


def test_there_are_never_more_rows_than_two_rollouts_have(tmp_path: Path) -> None:
    """One is played while the one before it is learned from."""
    config = config_of("serial", "hts")
    with Running(config, tmp_path).start() as run:
        rows = []
        run.finish(lambda: rows.append(run.engine.rows_standing()))
    assert 0 < max(rows) <= 2 * config.sampling.rollout_steps * tables(config)


def test_a_learner_that_is_held_holds_the_games_after_one_more_round(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is played meanwhile is not written over what the learner still reads."""
    monkeypatch.setattr(process_group, "STOPPED_AFTER_S", 120.0)
    whole = run_whole(tmp_path / "whole", "serial", "hts")
    layout = "central, 1 server, 1 group"
    config = config_of(layout, "hts")
    config = config.model_copy(
        update={"runtime": config.runtime.model_copy(update={"silent_after_s": 120.0})}
    )
    with Running(config, tmp_path / "held").start() as run:
        held, stood = 0, list[int]()
        changed, produced, trained = 0.0, 0, 0

        def hold() -> None:
            nonlocal held, changed, produced, trained
            if not held and run.engine.rows_trained > 150:
                held, trained = run.pid("learner-0"), run.engine.rows_trained
                os.kill(held, signal.SIGSTOP)
            if run.engine.rows_produced() != produced:
                changed, produced = time.monotonic(), run.engine.rows_produced()
            if held and not stood and time.monotonic() - changed > 2.0:
                # An update that it had told of just before is counted late.
                stood.append(produced - max(trained, run.engine.rows_trained))
                os.kill(held, signal.SIGCONT)

        run.finish(hold)
        assert 0 < stood[0] <= 2 * config.sampling.rollout_steps * tables(config)
        assert run.restarts()["learner-0"] == 0
        assert outcome(run) == whole


DELAYED: dict[str, Any] = {
    "learning": {"epochs": 1, "minibatches": 1, "vtrace": False, "ppo_clip": False},
    "hts": {"gradient": "delayed"},
}


def test_gradients_of_weights_that_acted_are_attested(tmp_path: Path) -> None:
    """Certificates compare what the learner computed; `Running` asks that none finds a fault."""
    alone = run_whole(tmp_path / "alone", "serial", "hts", **DELAYED)
    assert run_whole(tmp_path / "clipped", "serial", "hts").weights != alone.weights


@pytest.mark.parametrize("turns", [2, 16])
def test_a_replay_takes_rollouts_that_are_shorter_than_its_slots(
    turns: int, tmp_path: Path
) -> None:
    config = placed(
        "serial",
        "tictactoe",
        400,
        sampling={"rollout_steps": 8},
        model={"core": "none", "hidden": [16]},
        learning={"algorithm": "dqn", "epochs": 1, "minibatches": 1},
        dqn={"replay_rows": 4000, "least_rows": 32, "batch_rows": 16},
        runtime={"sync": "sync", "sync_steps": turns},
    )
    with Running(config, tmp_path).start() as run:
        run.finish()
    assert max(values["td_error"] for _, _, values in run.sink.points) > 0


@pytest.mark.parametrize(
    ("first", "second"), [("hts", "async"), ("async", "hts"), ("async", "sync"), ("sync", "hts")]
)
@pytest.mark.parametrize("placement", ["serial", pytest.param("inline", marks=pytest.mark.slow)])
def test_the_rhythm_changes_at_a_start(
    first: str, second: str, placement: str, tmp_path: Path
) -> None:
    """No row is trained that was not written, and no process dies of it."""
    one, two = (
        placed(placement, "cartpole", 900, runtime={"sync": sync}) for sync in (first, second)
    )
    with Running(one, tmp_path).start() as run:
        run.until(lambda: run.engine.rows_trained > 300)
        cut = run.cut()
    with Running(two, tmp_path) as run:
        run.engine.restore(cut)
        run.account()
        run.finish()
        assert not any(values["skipped_steps"] for _, _, values in run.sink.points)
        assert not any(run.restarts().values())


def test_alternating_has_two_sets_of_tables_and_sync_one() -> None:
    sets = {
        sync: placed("central", "tictactoe", 100, runtime={"sync": sync}).runtime.groups
        for sync in ("async", "sync", "alternating", "hts")
    }
    assert sets == {"async": 2, "sync": 1, "alternating": 2, "hts": 2}
    with pytest.raises(ConfigError, match="is one set of tables"):
        placed(
            "central",
            "tictactoe",
            100,
            sampling={"environments": 4, "seat_block": 4},
            runtime={"sync": "alternating"},
        )
