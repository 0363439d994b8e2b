"""Where data lies, and which names populations may have; what the machine lends."""

from pathlib import Path

import pytest

from arena import machine
from arena.data.paths import (
    check_population_name,
    data_dir,
    league_path,
    population_names,
    population_paths,
)
from pbt.errors import ConfigError


def test_option_before_variable_before_default(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ARENA_DATA", "elsewhere")
    assert data_dir("here") == tmp_path / "here"
    assert data_dir() == tmp_path / "elsewhere"
    monkeypatch.delenv("ARENA_DATA")
    assert data_dir() == tmp_path / "arena-data"
    assert not data_dir().exists()


def test_layout(tmp_path: Path) -> None:
    paths = population_paths(tmp_path, "demo")
    assert league_path(tmp_path) == tmp_path / "league.db"
    assert {paths.config.name, paths.lock.name} == {"config.json", "lock"}
    assert population_names(tmp_path) == []
    paths.root.mkdir(parents=True)
    assert population_names(tmp_path) == []
    paths.config.write_text("{}")
    assert population_names(tmp_path) == ["demo"]


@pytest.mark.parametrize("name", ["demo", "a", "0-b_c", "x" * 64])
def test_safe_names(name: str) -> None:
    assert check_population_name(name) == name


@pytest.mark.parametrize(
    "name",
    [
        "",
        "..",
        "../x",
        "a/b",
        "Demo",
        "-x",
        "_x",
        "a b",
        "x" * 65,
        "a\n",
        "é",
        "a\0",
        "demo@best",
        ".",
    ],
)
def test_unsafe_names_are_refused_with_one_that_would_do(name: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        population_paths(tmp_path, name)
    check_population_name(caught.value.problems[0].rpartition("try ")[2])


@pytest.mark.parametrize(
    ("files", "cores"),
    [
        ({}, None),
        ({"cpu.max": "max 100000"}, None),
        ({"cpu.max": "150000 100000"}, 1.5),
        ({"cpu/cpu.cfs_quota_us": "-1", "cpu/cpu.cfs_period_us": "100000"}, None),
        ({"cpu/cpu.cfs_quota_us": "400000", "cpu/cpu.cfs_period_us": "100000"}, 4.0),
    ],
)
def test_cpu_quota_of_both_kinds_of_cgroup(
    files: dict[str, str], cores: float | None, tmp_path: Path
) -> None:
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text + "\n")
    assert machine.cpu_quota(tmp_path) == cores
    assert machine.usable_cores() >= 1


def test_memory_is_the_smaller_of_machine_and_cgroup(tmp_path: Path) -> None:
    assert machine.memory_bytes(tmp_path, lambda: 8) == 8
    (tmp_path / "memory.max").write_text("5\n")
    assert machine.memory_bytes(tmp_path, lambda: 8) == 5
    (tmp_path / "memory.max").write_text("max\n")
    assert machine.memory_bytes(tmp_path, lambda: 8) == 8


def test_disk_of_a_folder_that_does_not_exist_yet(tmp_path: Path) -> None:
    assert machine.existing_parent(tmp_path / "a/b/c") == tmp_path
    assert machine.free_disk_bytes(tmp_path / "a/b/c") > 0
