"""Members that begin with a snapshot's weights, in every placement."""

from pathlib import Path
from typing import Any

import pytest
import torch

from pbt.errors import SnapshotError
from pbt.learning.return_scale import RETURNS
from pbt.models.weights import policy_tensors
from pbt.runtime.warm_start import begin_with, misfits_of
from tests.pbt.runtime.placing import Running, placed

GAME, FRAMES = "tictactoe", 300
PARALLEL = [("inline", True), ("central", False), ("more_shards", True)]
LONG = [pytest.param(*case, marks=pytest.mark.slow) for case in PARALLEL]


def stored(folder: Path, *, whole: bool, **changes: Any) -> tuple[str, dict[str, torch.Tensor]]:
    """A snapshot of a trained m0: (its id, the learner's whole state)."""
    with Running(placed("serial", GAME, FRAMES, **changes), folder) as run:
        run.start()
        run.until(lambda: min(run.engine.clocks().values()) >= FRAMES // 2)
        state = run.engine.scheduler.pipelines["m0"].handle.state()
        tensors = state if whole else policy_tensors(state)
        record = run.engine.controller.members["m0"].freeze(
            run.store, "manual", tensors, frames=7, version=3
        )
    return record.snapshot_id, state


@pytest.mark.parametrize(("placement", "optimizer"), [("serial", False), ("serial", True), *LONG])
def test_one_begins_with_weights_and_trains(
    tmp_path: Path, placement: str, optimizer: bool
) -> None:
    origin, given = stored(tmp_path, whole=True)
    with Running(placed(placement, GAME, FRAMES), tmp_path) as run:
        own = run.engine.scheduler.pipelines["m1"].handle.state()
        begin_with(run.engine, "m1", run.store, origin, optimizer=optimizer)
        run.start()
        began = run.engine.scheduler.pipelines["m1"].handle.state()
        for name, tensor in began.items():
            comes_along = name.startswith("model.") or (optimizer and name != "clocks")
            assert torch.equal(tensor, (given if comes_along else own)[name]), name
        assert began["clocks"].tolist() == [0, 0, 0, 0]
        parents = {record.member: record.parent_id for record in run.sink.snapshots}
        assert parents == {"m0": None, "m1": origin, "m2": None}
        run.finish(run.account)


def test_the_scale_of_returns_is_measured_anew_where_there_was_none(tmp_path: Path) -> None:
    origin, _ = stored(tmp_path, whole=True, learning={"normalize_returns": False})
    with Running(placed("serial", GAME, FRAMES), tmp_path) as run:
        begin_with(run.engine, "m0", run.store, origin, optimizer=True)
        assert not run.engine.scheduler.pipelines["m0"].handle.state()[RETURNS].any()


def test_what_does_not_fit_changes_nothing(tmp_path: Path) -> None:
    origin, _ = stored(tmp_path, whole=False)
    with Running(placed("serial", GAME, FRAMES, model={"hidden": [9]}), tmp_path) as run:
        before = run.engine.weights_digest()
        with pytest.raises(SnapshotError, match="does not fit the model"):
            begin_with(run.engine, "m0", run.store, origin, optimizer=False)
        with pytest.raises(SnapshotError, match="adam.exp_avg: found nothing"):
            begin_with(run.engine, "m0", run.store, origin, optimizer=True)
        assert run.engine.weights_digest() == before


DQN: dict[str, Any] = {
    "learning": {"algorithm": "dqn"},
    "model": {"core": "none"},
    "dqn": {"replay_rows": 256, "least_rows": 32, "batch_rows": 16, "epsilon_frames": 200},
}


def test_values_of_actions_are_taken_over_and_explored_with_as_by_a_beginner(
    tmp_path: Path,
) -> None:
    origin, given = stored(tmp_path, whole=False, **DQN)
    assert given["model.rule.epsilon"] < 0.5
    with Running(placed("serial", GAME, FRAMES, **DQN), tmp_path) as run:
        begin_with(run.engine, "m1", run.store, origin, optimizer=False)
        began = run.engine.scheduler.pipelines["m1"].handle.state()
        assert began["model.rule.epsilon"] == 1.0
        assert torch.equal(began["model.heads.weight"], given["model.heads.weight"])
        run.start()
        run.finish(run.account)


@pytest.mark.parametrize(("learns", "begins"), [({}, DQN), (DQN, {"model": {"core": "none"}})])
def test_weights_that_act_by_another_rule_do_not_fit(
    tmp_path: Path, learns: dict[str, Any], begins: dict[str, Any]
) -> None:
    _, given = stored(tmp_path, whole=False, **{"model": {"core": "none"}, **learns})
    with Running(placed("serial", GAME, FRAMES, **begins), tmp_path) as run:
        layout = run.engine.scheduler.pipelines["m0"].batcher._slab.layout
        problems = misfits_of(run.config, "m0", layout, given, optimizer=False)
    assert len(problems) == 1 and "rule.epsilon" in problems[0]
