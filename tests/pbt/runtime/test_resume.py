"""A checkpoint holds the whole population.

Equal runs are equal bit for bit, and a resumed run equals one that was never interrupted.
"""

import copy
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from bench.memory import MemorySink, MemoryStore, NoControl
from pbt.checkpoint.files import Checkpoint, read_newest, write_checkpoint
from pbt.checkpoint.resharding import merge_workers
from pbt.checkpoint.state import cut_tensors, split_cut
from pbt.config.schema import RunConfig
from pbt.envs import registry
from pbt.envs.contract import EnvSpec
from pbt.runtime.assembly import assemble
from pbt.runtime.blueprint import equal_shares
from pbt.runtime.engine import Engine
from pbt.runtime.serial import SerialEngine
from pbt.transport.slab import Slab
from tests.pbt.envs.image_games import FILE
from tests.pbt.models.memories import memory

COMMON: dict[str, Any] = {
    "population": {"members": 3},
    "learning": {"batch_steps": 32, "epochs": 2, "minibatches": 2},
    "matchmaking": {"past_share": 0.3, "past_window": 4},
    "evaluation": {"share": 0.2, "final_games": 4},
}
PBT = {"min_games": 5, "copy_gap": 0.0, "mutation_probability": 0.5}


def tiny(
    game: str,
    frames: int,
    period: int,
    past_mode: str = "uniform",
    seed: int = 1,
    core: str = "gru",
    **sampling: int,
) -> RunConfig:
    matchmaking = {**COMMON["matchmaking"], "past_mode": past_mode}
    own = {
        "seed": seed,
        "env": {"name": game},
        "model": {**memory(core, 8), "hidden": [8]},
        "stop_at_frames": frames,
        "sampling": {"rollout_steps": 4, **sampling},
        "matchmaking": matchmaking,
    }
    pbt = {
        "pbt": {**PBT, "period_frames": period, "warmup_frames": period},
        "snapshots": {"every_frames": period + 50},
    }
    return RunConfig.model_validate({**COMMON, **own, **pbt})


CONFIGS = {
    "connect_four": tiny("connect_four", 600, 150, "pfsp_hard", environments=8),
    "rock_paper_scissors": tiny(
        "rock_paper_scissors", 300, 100, core="lstm", environments=8, opening_plies=2
    ),
    "hide_and_seek": tiny("hide_and_seek", 200, 60, "elo_gaussian", environments=8),
    "squares": tiny("squares", 120, 60, seed=7, environments=4),
}
# Its seats remember the images that they saw since their game began.
SEEN = {"resize": [24, 24], "grey": True, "stack": 3}
ENVS = {"squares": {"name": f"{FILE}:parallel", "options": {"height": 24, "width": 36}, **SEEN}}
CONFIGS |= {
    game: RunConfig.model_validate({**CONFIGS[game].model_dump(), "env": env})
    for game, env in ENVS.items()
}
# Members that replay what they played, and some of them beside others that do not.
REPLAYS = {
    "model": {"core": "none", "hidden": [8]},
    "dqn": {"replay_rows": 128, "least_rows": 40, "batch_rows": 16, "epsilon_frames": 200},
}
DQN = {"learning": {"algorithm": "dqn", "batch_steps": 32}, **REPLAYS}
HALF = {name: {"algorithm": "dqn"} for name in ("m3", "m4", "m5")}
MIXED = {"population": {"members": 6}, "members": HALF, **REPLAYS}
CONFIGS |= {
    name: RunConfig.model_validate(
        {**tiny("tictactoe", 400, 100, environments=8).model_dump(), **own}
    )
    for name, own in {"dqn": DQN, "mixed": MIXED}.items()
}
FEW = {"connect_four": (83, 201), "rock_paper_scissors": (31, 60), "hide_and_seek": (61, 120)}
FEW |= {"squares": (10, 21), "dqn": (30, 90), "mixed": (40, 160)}
MANY = {
    "connect_four": (1, 7, 40, 130, 290, 380),
    "rock_paper_scissors": (1, 5, 17, 44, 80, 110),
    "hide_and_seek": (1, 23, 52, 99, 150, 230),
    "squares": (1, 5, 16, 30),
    "dqn": (1, 7, 60, 120),
    "mixed": (1, 17, 100, 220),
}


def spec_of(game: str) -> EnvSpec:
    measured = (True, True) if game in ENVS else None
    return registry.spec(CONFIGS[game].env.name, allow_files=True, measured=measured)


