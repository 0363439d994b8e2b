"""The arrows point one way: web -> api -> arena -> pbt, and inside pbt from the loop down to
plain facts.
"""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = [name for name in ("pbt", "arena", "api") if (ROOT / name).is_dir()]
SOURCES = sorted(path for package in PACKAGES for path in (ROOT / package).rglob("*.py"))

BANNED = {
    "pbt": {"arena", "api", "sqlalchemy", "alembic", "fastapi", "uvicorn", "typer", "rich"},
    "arena": {"api", "fastapi", "uvicorn"},
    "api": {"torch", "vizdoom", "faster_fifo"},
}

# Inside pbt: what each part may import besides itself. Parts that are not listed may be imported by
# nobody here and import everything.
FACTS = {"errors", "files", "records", "seeding"}
CONFIG = FACTS | {"config", "hyperparams"}
ENVS = CONFIG | {"envs"}
WIRES = ENVS | {"models", "transport"}
PARTS = {
    "errors": set(),
    "files": set(),
    "records": {"errors"},
    "seeding": {"errors"},
    "config": FACTS,
    "hyperparams": FACTS | {"config"},
    "envs": CONFIG | {"native"},
    "native": set(),
    "models": ENVS | {"native", "transport"},
    "transport": ENVS | {"models"},
    "film": ENVS | {"transport"},
    "inference": WIRES,
    "learning": WIRES,
    "matchmaking": WIRES | {"inference"},
    "sampling": WIRES | {"film", "inference", "matchmaking"},
    "population": WIRES | {"learning", "matchmaking"},
    "snapshots": {"errors", "files", "models"},
    "checkpoint": WIRES | {"learning", "sampling", "population", "matchmaking"},
    "processes": WIRES,
    "runtime": WIRES
    | {
        "film",
        "inference",
        "learning",
        "matchmaking",
        "sampling",
        "population",
        "checkpoint",
        "processes",
        "snapshots",
    },
}

# Read by processes that never load torch: the service, `arena --help`, tools that only look at
# results.
TORCH_FREE = (
    "pbt",
    "pbt.errors",
    "pbt.records",
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
    "arena.stats.score",
    "arena.stats.sprt",
    "arena.programs.cli",
    "arena.data.service_state",
    "arena.host",
    "arena.cli.serve",
    "arena.cli.population",
    "arena.data.status",
    "arena.data.telemetry",
    "arena.stats.plackett_luce",
    "arena.stats.cycles",
    "arena.stats.bootstrap",
    "arena.stats.free_for_all",
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


def module_name(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports(path: Path) -> Iterator[tuple[int, str]]:
    """(line, dotted module) of every import, those inside functions and under TYPE_CHECKING as
    well.
    """
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"), str(path))):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno}: relative import"
            yield from ((node.lineno, f"{node.module}.{alias.name}") for alias in node.names)


def in_parts(module: str, parts: set[str]) -> bool:
    return any(module == f"pbt.{part}" or module.startswith(f"pbt.{part}.") for part in parts)


def test_packages_import_only_what_stands_below_them() -> None:
    wrong = [
        f"{path.relative_to(ROOT)}:{line}: {package} imports {module}"
        for package in PACKAGES
        for path in (ROOT / package).rglob("*.py")
        for line, module in imports(path)
        if module.split(".")[0] in BANNED[package]
    ]
    assert not wrong, "\n".join(wrong)


def test_parts_of_the_engine_import_only_what_stands_below_them() -> None:
    wrong = []
    for path in (ROOT / "pbt").rglob("*.py"):
        part = (*module_name(path).split("."), "")[1]
        if part not in PARTS:
            continue
        wrong += [
            f"{path.relative_to(ROOT)}:{line}: {part} imports {module}"
            for line, module in imports(path)
            if module.startswith("pbt.")
            and module != "pbt.__version__"
            and not in_parts(module, PARTS[part] | {part})
        ]
    assert not wrong, "\n".join(wrong)


def test_every_part_of_the_engine_has_its_place_in_the_table() -> None:
    folders = {path.parent.name for path in (ROOT / "pbt").glob("*/__init__.py")}
    assert folders <= PARTS.keys(), f"name what these may import: {folders - PARTS.keys()}"


def test_a_wrong_arrow_is_seen(tmp_path: Path) -> None:
    path = tmp_path / "wrong.py"
    path.write_text("def f():\n    from pbt.learning import losses\n    import arena.league\n")
    found = [module for _, module in imports(path)]
    assert found == ["pbt.learning.losses", "arena.league"]
    assert not in_parts("pbt.learning.losses", PARTS["sampling"])
    assert not in_parts("pbt.learning_rates", {"learning"})


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
    league = sorted(module_name(path) for path in (ROOT / "arena/league").glob("*.py"))
    return [
        name
        for name in (*TORCH_FREE, *league)
        if (ROOT / name.replace(".", "/")).with_suffix(".py").exists()
        or (ROOT / name.replace(".", "/")).is_dir()
    ]


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


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_files_stay_readable(path: Path) -> None:
    lines = path.read_text(encoding="utf-8").splitlines()
    says_why = any("350 lines" in line for line in lines[:10])
    assert len(lines) <= 350 or says_why, (
        f"{len(lines)} lines; split it, or say in the first 10 lines why it is longer than "
        "350 lines"
    )
