"""Paths and names of the code that the documents give exist.

A name is written `path:Name`. The path is a file, or a folder in some module of which the name is
defined.
"""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from pbt.config.schema import RunConfig
from tests.e2e.readme_parts import DOCUMENTS, ROOT

PYTHON = ("pbt", "arena", "api", "tests", "scripts", "bench")
TOP = "|".join((*PYTHON, "web", "configs", "docs"))
# `pbt/records.py`, `arena/cli/`, `pbt/runtime:LearnerHandle`, `pbt/records.py:GameRecord`.
PLACE = re.compile(rf"`((?:{TOP})(?:/[\w.-]+)*/?)(?::([\w.]+))?`")
DOTTED = re.compile(r"`((?:pbt|arena|api)(?:\.\w+)+)`")
LINK = re.compile(r"\]\(([^):]+)\)")
# Pages that lead through the code name every file with its folders, so that it is found.
WALKS = (ROOT / "CONTRIBUTING.md", ROOT / "docs/glossary.md")
BARE = re.compile(r"`([\w-]+\.(?:py|ts|tsx|c|h|sh))`")


def targets(node: ast.stmt) -> Iterator[str]:
    """The names that a statement defines."""
    match node:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            yield name
        case ast.AnnAssign(target=ast.Name(id=name)):
            yield name
        case ast.Assign(targets=assigned):
            yield from (each.id for each in assigned if isinstance(each, ast.Name))


@cache
def defined_names(path: Path) -> frozenset[str]:
    """What a module defines, members of its classes as Class.member."""
    body = ast.parse(path.read_text(encoding="utf-8")).body
    found = {name for node in body for name in targets(node)}
    classes = (node for node in body if isinstance(node, ast.ClassDef))
    return frozenset(
        found
        | {f"{one.name}.{name}" for one in classes for node in one.body for name in targets(node)}
    )


def is_there(place: str, name: str) -> bool:
    """Whether a path exists and, unless `name` is empty, defines it."""
    path = ROOT / place
    if not name or not path.exists():
        return path.exists()
    if path.is_file() and path.suffix != ".py":
        return re.search(rf"\b{re.escape(name)}\b", path.read_text(encoding="utf-8")) is not None
    modules = path.rglob("*.py") if path.is_dir() else [path]
    return any(name in defined_names(module) for module in modules)


def is_config_key(dotted: str) -> bool:
    """`pbt.period_frames` is a key of the section [pbt]."""
    section, *keys = dotted.split(".")
    model = RunConfig.model_fields.get(section)
    fields = getattr(model.annotation, "model_fields", {}) if model is not None else {}
    return len(keys) == 1 and keys[0] in fields


def is_module_or_name(dotted: str) -> bool:
    """Whether a dotted name leads to a module, or to a name in one."""
    parts = dotted.split(".")
    for count in range(len(parts), 0, -1):
        path = ROOT.joinpath(*parts[:count])
        rest = ".".join(parts[count:])
        for module in (path.with_suffix(".py"), path / "__init__.py"):
            if module.is_file():
                text = module.read_text(encoding="utf-8")
                imported = re.search(rf"\bimport .*\b{re.escape(rest)}\b", text) if rest else None
                return not rest or rest in defined_names(module) or imported is not None
    return False


def missing(text: str) -> list[str]:
    """The places and dotted names in a text that lead nowhere."""
    lost = [
        f"{place}:{name}".rstrip(":")
        for place, name in PLACE.findall(text)
        if not is_there(place, name)
    ]
    lost += [
        one for one in DOTTED.findall(text) if not (is_config_key(one) or is_module_or_name(one))
    ]
    return lost


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_paths_and_names_in_the_documents_exist(document: Path) -> None:
    assert not missing(document.read_text(encoding="utf-8"))


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_links_lead_somewhere(document: Path) -> None:
    text = document.read_text(encoding="utf-8")
    paths = (target.partition("#")[0] for target in LINK.findall(text))
    assert not [path for path in paths if path and not (document.parent / path).exists()]


@pytest.mark.parametrize("document", WALKS, ids=lambda path: path.name)
def test_pages_that_lead_through_the_code_name_whole_paths(document: Path) -> None:
    text = document.read_text(encoding="utf-8")
    assert not [name for name in BARE.findall(text) if not (ROOT / name).exists()]
    assert len(PLACE.findall(text)) > 50, "the pattern of places finds too little"


@pytest.mark.parametrize(
    "text",
    [
        "`pbt/records.py`",
        "`pbt/records.py:GameRecord`",
        "`pbt/runtime:SerialEngine.run`",
        "`pbt/envs/registry.py:BUILTIN`",
        "`web/src/app.tsx:view`",
        "`arena/cli/`",
        "`pbt.period_frames`",
        "`pbt.envs.contract.Game`",
        "`arena.players.load_player`",
    ],
)
def test_what_is_there_is_found(text: str) -> None:
    assert not missing(text)


@pytest.mark.parametrize(
    "text",
    [
        "`pbt/no_such_file.py`",
        "`pbt/records.py:NoSuchRecord`",
        "`pbt/runtime:SerialEngine.walk`",
        "`web/src/app.tsx:no_such_view`",
        "`arena/kitchen/`",
        "`pbt.period_seconds`",
        "`pbt.envs.contract.NoGame`",
        "`arena.no_module`",
    ],
)
def test_trap_what_is_not_there_is_named(text: str) -> None:
    assert missing(text) == [text.strip("`")]
