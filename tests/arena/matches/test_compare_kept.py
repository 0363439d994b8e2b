"""What is kept of a comparison, which populations belong to it, and trainings that are refused."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from arena.data.paths import league_path, population_paths
from arena.league.database import open_league
from arena.league.requested_work import RequestedComparison
from arena.matches.compare import Comparison, Kept, read_kept, write_kept
from arena.matches.compare_trainings import train_runs
from arena.programs.requested_comparison import comparison_of
from arena.training.incarnation import ensure_population
from pbt.envs import registry
from pbt.errors import ConfigError


@pytest.fixture
def begun(tmp_path: Path) -> Comparison:
    """A comparison of two seeds, begun and kept."""
    game = {"env": {"name": "connect_four"}}
    other = {**game, "learning": {"gamma": 0.5}}
    asked = RequestedComparison("rates", game, other, frames=1024, seeds=2, games=2)
    comparison = comparison_of(asked, tmp_path)
    write_kept(comparison, read_kept(comparison))
    return comparison


def add_folder(comparison: Comparison, name: str) -> None:
    path = population_paths(comparison.data, name).config
    path.parent.mkdir(parents=True)
    path.write_text("{}")


def add_to_league(comparison: Comparison, name: str) -> None:
    """As the service does for a population that was never started."""
    config = comparison.contestants["a"].config
    with open_league(league_path(comparison.data)) as league:
        ensure_population(league, name, config, registry.spec(config.env.name))


@pytest.mark.parametrize("add", [add_folder, add_to_league])
def test_populations_of_added_seeds_must_be_new(
    begun: Comparison, add: Callable[[Comparison, str], None]
) -> None:
    add(begun, begun.population("b", 2))
    add(begun, begun.population("a", 3))
    assert read_kept(begun) == Kept(seeds=2)
    with pytest.raises(ConfigError, match="population rates-a3 exists already"):
        read_kept(replace(begun, seeds=3))


def test_fewer_seeds_take_none_away(begun: Comparison) -> None:
    write_kept(replace(begun, seeds=1), Kept(seeds=2))
    assert read_kept(begun).seeds == 2


def test_a_file_of_an_earlier_version_goes_on(begun: Comparison) -> None:
    stored = json.loads(begun.path.read_bytes())
    del stored["seeds"]
    begun.path.write_text(json.dumps(stored))
    add_folder(begun, begun.population("b", 2))
    assert read_kept(begun).seeds == 2


def test_a_training_that_is_refused_is_refused_for_good(
    begun: Comparison,
    capfd: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A service tries again what may end otherwise, and this would end the same way."""
    (here := tmp_path / "here").mkdir()
    monkeypatch.chdir(here)
    refused = replace(begun.contestants["a"], arguments=("connect_four", "--set", "no.such=1"))
    comparison = replace(begun, contestants={**begun.contestants, "a": refused})
    with pytest.raises(ConfigError, match="rates-a1 has 1 problem\n  its training was refused"):
        train_runs(comparison, print)
    assert "no: unknown key" in capfd.readouterr().err
    assert list(here.iterdir()) == [], "the folder is a person's"
