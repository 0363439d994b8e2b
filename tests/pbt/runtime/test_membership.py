"""Members come and go between a checkpoint and the run that goes on from it.

The other members go on as they were, and every row is accounted for.
"""

from pathlib import Path

import pytest
import torch

from pbt.checkpoint.files import Checkpoint
from pbt.config.population import Joined
from pbt.config.schema import RunConfig
from pbt.envs import registry
from pbt.errors import EngineError, SnapshotError
from pbt.records import GameRecord
from pbt.runtime.blueprint import blueprint_of
from pbt.runtime.membership import LEFT, beginner, freeze, joined, members_of, without
from pbt.snapshots import FileSnapshotStore
from tests.pbt.runtime.placing import Running, placed
from tests.pbt.runtime.test_cuts_between_placements import account, open_games, rows_in

GAME, ROLE, FRAMES = "tictactoe", "player", 600


def changed(config: RunConfig) -> RunConfig:
    """m1 left, m3 came."""
    population = config.population.model_copy(
        update={"joined": {"m3": Joined(role=ROLE)}, "left": ("m1",)}
    )
    return config.model_copy(update={"population": population})


def first_half(folder: Path, placement: str) -> Checkpoint:
    """A cut among games with m1 and games without; which those are differs from run to run."""
    with Running(placed(placement, GAME, FRAMES), folder / "snapshots") as run:
        run.start()
        for number in range(1, 9):
            run.until(lambda: min(run.engine.clocks().values()) >= FRAMES // 3)
            cut = run.cut(number)
            if 0 < len(of_m1(cut)) < len(open_games(cut)):
                return cut
        raise AssertionError("eight cuts had no open games of both kinds")


def of_m1(cut: Checkpoint) -> set[tuple[int, int]]:
    return {key for key in open_games(cut) if "m1" in seated(cut, key)}


def exchange(cut: Checkpoint, config: RunConfig) -> Checkpoint:
    newcomer = beginner(
        blueprint_of(changed(config), registry.spec(GAME)),
        "m3",
        cut.tensors["learner-m0"],
        "a" * 64,
    )
    return without(joined(cut, newcomer, ROLE), "m1")


def players(record: GameRecord) -> set[str]:
    return {seat.player.name for seat in record.seats if seat.player.kind == "member"}


def check_cut(before: Checkpoint, after: Checkpoint) -> None:
    assert list(members_of(after)) == ["m0", "m2", "m3"]
    assert members_of(after)["m0"] == members_of(before)["m0"]
    m3 = members_of(after)["m3"]
    assert (m3.policy, m3.generation, m3.round, m3.newest_snapshot) == (3, 0, 0, "a" * 64)
    assert set(after.tensors) == (set(before.tensors) - {"learner-m1"}) | {"learner-m3"}
    taken, given = after.tensors["learner-m3"], before.tensors["learner-m0"]
    assert taken["clocks"].tolist() == [0, 0, 0, 0]
    assert all(torch.equal(taken[name], given[name]) for name in given if name != "clocks")
    assert account(after)["produced"] == account(before)["produced"]
    dropped = sum(filler.dropped.get(LEFT, 0) for filler in after.state.worker.fillers)
    assert account(after)["dropped"] == account(before)["dropped"] + dropped
    assert rows_in(after) == rows_in(before) - dropped


@pytest.mark.parametrize(
    "placement",
    [
        "serial",
        *(
            pytest.param(name, marks=pytest.mark.slow)
            for name in ("inline", "central", "more_shards")
        ),
    ],
)
def test_one_comes_one_goes(tmp_path: Path, placement: str) -> None:
    before = first_half(tmp_path, placement)
    after = exchange(before, placed(placement, GAME, FRAMES))
    check_cut(before, after)
    voided = of_m1(before)
    with Running(changed(placed(placement, GAME, FRAMES)), tmp_path / "snapshots") as run:
        run.engine.restore(after)
        run.engine.controller.welcome("m3", "m0", "joined")
        run.finish(run.account)
        assert (
            run.engine.clocks().keys() == {"m0", "m2", "m3"}
            and min(run.engine.clocks().values()) >= FRAMES
        )
        told = {(record.environment, record.count): record for record in run.sink.games}
        assert all(told[key].end_reason == "voided: m1 left the population" for key in voided)
        others = [record for key, record in told.items() if key not in voided]
        assert not any(
            record.end_reason.startswith("voided") or "m1" in players(record) for record in others
        )
        assert open_games(before).keys() <= told.keys() and any(
            "m3" in players(record) for record in others
        )
        first = next(record for record in run.sink.snapshots if record.member == "m3")
        assert (first.reason, first.frames, first.parent_id) == ("initial", 0, "a" * 64)
        assert not any(run.restarts().values())


def seated(cut: Checkpoint, key: tuple[int, int]) -> set[str]:
    return set(cut.state.worker.seats.at({key[0]}).name)


def test_who_leaves_is_frozen_as_it_stands(tmp_path: Path) -> None:
    cut, store = first_half(tmp_path, "serial"), FileSnapshotStore(tmp_path / "snapshots")
    last, donor = freeze(cut, "m1", store, whole=False), freeze(cut, "m0", store, whole=True)
    state = cut.tensors["learner-m1"]
    assert (last.reason, last.frames, last.parent_id) == (
        "final",
        int(state["clocks"][1]),
        members_of(cut)["m1"].newest_snapshot,
    )
    weights = store.load(last.snapshot_id)
    assert weights.keys() == {name for name in state if name.startswith("model.")}
    assert all(torch.equal(weights[name], state[name]) for name in weights)
    assert donor.reason == "round" and store.load(donor.snapshot_id).keys() == state.keys()


def test_weights_of_a_snapshot_come_without_moments(tmp_path: Path) -> None:
    cut, store = first_half(tmp_path, "serial"), FileSnapshotStore(tmp_path / "snapshots")
    blueprint = blueprint_of(changed(placed("serial", GAME, FRAMES)), registry.spec(GAME))
    weights = store.load(freeze(cut, "m1", store, whole=False).snapshot_id)
    given, own = beginner(blueprint, "m3", weights, "b" * 64), beginner(blueprint, "m3", None, None)
    assert all(torch.equal(given.learner[name], tensor) for name, tensor in weights.items())
    moments = [name for name in own.learner if name.startswith("adam.")]
    assert moments and all(torch.equal(given.learner[name], own.learner[name]) for name in moments)
    assert (
        any(not torch.equal(given.learner[name], own.learner[name]) for name in weights)
        and own.origin is None
    )
    with pytest.raises(SnapshotError, match="does not fit"):
        beginner(blueprint, "m3", dict(list(weights.items())[1:]), "b" * 64)


def test_nobody_joins_twice_or_leaves_twice(tmp_path: Path) -> None:
    cut = first_half(tmp_path, "serial")
    after = exchange(cut, placed("serial", GAME, FRAMES))
    with pytest.raises(EngineError, match="m1 is no member"):
        without(after, "m1")
    with pytest.raises(EngineError, match="m3 is a member already"):
        exchange(after, placed("serial", GAME, FRAMES))
