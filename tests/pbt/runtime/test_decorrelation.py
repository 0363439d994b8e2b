"""Tables that begin together do not end their games together, where the config sets them apart."""

import copy
from collections import Counter
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from scipy.stats import chisquare

from bench.memory import MemorySink, MemoryStore, NoControl
from bench.twins import TWINS
from pbt.checkpoint.files import read_newest, write_checkpoint
from pbt.config.schema import RunConfig
from pbt.envs import registry
from pbt.errors import EnvError
from pbt.records import is_voided
from pbt.runtime.assembly import assemble
from pbt.runtime.serial import SerialEngine
from pbt.sampling.native_group import NativeGroup
from tests.pbt.runtime.checking import CheckedEngine
from tests.pbt.runtime.placing import Running, placed

LENGTH, TABLES, STEPS = 8, 256, 150
# Games of a fixed length, of one seat and of two that act at once.
FIXED: dict[str, dict[str, Any]] = {
    "memory": {"delay": LENGTH - 1},
    "rock_paper_scissors": {"rounds": LENGTH},
}


class Run:
    """A serial run. ended: by table, the turns in which games ended that were told."""

    def __init__(self, config: RunConfig, store: MemoryStore | None = None) -> None:
        self.sink, self.store = MemorySink(), store or MemoryStore()
        spec = registry.spec(config.env.name)
        self.population = assemble(config, spec, self.sink, self.store)
        self.engine = SerialEngine(self.population, self.sink, NoControl())
        self.ended: dict[int, list[int]] = {}

    def start(self) -> "Run":
        self.population.controller.start()
        return self

    def turns(self, number: int) -> "Run":
        for turn in range(1, number + 1):
            known = len(self.sink.games)
            self.engine.turn()
            for record in self.sink.games[known:]:
                self.ended.setdefault(record.environment, []).append(turn)
        return self

    def told(self) -> tuple[Any, ...]:
        sink = self.sink
        return sink.games, sink.rounds, sink.snapshots, sink.events, sink.points


def fixed(game: str, steps: int, seed: int = 1) -> RunConfig:
    return RunConfig.model_validate(
        {
            "seed": seed,
            "env": {"name": game, "options": FIXED[game]},
            "stop_at_frames": 10**9,
            "population": {"members": 1},
            "model": {"hidden": [4]},
            "sampling": {
                "environments": TABLES,
                "rollout_steps": 50,
                "decorrelation_steps": steps,
            },
            "learning": {"batch_steps": 100 * TABLES, "minibatches": 1},
            "pbt": {"enabled": False},
            "evaluation": {"share": 0.0},
        }
    )


def phases(game: str, steps: int, seed: int = 1) -> list[int]:
    """By table, the turn in which its games end, in a period of games."""
    run = Run(fixed(game, steps, seed)).start().turns(4 * LENGTH)
    assert len(run.ended) == TABLES
    found = []
    for table in range(TABLES):
        turns = run.ended[table]
        assert {second - first for first, second in pairwise(turns)} == {LENGTH}
        found.append(turns[0] % LENGTH)
    return found


@pytest.mark.parametrize("game", FIXED)
def test_the_ends_of_games_of_fixed_length_are_spread_evenly(game: str) -> None:
    together = phases(game, 0)
    assert set(together) == {0}
    apart = phases(game, STEPS)
    counts = Counter(apart)
    assert chisquare([counts[phase] for phase in range(LENGTH)]).pvalue > 0.01
    assert phases(game, STEPS) == apart
    assert phases(game, STEPS, seed=2) != apart


def test_a_table_makes_its_random_moves_once_and_across_the_ends_of_games() -> None:
    run = Run(fixed("memory", STEPS)).start()
    worker = run.population.worker
    run.turns(1)
    plans = [table.plan for table in worker.tables]
    # What is left of the moves for the game that goes on; a few tables have drawn none.
    assert sum(plan.decorrelates for plan in plans) > TABLES - 5
    moves = worker.state.moves.tolist()
    assert all(plan.opening_plies <= LENGTH for plan in plans)
    # Players were not asked yet, but at tables without such moves.
    made = [plan.opening_plies + (not plan.decorrelates) for plan in plans]
    assert moves == made
    # The games that went before have other seeds than the last.
    begun = [plan for plan in plans if plan.decorrelates]
    assert len({plan.seed for plan in begun}) == len(begun)
    run.turns(3 * LENGTH)
    assert not any(table.plan.decorrelates or table.plan.opening_plies for table in worker.tables)
    # The game that was begun at random is not told, and nothing of it was scored.
    told = {(record.environment, record.count) for record in run.sink.games}
    for table, plan in enumerate(plans):
        assert ((table, 0) in told) != plan.decorrelates
        assert {(table, 1), (table, 2)} <= told
    assert not any(record.opening_plies for record in run.sink.games)
    assert run.population.controller.games == len(run.sink.games)