class Run:
    def __init__(self, game: str, store: MemoryStore | None = None) -> None:
        self.sink, self.store = MemorySink(), store or MemoryStore()
        self.population = assemble(CONFIGS[game], spec_of(game), self.sink, self.store)
        self.engine = SerialEngine(self.population, self.sink, NoControl())
        self.turns = 0

    def told(self) -> dict[str, list[Any]]:
        """Everything the outside was told."""
        sink = self.sink
        return {
            "games": sink.games,
            "rounds": sink.rounds,
            "snapshots": sink.snapshots,
            "events": sink.events,
            "points": sink.points,
        }


class Cut:
    """A run as it stood after some turns: its checkpoint, what it told so far, its snapshots."""

    def __init__(self, run: Run) -> None:
        # A cut names live state until it is written.
        self.checkpoint = copy.deepcopy(run.engine.take_cut(1))
        self.told = {name: list(rows) for name, rows in run.told().items()}
        self.store = copy.deepcopy(run.store)


@cache
def reference(game: str) -> tuple[Run, dict[int, Cut]]:
    """A run to its end, with checkpoints taken on the way.

    Going on must leave no trace in the checkpoints. Taking them leaves none in the run, which its
    equal without checkpoints shows.
    """
    run, cuts = Run(game), dict[int, Cut]()
    run.population.controller.start()

    def look() -> None:
        run.turns += 1
        if run.turns in FEW[game] or run.turns in MANY[game]:
            cuts[run.turns] = Cut(run)

    assert run.engine.run(look)
    return run, cuts


@pytest.mark.parametrize("game", CONFIGS)
def test_equal_configs_and_seeds_give_equal_weights_and_games(game: str) -> None:
    run, cuts = reference(game)
    again = Run(game)
    again.population.controller.start()
    assert again.engine.run(lambda: None)
    assert again.engine.weights_digest() == run.engine.weights_digest()
    assert again.told() == run.told()
    assert any(record.directive.copy_from for record in run.sink.rounds), (
        "the test needs copies inside"
    )
    assert set(cuts) == {*FEW[game], *MANY[game]}, (
        f"the run ended after {run.turns} turns, before some of the cuts"
    )


@pytest.mark.parametrize("game", CONFIGS)
def test_every_row_is_trained_dropped_with_a_reason_or_still_standing(game: str) -> None:
    run, _ = reference(game)
    accounted = (
        run.engine.rows_trained + sum(run.engine.dropped().values()) + run.engine.rows_standing()
    )
    assert run.engine.rows_produced() == accounted
    assert run.engine.dropped()["generation"] > 0


def check_resumed(game: str, turns: int, folder: Path) -> None:
    run, cuts = reference(game)
    cut = cuts[turns]
    write_checkpoint(folder, cut.checkpoint, keep=2)
    second = Run(game, copy.deepcopy(cut.store))
    checkpoint, damaged = read_newest(folder)
    assert not damaged and second.engine.restore(checkpoint) == 0
    assert second.engine.run(lambda: None)
    assert second.engine.weights_digest() == run.engine.weights_digest()
    told = second.told()
    assert {name: cut.told[name] + told[name] for name in told} == run.told()


@pytest.mark.parametrize(
    ("game", "turns"), [(game, turns) for game, cuts in FEW.items() for turns in cuts]
)
def test_a_resumed_run_equals_the_uninterrupted_one(game: str, turns: int, tmp_path: Path) -> None:
    check_resumed(game, turns, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("game", "turns"), [(game, turns) for game, cuts in MANY.items() for turns in cuts]
)
def test_a_resumed_run_equals_the_uninterrupted_one_at_more_cuts(
    game: str, turns: int, tmp_path: Path
) -> None:
    check_resumed(game, turns, tmp_path)


def test_a_cut_survives_the_disk_unchanged(tmp_path: Path) -> None:
    cut = reference("connect_four")[1][FEW["connect_four"][0]].checkpoint
    write_checkpoint(tmp_path, cut, keep=2)
    loaded, _ = read_newest(tmp_path)
    assert isinstance(loaded, Checkpoint) and loaded.number == 1
    assert loaded.state == cut.state
    assert {name: sorted(part) for name, part in loaded.tensors.items()} == {
        name: sorted(part) for name, part in cut.tensors.items()
    }


