"""Code that can be read: names with one meaning, short functions, files of one idea."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.test_layers import ROOT, SOURCES

# One name, one thing. These may stand twice, each for the reason given.
NAMES_TWICE: dict[str, str] = {}

LONGEST_FUNCTION = 40
LONG_FUNCTIONS = ROOT / "tests/long_functions.txt"


def classes() -> dict[str, list[str]]:
    """Class name -> the files that define it."""
    found: dict[str, list[str]] = {}
    for path in SOURCES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                found.setdefault(node.name, []).append(str(path.relative_to(ROOT)))
    return found


def test_a_class_name_has_one_meaning() -> None:
    twice = {name: paths for name, paths in classes().items() if len(paths) > 1}
    assert twice.keys() == NAMES_TWICE.keys(), twice


def functions(path: Path) -> Iterator[tuple[str, int]]:
    """(where it stands, its lines) of every function, methods and inner ones too."""

    def inside(node: ast.AST, prefix: str) -> Iterator[tuple[str, int]]:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                name = f"{prefix}{child.name}"
                if not isinstance(child, ast.ClassDef):
                    assert child.end_lineno is not None
                    yield f"{path.relative_to(ROOT)}:{name}", child.end_lineno - child.lineno + 1
                yield from inside(child, f"{name}.")
            else:
                yield from inside(child, prefix)

    yield from inside(ast.parse(path.read_text(encoding="utf-8")), "")


def test_functions_are_short_but_for_a_list_that_only_shrinks() -> None:
    rows = (line.rsplit(maxsplit=1) for line in LONG_FUNCTIONS.read_text().splitlines())
    listed = {where: int(lines) for where, lines in rows}
    long = {
        where: lines
        for path in SOURCES
        for where, lines in functions(path)
        if lines > LONGEST_FUNCTION
    }
    grown = {where: lines for where, lines in long.items() if lines > listed.get(where, 0)}
    assert not grown, f"split these, each at most {LONGEST_FUNCTION} lines: {grown}"
    shrunk = {where: long.get(where, 0) for where in listed if long.get(where, 0) < listed[where]}
    assert not shrunk, f"write the new length into {LONG_FUNCTIONS.name}, or take it out: {shrunk}"


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_files_stay_readable(path: Path) -> None:
    lines = path.read_text(encoding="utf-8").splitlines()
    says_why = any("350 lines" in line for line in lines[:10])
    assert len(lines) <= 350 or says_why, (
        f"{len(lines)} lines; split it, or say in the first 10 lines why it is longer than "
        "350 lines"
    )
