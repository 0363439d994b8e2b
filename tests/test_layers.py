"""The arrows point one way: web -> api -> arena -> pbt, and inside pbt from the loop down to
plain facts.
"""

import ast
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

# What each room (a folder or a file at the top of a package) may import of its own package, besides
# itself. From the lowest floor to the highest: a room names only rooms that stand above it here.
ROOMS: dict[str, dict[str, set[str]]] = {
    "pbt": {
        "errors": set(),
        "files": set(),
        "user_folders": set(),
        "records": set(),
        "objective": {"errors"},
        "seeding": set(),
        "native": set(),
        "config": {"errors", "objective", "user_folders"},
        "hyperparams": {"config", "seeding"},
        "processes": set(),
        "envs": {
            "config",
            "errors",
            "files",
            "native",
            "objective",
            "processes",
            "seeding",
            "user_folders",
        },
        "transport": {"envs", "errors", "processes", "records"},
        "saved": {"records", "transport"},
        "models": {"config", "envs", "errors", "native", "transport"},
        "film": {"envs", "errors", "transport"},
        "snapshots": {"errors", "files", "models"},
        "inference": {"envs", "errors", "models", "records", "seeding", "transport"},
        "algorithms": {"config", "errors", "models", "transport"},
        "learning": {
            "algorithms",
            "config",
            "errors",
            "hyperparams",
            "models",
            "processes",
            "saved",
            "seeding",
            "transport",
        },
        "matchmaking": {
            "config",
            "errors",
            "inference",
            "records",
            "saved",
            "seeding",
            "transport",
        },
        "sampling": {
            "config",
            "envs",
            "errors",
            "film",
            "inference",
            "native",
            "records",
            "saved",
            "seeding",
            "transport",
        },
        "population": {
            "config",
            "errors",
            "hyperparams",
            "learning",
            "matchmaking",
            "models",
            "objective",
            "records",
            "saved",
            "seeding",
            "transport",
        },
        "checkpoint": {
            "envs",
            "errors",
            "files",
            "records",
            "sampling",
            "saved",
            "transport",
        },
        "runtime": {
            "algorithms",
            "checkpoint",
            "config",
            "envs",
            "errors",
            "film",
            "hyperparams",
            "inference",
            "learning",
            "matchmaking",
            "models",
            "objective",
            "population",
            "processes",
            "records",
            "sampling",
            "saved",
            "seeding",
            "snapshots",
            "transport",
        },
    },
    "arena": {
        "machine": set(),
        "standard_streams": set(),
        "words": set(),
        "argument_kinds": set(),
        "stats": set(),
        "data": {"argument_kinds"},
        "signals": {"data"},
        "guests": {"machine"},
        "league": {"argument_kinds", "data", "stats"},
        "assessment": {"data", "league", "stats"},
        "backup": {"data", "league", "words"},
        "report": {"assessment", "data", "league", "machine", "stats"},
        "players": {"argument_kinds", "data", "guests", "league"},
        "training": {"assessment", "data", "league", "machine", "players", "signals", "stats"},
        "matches": {"data", "guests", "league", "players", "signals", "stats", "words"},
        "verification": {"data", "league", "matches", "players", "words"},
        "python": {
            "argument_kinds",
            "data",
            "guests",
            "league",
            "matches",
            "players",
            "signals",
            "stats",
            "training",
        },
        "cli": {
            "assessment",
            "backup",
            "data",
            "guests",
            "league",
            "machine",
            "matches",
            "players",
            "python",
            "report",
            "signals",
            "standard_streams",
            "stats",
            "training",
            "verification",
            "words",
        },
        "programs": {
            "cli",
            "data",
            "league",
            "matches",
            "players",
            "stats",
            "training",
            "verification",
        },
        "__main__": {"cli"},
    },
    "api": {
        "http": set(),
        "field_texts": set(),
        "open_values": {"field_texts"},
        "openapi": {"field_texts", "http", "open_values"},
        "reconcile": {"http"},
        "notify": {"http", "reconcile"},
        "context": {"http", "notify", "reconcile"},
        "routes": {"context", "http", "notify", "open_values", "reconcile"},
        "app": {"context", "http", "openapi", "reconcile", "routes"},
        "serving": {"app", "http"},
        "__main__": {"serving"},
    },
}


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


