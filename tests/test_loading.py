"""What a process loads: some that must start fast, or that hold no engine, load nothing heavy."""

import subprocess
import sys

import pytest

from tests.test_layers import ROOT, module_name

# Read by processes that never load torch: the service, `arena --help`, tools that only look at
# results.
TORCH_FREE = (
    "pbt",
    "pbt.errors",
    "pbt.records",
    "pbt.objective",
    "pbt.hyperparams",
    "pbt.config.load",
    "pbt.config.dump",
    "pbt.config.semantics",
    "pbt.config.resume",
    "arena",
    "arena.data.paths",
    "arena.cli.app",
    "arena.cli.config",
    "arena.cli.status",
    "arena.stats.bradley_terry",
    "arena.stats.rating_fit",
    "arena.stats.score",
    "arena.stats.sprt",
    "arena.programs.cli",
    "arena.data.service_state",
    "arena.machine",
    "arena.cli.serve",
    "arena.cli.population",
    "arena.data.status",
    "arena.data.telemetry",
    "arena.stats.plackett_luce",
    "arena.stats.cycles",
    "arena.stats.bootstrap",
    "arena.stats.free_for_all",
    "arena.python.ratings",
)
HEAVY_FOR_HELP = (
    "torch",
    "numpy",
    "scipy",
    "pettingzoo",
    "gymnasium",
    "sqlalchemy",
    "alembic",
    "pydantic",
)


def loaded_modules(statement: str) -> set[str]:
    code = f"import sys; {statement}; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    return set(done.stdout.split())


def torch_free_modules() -> list[str]:
    folders = ("arena/league", "arena/data", "arena/stats", "arena/assessment", "arena/report")
    whole = sorted(module_name(path) for folder in folders for path in (ROOT / folder).glob("*.py"))
    return [*TORCH_FREE, *whole]


def test_results_and_config_load_without_torch() -> None:
    names = torch_free_modules()
    assert "pbt.config.load" in names
    heavy = loaded_modules(f"import {', '.join(names)}") & {
        "torch",
        "vizdoom",
        "pettingzoo",
        "fastapi",
    }
    if heavy:  # name the culprits
        culprits = [name for name in names if loaded_modules(f"import {name}") & heavy]
        pytest.fail(f"{sorted(heavy)} come with {culprits}")


def test_the_service_loads_no_engine() -> None:
    names = [
        module_name(path) for path in (ROOT / "api").rglob("*.py") if path.name != "__main__.py"
    ]
    assert "api.app" in names
    assert not loaded_modules(f"import {', '.join(names)}") & {
        "torch",
        "vizdoom",
        "faster_fifo",
        "pettingzoo",
        "gymnasium",
    }


def test_the_command_line_loads_nothing_heavy_before_a_command_is_called() -> None:
    loaded = loaded_modules("import arena.cli.app")
    assert not loaded & set(HEAVY_FOR_HELP)


def test_a_process_of_a_run_loads_no_statistics() -> None:
    """Every start and restart of one pays for what it loads."""
    assert "scipy" not in loaded_modules("import pbt.runtime.process")
