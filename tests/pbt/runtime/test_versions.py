"""The versions in games' rows and the policy lag, held against a log of the learners' versions.

The log asks each learner for its version at every action. It uses nothing of what the program
writes into rows and answers.
"""

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from pbt.algorithms.base import Reducer
from pbt.algorithms.batch import Batch
from pbt.learning.statistics import UpdateStats
from pbt.records import GameRecord, is_voided
from pbt.runtime.local_learner import LocalLearner
from pbt.runtime.process_group import ProcessGroup
from pbt.runtime.serial import SerialEngine
from pbt.seeding import seat_key
from pbt.transport.messages import ActionRequest, ActionsReady, SlotFull
from tests.conftest import REPOSITORY
from tests.pbt.runtime.checked_process import LOGS
from tests.pbt.runtime.placing import Running, placed
from tests.pbt.runtime.routing import table


class VersionLog:
    """What the version of a live player's learner was at each of its actions.

    acted  key of the seat's action noise -> step of the seat -> version
    lags   (mean, largest) lag of every update: by this log, and as the learner reports it
    """

    def __init__(self) -> None:
        self.acted: dict[int, dict[int, int]] = defaultdict(dict)
        self.lags: list[tuple[tuple[float, int], tuple[float, int]]] = []

    def watch(self, engine: SerialEngine) -> None:
        population = engine.population
        learners = {local.policy: local.learner for local in population.learners}
        serve_all = population.server.serve_all

        def served(requests: Sequence[ActionRequest]) -> list[ActionsReady]:
            for request in (one for one in requests if one.policy in learners):
                version = learners[request.policy].version
                for key, step in zip(request.keys.tolist(), request.steps.tolist(), strict=True):
                    self.acted[key][step] = version
            return serve_all(requests)

        population.server.serve_all = served  # type: ignore[method-assign]
        for local in population.learners:
            self._watch_learner(engine, local)

    def _watch_learner(self, engine: SerialEngine, local: LocalLearner) -> None:
        batcher = engine.population.scheduler.pipelines[local.name].batcher
        take, update, seed = batcher.take, local.learner.update, engine.config.seed
        column = engine.population.slabs[local.role].column
        expected: list[tuple[float, int]] = []

        def taken() -> list[SlotFull] | None:
            found = take()
            if found is not None:
                slots = [full.slot for full in found]
                origins = column["origin"][slots][column["valid"][slots]].tolist()
                lags = [
                    local.learner.version
                    - self.acted[seat_key(seed, "action", environment, count, seat)][step]
                    for environment, count, seat, step in origins
                ]
                expected.append((float(np.mean(lags)), max(lags)))
            return found

        def updated(
            batch: Batch, reducer: Reducer | None = None, phase: int | None = None
        ) -> UpdateStats:
            stats = update(batch, reducer, phase)
            self.lags.append((expected.pop(), (stats.lag_mean, stats.lag_max)))
            return stats

        batcher.take = taken  # type: ignore[method-assign]
        local.learner.update = updated  # type: ignore[assignment, method-assign]


def check_rows(
    games: list[GameRecord],
    acted: dict[int, dict[int, int]],
    seed: int,
) -> None:
    """Every seat's versions are those of the log."""
    for record in games:
        for index, seat in enumerate(record.seats):
            key = seat_key(seed, "action", record.environment, record.count, index)
            versions = list(acted.get(key, {}).values())
            if seat.player.kind != "member":
                assert (seat.version_start, seat.version_end) == (0, 0)
            elif versions:
                first, last = versions[0], versions[-1]
                assert (seat.version_start, seat.version_end) == (first, last), record
            else:
                assert (seat.version_start, seat.version_end) == (None, 0)


def check_story(games: list[GameRecord]) -> None:
    """The rows met what the check is about."""
    opened = [
        seat
        for record in games
        if record.opening_plies >= 2 and not is_voided(record.end_reason)
        for seat in record.seats
        if seat.player.kind == "member"
    ]
    assert sum((seat.version_start or 0) > 0 for seat in opened) > 20
    assert any((seat.version_start or 0) < seat.version_end for seat in opened)


