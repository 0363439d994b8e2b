"""Requested work, without a service: what it writes, and when."""

import json
from pathlib import Path
from typing import Any

import pytest

from arena.league.requested_work import RequestedComparison
from arena.matches.compare import Kept, write_kept
from arena.programs.job import do
from arena.programs.job_report import JobReport
from arena.programs.requested_comparison import comparison_of, write_configs
from pbt.errors import ConfigError

CONFIG: dict[str, Any] = {"env": {"name": "connect_four"}}


def with_gamma(gamma: float) -> RequestedComparison:
    other = {**CONFIG, "learning": {"gamma": gamma}}
    return RequestedComparison("rates", CONFIG, other, frames=1024, seeds=1, games=2)


def test_a_comparison_whose_name_is_anothers_leaves_the_configs_of_that_one(
    tmp_path: Path,
) -> None:
    first = comparison_of(with_gamma(0.9), tmp_path)
    write_configs(first)
    write_kept(first, Kept())
    before = {path.name: path.read_text() for path in first.path.parent.iterdir()}
    with pytest.raises(ConfigError, match="begun before"):
        do(with_gamma(0.5), tmp_path, JobReport(tmp_path / "report.json"))
    assert {path.name: path.read_text() for path in first.path.parent.iterdir()} == before
    assert "gamma = 0.9" in before["rates-b.toml"]


def test_trainings_that_are_kept_are_told_at_once(tmp_path: Path) -> None:
    """They pass within a moment when a comparison goes on, and the next one takes long."""
    path = tmp_path / "report.json"
    told = JobReport(path).tells("trainings")
    for done in range(4):
        told(done, 6)
        progress = json.loads(path.read_text())["progress"]
        assert progress == [{"what": "trainings", "done": done, "total": 6}]
