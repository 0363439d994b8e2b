"""The final evaluation is divided once, and what is left of it again when all workers died."""

from pathlib import Path

import pytest

from pbt.runtime.final_evaluation import FinalEvaluation
from tests.pbt.runtime.placing import Running, placed

WORKERS = ("a", "b", "c")


def test_every_game_has_one_worker() -> None:
    closing = FinalEvaluation(10, WORKERS)
    assert closing.shares(0) == {"a": 0, "b": 0, "c": 0}, "not before they begin"
    closing.begun = True
    assert closing.shares(0) == {"a": 4, "b": 3, "c": 3}
    assert sum(closing.shares(7).values()) == 3
    assert closing.shares(12) == {"a": 0, "b": 0, "c": 0}


def test_it_is_over_when_every_worker_is_through() -> None:
    closing = FinalEvaluation(10, WORKERS)
    for worker in WORKERS:
        closing.quiet.add(worker)
    assert not closing.over, "no worker was told to begin"
    closing.begun = True
    assert closing.over
    closing.quiet.clear()
    closing.quiet.add("a")
    assert not closing.over


@pytest.mark.parametrize("placement", ["serial", "inline"])
def test_how_far_it_is_goes_from_none_to_all(placement: str, tmp_path: Path) -> None:
    config, seen = placed(placement, "tictactoe", 100), list[tuple[int, int]]()
    total = config.evaluation.final_games * 3
    with Running(config, tmp_path) as run:
        assert run.start().engine.closing() == (0, total)
        run.finish(lambda: seen.append(run.engine.closing()))
        assert run.engine.closing() == (total, total)
    assert seen == sorted(seen) and {planned for _, planned in seen} == {total}
    assert any(0 < played < total for played, _ in seen)
