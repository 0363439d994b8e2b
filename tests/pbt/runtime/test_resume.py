"""A cut is the whole population: equal runs are equal bit for bit, and a resumed run equals the one that was never interrupted."""

import copy
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from pbt.checkpoints import Checkpoint, read_newest, write_checkpoint
from pbt.config.schema import RunConfig
from pbt.envs import registry
from pbt.population.memory import MemorySink, MemoryStore, NoControl
from pbt.runtime.assembly import assemble
from pbt.runtime.cut import restore_cut, take_cut, weights_digest
from pbt.runtime.serial import SerialEngine

COMMON: dict[str, Any] = {
    "population": {"members": 3},
    "model": {"core": "gru", "gru_size": 8, "hidden": [8]},
    "learning": {"batch_steps": 32, "epochs": 2, "minibatches": 2},
    "matchmaking": {"past_share": 0.3, "past_window": 4},
    "evaluation": {"share": 0.2, "final_games": 4},
}
PBT = {"min_games": 5, "copy_gap": 0.0, "mutation_probability": 0.5}


def tiny(game: str, frames: int, period: int, **sampling: int) -> RunConfig:
    own = {"env": {"name": game}, "stop_at_frames": frames, "sampling": {"rollout_steps": 4, **sampling}}
    pbt = {"pbt": {**PBT, "period_frames": period, "warmup_frames": period}, "snapshots": {"every_frames": period + 50}}
    return RunConfig.model_validate({**COMMON, **own, **pbt})


CONFIGS = {
    "connect_four": tiny("connect_four", 600, 150, environments=8),
    "rock_paper_scissors": tiny("rock_paper_scissors", 300, 100, environments=8, opening_plies=2),
    "hide_and_seek": tiny("hide_and_seek", 200, 60, environments=8),
}
FEW = {"connect_four": (83, 201), "rock_paper_scissors": (31, 60), "hide_and_seek": (61, 120)}
MANY = {"connect_four": (1, 7, 40, 130, 290, 380), "rock_paper_scissors": (1, 5, 17, 44, 80, 110), "hide_and_seek": (1, 23, 52, 99, 150, 230)}


class Run:
    def __init__(self, game: str, store: MemoryStore | None = None) -> None:
        self.sink, self.store = MemorySink(), store or MemoryStore()
        self.population = assemble(CONFIGS[game], registry.spec(game), self.sink, self.store)
        self.engine = SerialEngine(self.population, self.sink, self.store, NoControl())
        self.turns = 0

    def told(self) -> dict[str, list[Any]]:
        """Everything the outside was told."""
        sink = self.sink
        return {"games": sink.games, "rounds": sink.rounds, "snapshots": sink.snapshots, "events": sink.events, "points": sink.points}


class Cut:
    """A run as it stood after some turns: what is saved, what was told so far, the snapshots stored by then."""

    def __init__(self, run: Run) -> None:
        # A cut names live state until it is written.
        self.checkpoint = copy.deepcopy(take_cut(run.engine, 1))
        self.told = {name: list(rows) for name, rows in run.told().items()}
        self.store = copy.deepcopy(run.store)


@cache
def reference(game: str) -> tuple[Run, dict[int, Cut]]:
    """A run to its end, cut on the way; going on must leave no trace in the cuts, as cutting leaves none in it (its equal is never cut)."""
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
    assert weights_digest(again.population) == weights_digest(run.population)
    assert again.told() == run.told()
    assert any(record.directive.copy_from for record in run.sink.rounds), "the test needs copies inside"
    assert set(cuts) == {*FEW[game], *MANY[game]}, f"the run ended after {run.turns} turns, before some of the cuts"


@pytest.mark.parametrize("game", CONFIGS)
def test_every_row_is_trained_dropped_with_a_reason_or_still_standing(game: str) -> None:
    run, _ = reference(game)
    accounted = run.engine.rows_trained + sum(run.engine.dropped().values()) + run.engine.rows_standing()
    assert run.engine.rows_produced() == accounted
    assert run.engine.dropped()["generation"] > 0


def check_resumed(game: str, turns: int, folder: Path) -> None:
    run, cuts = reference(game)
    cut = cuts[turns]
    write_checkpoint(folder, cut.checkpoint, keep=2)
    second = Run(game, copy.deepcopy(cut.store))
    checkpoint, damaged = read_newest(folder)
    assert not damaged and restore_cut(second.engine, checkpoint) == 0
    assert second.engine.run(lambda: None)
    assert weights_digest(second.population) == weights_digest(run.population)
    told = second.told()
    assert {name: cut.told[name] + told[name] for name in told} == run.told()


@pytest.mark.parametrize(("game", "turns"), [(game, turns) for game, cuts in FEW.items() for turns in cuts])
def test_a_resumed_run_equals_the_uninterrupted_one(game: str, turns: int, tmp_path: Path) -> None:
    check_resumed(game, turns, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize(("game", "turns"), [(game, turns) for game, cuts in MANY.items() for turns in cuts])
def test_a_resumed_run_equals_the_uninterrupted_one_at_more_cuts(game: str, turns: int, tmp_path: Path) -> None:
    check_resumed(game, turns, tmp_path)


def test_a_cut_survives_the_disk_unchanged(tmp_path: Path) -> None:
    cut = reference("connect_four")[1][FEW["connect_four"][0]].checkpoint
    write_checkpoint(tmp_path, cut, keep=2)
    loaded, _ = read_newest(tmp_path)
    assert isinstance(loaded, Checkpoint) and loaded.number == 1
    assert {name: sorted(part) for name, part in loaded.tensors.items()} == {name: sorted(part) for name, part in cut.tensors.items()}
