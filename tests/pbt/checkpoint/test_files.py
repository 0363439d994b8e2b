"""A checkpoint on disk comes back as it was, or is refused in words that say what to do."""

import hashlib
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from msgspec.structs import replace

from pbt.checkpoint.files import Checkpoint, read_checkpoint, read_newest, write_checkpoint
from pbt.checkpoint.folders import FORMAT, PROGRAM
from pbt.errors import CheckpointError, ForeignCheckpointError
from pbt.saved import SavedCurves, SavedPool, TableColumns, WaitingColumns
from tests.pbt.checkpoint.cuts import empty_run, empty_worker


def cut(number: int = 1) -> Checkpoint:
    return Checkpoint(number, empty_run(), {"weights": {"a": torch.arange(3)}})


def altered(path: Path, file: str, change: Callable[[dict[str, Any]], object]) -> None:
    """Change a JSON file as another program might have written it, its hash with it."""
    table = json.loads((path / file).read_bytes())
    change(table)
    (path / file).write_text(json.dumps(table), encoding="utf-8")
    manifest = json.loads((path / "manifest.json").read_bytes())
    if file in manifest["sha256"]:
        manifest["sha256"][file] = hashlib.sha256((path / file).read_bytes()).hexdigest()
        (path / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")


def test_the_manifest_says_which_program_wrote_which_format(tmp_path: Path) -> None:
    manifest = json.loads((write_checkpoint(tmp_path, cut(), 2) / "manifest.json").read_bytes())
    assert (manifest["format"], manifest["program"], manifest["number"]) == (FORMAT, PROGRAM, 1)
    assert set(manifest["sha256"]) == {"state.json", "weights.safetensors"}


def test_every_number_comes_back_as_it_was(tmp_path: Path) -> None:
    written = cut()
    odd = SavedCurves({"m0": [np.float64(0.1), float("inf"), 1e-310]}, {})
    state = written.state
    filler = replace(empty_worker(2), idle=[1, 0])
    state = replace(state, worker=filler, controller=replace(state.controller, curves=odd))
    write_checkpoint(tmp_path, Checkpoint(1, state, written.tensors), 2)
    found, damaged = read_newest(tmp_path)
    assert not damaged and found.state == state
    assert torch.equal(found.tensors["weights"]["a"], torch.arange(3))


def test_a_damaged_file_is_named_and_the_checkpoint_before_is_used(tmp_path: Path) -> None:
    write_checkpoint(tmp_path, cut(1), 2)
    (write_checkpoint(tmp_path, cut(2), 2) / "state.json").write_text("{}")
    found, damaged = read_newest(tmp_path)
    assert found.number == 1
    assert damaged == [
        "checkpoint 00000002: state.json is damaged (its SHA-256 differs from the manifest's)"
    ]


def test_a_newer_format_is_refused_with_the_program_that_wrote_it(tmp_path: Path) -> None:
    write_checkpoint(tmp_path, cut(1), 2)
    newer = write_checkpoint(tmp_path, cut(2), 2)
    altered(newer, "manifest.json", lambda it: it.update(format=FORMAT + 1, program="pbt-arena 9"))
    told = (
        f"{tmp_path}: checkpoint 00000002: format {FORMAT + 1}, written by pbt-arena 9; this is "
        f"{PROGRAM}, which reads formats up to {FORMAT}; go on with pbt-arena 9 or a later version"
    )
    # The one before does not take its place.
    with pytest.raises(ForeignCheckpointError, match=re.escape(told)):
        read_newest(tmp_path)


@pytest.mark.parametrize("found", [0, -1, "2", 2.0, True, None, [2], 1.5])
def test_a_format_that_no_program_writes_is_refused(found: object, tmp_path: Path) -> None:
    write_checkpoint(tmp_path, cut(1), 2)
    odd = write_checkpoint(tmp_path, cut(2), 2)
    altered(odd, "manifest.json", lambda it: it.update(format=found))
    told = (
        f"checkpoint 00000002: format {json.dumps(found)}, written by {PROGRAM}; expected a whole"
    )
    # The one before does not take its place.
    with pytest.raises(ForeignCheckpointError, match=re.escape(told)):
        read_newest(tmp_path)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda it: it.update(color="red"), "unknown field `color`"),
        (lambda it: it["worker"]["seats"].update(mood=[]), r"unknown field `mood` - at `\$.worker"),
        (lambda it: it["worker"]["games"].pop("moves"), "missing required field `moves`"),
        (lambda it: it["worker"]["tables"].update(level=[1.5]), "columns of different lengths"),
        (
            lambda it: it["worker"]["tables"].update(table=[1 << 63], level=[0.0]),
            r"`int` <= 9223372036854775807 - at `\$.worker.tables.table\[0\]`",
        ),
        (lambda it: it["controller"].update(games="7"), "Expected `int`, got `str`"),
    ],
)
def test_fields_that_no_part_has_are_refused(
    change: Callable[[dict[str, Any]], object], told: str, tmp_path: Path
) -> None:
    path = write_checkpoint(tmp_path, cut(), 2)
    altered(path, "state.json", change)
    with pytest.raises(ForeignCheckpointError, match=told) as caught:
        read_checkpoint(path)
    assert f"format 2, written by {PROGRAM}" in str(caught.value)
    assert "go on with the program that wrote it, or a later version" in str(caught.value)


def test_a_manifest_that_is_none_is_damage(tmp_path: Path) -> None:
    path = write_checkpoint(tmp_path, cut(), 2)
    for text in ("[]", "{", '{"number": 1}', '{"format": 1, "number": "x", "sha256": {}}'):
        (path / "manifest.json").write_text(text)
        with pytest.raises(CheckpointError, match=r"manifest.json: unreadable \(") as caught:
            read_checkpoint(path)
        assert not isinstance(caught.value, ForeignCheckpointError)


def test_columns_are_joined_chosen_and_put_in_order() -> None:
    one, two = TableColumns([3, 0], [0.5, 0.25]), TableColumns([1], [4.0])
    joined = TableColumns.joined([one, two])
    assert joined == TableColumns([3, 0, 1], [0.5, 0.25, 4.0])
    assert joined.by_table() == TableColumns([0, 1, 3], [0.25, 4.0, 0.5])
    assert joined.at({1, 3}) == TableColumns([3, 1], [0.5, 4.0])
    assert list(joined.at({1}).rows()) == [{"table": 1, "level": 4.0}]
    assert TableColumns.joined([]) == TableColumns.of(()) == TableColumns([], [])
    assert WaitingColumns.of([(1, 0), (0, 2)]) == WaitingColumns([1, 0], [0, 2])
    with pytest.raises(ValueError, match="different lengths: {'table': 1, 'level': 0}"):
        TableColumns([1], [])


def test_parts_are_never_changed() -> None:
    with pytest.raises(AttributeError):
        SavedPool([], {}).free = [1]  # type: ignore[misc]
