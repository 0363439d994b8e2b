"""What the benchmark of optimisations says it takes out is there, and is gone from the copy that
runs without it.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from bench import optimisations
from bench.optimisations import PIECES, Piece, tree_without
from bench.throughput import ROOT
from pbt.config.load import find_config, load_config


def said(tree: Path, code: str) -> str:
    """By a program that finds our packages in that tree."""
    environment = {**os.environ, "PYTHONPATH": str(tree)}
    found = subprocess.run(
        [sys.executable, "-P", "-c", code],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
        cwd=tree,
    )
    return found.stdout.strip()


@pytest.mark.parametrize("name", sorted(PIECES))
def test_a_copy_lacks_its_piece_and_nothing_else(tmp_path: Path, name: str) -> None:
    piece = PIECES[name]
    if any(not (ROOT / file).exists() for file in piece.removed):
        pytest.skip("nothing was compiled")
    tree = tree_without(piece, tmp_path)
    changed = set(piece.removed) | ({piece.edit[0]} if piece.edit else set())
    for package in ("pbt", "arena"):
        for path in (ROOT / package).rglob("*.[ps][yo]"):
            file = str(path.relative_to(ROOT))
            copy = tree / file
            assert (copy.exists() and copy.read_bytes() == path.read_bytes()) != (
                file in changed
            ), file
    load_config(find_config(optimisations.CONFIG), piece.settings)


def test_what_runs_in_a_copy_is_the_copy(tmp_path: Path) -> None:
    tree = tree_without(PIECES["no_blocks"], tmp_path)
    code = (
        "import pbt, arena; from pbt.models.pixels import block_side as b; from "
        "pbt.config.learning import ConvLayer as L; "
    )
    assert (
        said(tree, code + "print(pbt.__file__, arena.__file__)")
        == f"{tree}/pbt/__init__.py {tree}/arena/__init__.py"
    )
    assert said(tree, code + "print(b(L(channels=32, kernel=8, stride=4), 72, 128, 3))") == "1"


def test_code_that_has_changed_is_told(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="0 times; expected it once"):
        tree_without(Piece(edit=("pbt/errors.py", "no such words", "")), tmp_path / "a")
    with pytest.raises(SystemExit, match="was not compiled"):
        tree_without(Piece(removed=("pbt/native/nothing.so",)), tmp_path / "b")