@pytest.mark.parametrize("game", ["tictactoe", "cartpole"])
def test_rows_behind_the_random_moves_are_trained_and_no_others(game: str) -> None:
    sampling = {"decorrelation_steps": 60, "opening_plies": 0}
    engine = CheckedEngine(placed("serial", game, 400, sampling=sampling))
    plans: dict[int, int] = {}
    worker, begun = engine.population.worker, engine.population.worker.group.begin

    def begin(positions: Any) -> Any:
        for position in positions.tolist():
            table = worker.tables[position]
            if table.plan.decorrelates:
                plans[table.index] = table.plan.opening_plies
        return begun(positions)

    worker.group.begin = begin  # type: ignore[method-assign]
    engine.finish()
    first = [origin for origin in engine.trained if origin[1] == 0 and origin[0] in plans]
    assert first and plans
    seats = len(worker.tables[0].seats)
    # Each seat has made its part of the moves.
    assert all(step >= plans[table] // seats for table, _, _, step in first)


@pytest.mark.parametrize(
    ("placement", "game"),
    [("serial", "cartpole"), ("inline", "tictactoe"), ("central", "cartpole")],
)
def test_it_is_done_in_every_placement(placement: str, game: str, tmp_path: Path) -> None:
    config = placed(placement, game, 500, sampling={"decorrelation_steps": 40, "opening_plies": 0})
    with Running(config, tmp_path) as run:
        run.start().finish()
        games = run.games()
    untold = [table for table in range(12) if (table, 0) not in games]
    # Those that have drawn no moves tell of their first game.
    assert len(untold) >= 10
    assert all(record.opening_plies == 0 for record in games.values() if record.kind == "training")
    assert not any(is_voided(record.end_reason) for record in games.values())


def test_games_in_c_and_their_twins_are_set_apart_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    def trained() -> tuple[str, tuple[Any, ...], bool]:
        config = placed("serial", "tictactoe", 500, sampling={"decorrelation_steps": 40})
        run = Run(config).start()
        assert run.engine.run(lambda: None)
        native = isinstance(run.population.worker.group, NativeGroup)
        return run.engine.weights_digest(), run.told(), native

    *in_c, native = trained()
    if not native:
        pytest.skip("there is no C compiler here")
    monkeypatch.setattr("pbt.sampling.native_group.native_rules", lambda game: None)
    *looped, native = trained()
    assert not native and in_c == looped
    assert "tictactoe" in TWINS


RESUMED = {"tictactoe": (1, 3, 30), "cartpole": (1, 2, 80)}


def long_run(game: str) -> RunConfig:
    return placed("serial", game, 600, sampling={"decorrelation_steps": 30, "environments": 8})


@cache
def whole(game: str) -> tuple[Run, dict[int, tuple[Any, ...]]]:
    """A run to its end, and what it was after some turns."""
    run, cuts, turns = Run(long_run(game)).start(), dict[int, tuple[Any, ...]](), 0

    def look() -> None:
        nonlocal turns
        turns += 1
        if turns in RESUMED[game]:
            told = copy.deepcopy(run.told())
            cuts[turns] = copy.deepcopy(run.engine.take_cut(1)), told, copy.deepcopy(run.store)

    assert run.engine.run(look)
    return run, cuts


@pytest.mark.parametrize(("game", "turns"), [(g, n) for g, cuts in RESUMED.items() for n in cuts])
def test_a_resumed_run_goes_on_with_it_and_does_not_do_it_again(
    game: str, turns: int, tmp_path: Path
) -> None:
    run, cuts = whole(game)
    checkpoint, told, store = cuts[turns]
    write_checkpoint(tmp_path, checkpoint, keep=2)
    second = Run(long_run(game), copy.deepcopy(store))
    assert second.engine.restore(read_newest(tmp_path)[0]) == 0
    decorrelating = [table.plan.decorrelates for table in second.population.worker.tables]
    assert any(decorrelating) == (turns < max(RESUMED[game]))
    assert second.engine.run(lambda: None)
    assert second.engine.weights_digest() == run.engine.weights_digest()
    assert tuple(one + two for one, two in zip(told, second.told(), strict=True)) == run.told()


def test_a_game_that_raises_while_it_is_set_apart_is_told_as_any_other() -> None:
    run = Run(placed("serial", "rock_paper_scissors", 400, sampling={"decorrelation_steps": 9}))
    worker = run.population.worker
    table = next(iter(worker.tables))
    step = table.game.step

    def raises(actions: Any) -> Any:
        table.game.step = step  # type: ignore[method-assign]
        raise EnvError("a pole broke")

    table.game.step = raises  # type: ignore[method-assign]
    run.start()
    assert run.engine.run(lambda: None)
    (voided,) = [record for record in run.sink.games if is_voided(record.end_reason)]
    assert (voided.environment, voided.count, voided.kind) == (0, 0, "training")
    assert (0, 1) in {(record.environment, record.count) for record in run.sink.games}