@pytest.mark.parametrize(
    ("game", "opening"), [("tictactoe", 3), ("rock_paper_scissors", 1), ("hide_and_seek", 1)]
)
def test_versions_and_lag_are_those_of_the_learner_at_each_action(
    game: str, opening: int, tmp_path: Path
) -> None:
    log, config = VersionLog(), placed("serial", game, 600, sampling={"opening_plies": opening})
    with Running(config, tmp_path).start() as run:
        assert isinstance(run.engine, SerialEngine)
        log.watch(run.engine)
        run.finish()
    check_rows(run.sink.games, log.acted, config.seed)
    if game == "tictactoe":
        check_story(run.sink.games)
    assert any(member.copies for member in run.engine.controller.members.values())
    assert len(log.lags) > 30 and max(largest for (_, largest), _ in log.lags) > 0
    for (mean, largest), (reported_mean, reported_largest) in log.lags:
        assert reported_mean == pytest.approx(mean, abs=1e-12) and reported_largest == largest


def test_open_games_keep_their_versions_over_a_resume(tmp_path: Path) -> None:
    log, config = VersionLog(), placed("serial", "tictactoe", 400, sampling={"opening_plies": 3})
    with Running(config, tmp_path).start() as run:
        assert isinstance(run.engine, SerialEngine)
        log.watch(run.engine)
        run.until(lambda: run.engine.rows_trained > 300)
        cut = run.cut()
    with Running(config, tmp_path) as resumed:
        assert isinstance(resumed.engine, SerialEngine)
        assert resumed.engine.restore(cut) == 0
        log.watch(resumed.engine)
        resumed.finish()
    check_rows(run.sink.games, log.acted, config.seed)
    check_rows(resumed.sink.games, log.acted, config.seed)


@pytest.mark.parametrize("placement", ["central", pytest.param("inline", marks=pytest.mark.slow)])
def test_versions_and_lag_of_other_processes(
    placement: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Learners write down when they publish which version, and servers by which publication they
    act; so the version of an action does not come from the answer that the worker got.
    """
    folder = tmp_path / "logs"
    folder.mkdir()
    monkeypatch.setattr(ProcessGroup, "program", "tests.pbt.runtime.checked_process")
    monkeypatch.setenv(LOGS, str(folder))
    # They are started with -P, so they would not find the tests.
    monkeypatch.setenv("PYTHONPATH", str(REPOSITORY))
    # Without copies no batch is discarded, so batches are trained in the order they are gathered.
    config = placed(placement, "tictactoe", 1500, pbt={"enabled": False})
    with Running(config, tmp_path / "snapshots").start() as run:
        run.finish()
    published = {
        (policy, publications): version
        for policy, publications, version in table(folder, "published", 3).tolist()
    }
    acted: dict[int, dict[int, int]] = defaultdict(dict)
    for key, step, policy, publications, _ in table(folder, "acted", 5).tolist():
        # The first publication is that of the untrained weights, at the start of the run.
        version = published[policy, publications] if publications else 0
        acted[int(np.int64(key).view(np.uint64))][step] = version
    acted = {key: dict(sorted(steps.items())) for key, steps in acted.items()}
    check_rows(run.sink.games, acted, config.seed)
    check_story(run.sink.games)
    batches: dict[tuple[int, int], list[int]] = defaultdict(list)
    for *origin, _, _, policy, _, _, _, number in table(folder, "gathered", 11).tolist():
        key = seat_key(config.seed, "action", *origin[:3])
        batches[policy, number].append(acted[key][origin[3]])
    trained = table(folder, "trained", 5).tolist()
    assert len(trained) > 20
    for policy, number, version, lag_sum, lag_max in trained:
        lags = [version - acting for acting in batches[policy, number]]
        assert (sum(lags), max(lags)) == (lag_sum, lag_max)