def room_of(module: str) -> str:
    """The part after the package, "" for the package itself."""
    return (*module.split("."), "")[1]


def wrong_arrows(package: str, path: Path) -> Iterator[str]:
    """One line for every import of this file that its room's row of the table does not allow."""
    room = room_of(module_name(path))
    for line, module in imports(path):
        if module.split(".")[0] != package or module == f"{package}.__version__":
            continue
        target = room_of(module)
        if target != room and target not in ROOMS[package].get(room, set()):
            yield f"{path.relative_to(ROOT)}:{line}: {room} imports {module}"


def test_packages_import_only_what_stands_below_them() -> None:
    wrong = [
        f"{path.relative_to(ROOT)}:{line}: {package} imports {module}"
        for package in PACKAGES
        for path in (ROOT / package).rglob("*.py")
        for line, module in imports(path)
        if module.split(".")[0] in BANNED[package]
    ]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("package", ROOMS)
def test_rooms_import_only_what_stands_below_them(package: str) -> None:
    wrong = [
        arrow
        for path in (ROOT / package).rglob("*.py")
        if room_of(module_name(path))
        for arrow in wrong_arrows(package, path)
    ]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("package", ROOMS)
def test_every_arrow_of_the_table_is_used(package: str) -> None:
    used: dict[str, set[str]] = {room: set() for room in ROOMS[package]}
    for path in (ROOT / package).rglob("*.py"):
        if room := room_of(module_name(path)):
            used[room] |= {
                room_of(module) for _, module in imports(path) if module.startswith(f"{package}.")
            }
    unused = {room: left for room, may in ROOMS[package].items() if (left := may - used[room])}
    assert not unused, f"take these out of ROOMS: {unused}"


@pytest.mark.parametrize("package", ROOMS)
def test_every_room_stands_in_the_table_and_nothing_else_at_the_top(package: str) -> None:
    found = {path.stem for path in (ROOT / package).glob("*.py")} - {"__init__"}
    found |= {path.parent.name for path in (ROOT / package).glob("*/__init__.py")}
    assert found == ROOMS[package].keys(), "a new room needs a row in ROOMS, a new file a room"


@pytest.mark.parametrize("package", ROOMS)
def test_the_table_has_no_circles(package: str) -> None:
    floors = list(ROOMS[package])
    up = [
        (room, target)
        for room, targets in ROOMS[package].items()
        for target in targets
        if floors.index(target) >= floors.index(room)
    ]
    assert not up, f"arrows that go up: {up}"


def import_graph() -> dict[str, set[str]]:
    """Every production module and the production modules that it imports, however deep inside."""
    modules = {module_name(path): path for path in SOURCES}
    graph: dict[str, set[str]] = {}
    for module, path in modules.items():
        targets = set()
        for _, name in imports(path):
            while name and name not in modules:
                name = name.rpartition(".")[0]
            targets.add(name)
        graph[module] = targets - {"", module}
    return graph


def circles(graph: dict[str, set[str]]) -> list[str]:
    """Modules that reach themselves again, by taking away whatever imports nothing that is left."""
    left = {module: set(targets) for module, targets in graph.items()}
    while done := {module for module, targets in left.items() if not targets & left.keys()}:
        left = {module: targets for module, targets in left.items() if module not in done}
    # What only imports a circle is not in one.
    while loose := left.keys() - set().union(*left.values()):
        left = {module: targets for module, targets in left.items() if module not in loose}
    return sorted(left)


def test_modules_import_each_other_in_no_circle() -> None:
    graph = import_graph()
    assert circles(graph) == []
    assert circles({**graph, "pbt.errors": {"pbt.runtime.serial"}})


def test_a_wrong_arrow_is_seen(tmp_path: Path) -> None:
    path = tmp_path / "wrong.py"
    path.write_text("def f():\n    from pbt.algorithms import losses\n    import arena.league\n")
    found = [module for _, module in imports(path)]
    assert found == ["pbt.algorithms.losses", "arena.league"]
    assert room_of("pbt.algorithms.losses") == "algorithms" not in ROOMS["pbt"]["sampling"]
    assert room_of("pbt.learning_rates") == "learning_rates"