def test_members_copy_those_of_their_own_algorithm() -> None:
    """A checkpoint's rows are trained by the algorithm of the policy that acted in them."""
    run, _ = reference("mixed")
    copied = [one.directive for one in run.sink.rounds if one.directive.copy_from]
    assert {one.member in HALF for one in copied} == {True, False}
    assert all((one.member in HALF) == (one.copy_from in HALF) for one in copied)
    for record in run.sink.rounds:
        assert {score.member in HALF for score in record.scores} == {record.member in HALF}


def over_workers(cut: Cut, run: Run, workers: int) -> Checkpoint:
    """The same checkpoint as several workers would write it that resumed and stopped at once."""
    shares = equal_shares(run.population.blueprint, workers)
    slabs = [
        Slab(layout, shares[-1].slots[role].stop)
        for role, layout in enumerate(run.population.blueprint.layouts)
    ]
    split = split_cut(cut.checkpoint, slabs, shares)
    worker = merge_workers(split.workers)
    learners = {
        name: part for name, part in cut.checkpoint.tensors.items() if name.startswith("learner-")
    }
    state = structs.replace(cut.checkpoint.state, worker=worker, queues=split.queues)
    return Checkpoint(1, state, learners | cut_tensors({}, slabs, worker))


@pytest.mark.parametrize("game", CONFIGS)
def test_a_cut_of_several_workers_is_taken_over_by_one(game: str) -> None:
    """Seats are asked in another order then, so weights differ.

    Games that were open do not differ, nor do the random streams that they come from.
    """
    run, cuts = reference(game)
    cut = cuts[FEW[game][1]]
    second = Run(game, copy.deepcopy(cut.store))
    assert second.engine.restore(over_workers(cut, run, 3)) == 0
    before = cut.checkpoint.state
    assert second.engine.clocks() == {
        name: int(cut.checkpoint.tensors[f"learner-{name}"]["clocks"][1]) for name in before.queues
    }
    counted = sum(filler.produced for filler in before.worker.fillers)
    assert second.engine.rows_produced() == counted
    missing = (
        counted
        - second.engine.rows_trained
        - sum(second.engine.dropped().values())
        - second.engine.rows_standing()
    )
    assert missing == 0
    assert second.engine.run(lambda: None)
    accounted = (
        second.engine.rows_trained
        + sum(second.engine.dropped().values())
        + second.engine.rows_standing()
    )
    assert second.engine.rows_produced() == accounted
    games = {(record.environment, record.count): record.seed for record in run.sink.games}
    told = [
        (record.environment, record.count, record.seed)
        for record in (*cut.told["games"], *second.sink.games)
    ]
    assert len({(table, count) for table, count, _ in told}) == len(told)
    assert sum(games.get((table, count)) == seed for table, count, seed in told) > 0.5 * len(told)
    assert all(games.get((table, count), seed) == seed for table, count, seed in told)


class StopAtOnce(NoControl):
    def stop_requested(self) -> bool:
        return True


def test_whole_batches_that_wait_in_a_cut_are_learned_before_anything_is_played() -> None:
    """In other placements several batches may wait; one process has no slots for that many."""
    _, cuts = reference("connect_four")
    for cut in cuts.values():
        run = Run("connect_four", copy.deepcopy(cut.store))
        run.engine.restore(cut.checkpoint)
        local, pool = run.population.learners[0], run.population.worker.fillers[0].pool
        batcher = run.population.scheduler.pipelines[local.name].batcher
        if batcher.waiting:
            break
    waiting = batcher.state().queue[0]
    for _ in range(20):
        again = pool.take()
        for array in run.population.slabs[0].column.values():
            array[again] = array[waiting.slot]
        batcher.add(waiting._replace(slot=again), waiting.generation)
    served, version = run.population.server.rows_served, local.learner.version
    stopping = SerialEngine(run.population, run.sink, StopAtOnce())
    assert not stopping.run(lambda: None)
    assert (
        local.learner.version > version
        and len(batcher.waiting) < run.population.blueprint.batch_slots
    )
    assert run.population.server.rows_served == served


def test_the_serial_engine_is_an_engine() -> None:
    engine: Engine = Run("rock_paper_scissors").engine
    (status,) = engine.processes()
    assert (
        status.name == "main"
        and status.roles == ("main", "worker", "server", "learner m0 m1 m2")
        and status.queue == 0
    )
    with engine.at_rest():
        assert engine.needed() == set() and engine.rows_standing() == 0 and not engine.done
    engine.close()
