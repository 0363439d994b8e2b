"""The libraries of pbt/native: built where there is a compiler, done without elsewhere."""

import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

import hatch_build
from pbt import native

Loader = Callable[[], object]
LOADERS: tuple[tuple[Loader, Callable[[], None]], ...] = (
    (native.elu_bf16, native.elu_bf16.cache_clear),
    (native.elu_float32, native.elu_float32.cache_clear),
    (native.pixel_blocks_bf16, native.pixel_blocks_bf16.cache_clear),
    (native.doom_preload, native.doom_preload.cache_clear),
    (native.bookkeeping, native.bookkeeping.cache_clear),
    *(
        (partial(native.table_game, name), native.table_game.cache_clear)
        for name in ("connect_four", "tictactoe", "leduc_poker", "othello", "hex")
    ),
)
"""What loads each library, in the order of `hatch_build.LIBRARIES`, and forgets that it did."""


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_they_are_built_where_there_is_a_compiler(tmp_path: Path) -> None:
    folder = tmp_path / hatch_build.FOLDER
    shutil.copytree(
        hatch_build.ROOT / hatch_build.FOLDER,
        folder,
        ignore=shutil.ignore_patterns("*.so", "__pycache__"),
    )
    before = names(folder)
    wrong = hatch_build.build(tmp_path)
    assert (wrong is None) == (hatch_build.compiler() is not None), wrong
    assert names(folder) == sorted(
        [*before, *([] if wrong else (path.name for path in hatch_build.LIBRARIES))]
    )
    assert wrong is not None or all(load() is not None for load, _ in LOADERS), (
        "install again, or call `python hatch_build.py`"
    )


@pytest.mark.parametrize("compiler", ["/bin/false", "/nowhere/cc"])
def test_without_a_working_compiler_the_reason_is_told_and_no_older_library_stays(
    compiler: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / hatch_build.FOLDER).mkdir(parents=True)
    for library in hatch_build.LIBRARIES:
        (tmp_path / library).write_bytes(b"older")
    monkeypatch.setenv("CC", compiler)
    wrong = hatch_build.build(tmp_path)
    assert wrong is not None and "\n" not in wrong
    assert names(tmp_path / hatch_build.FOLDER) == []


def test_of_two_sources_one_of_which_does_not_compile_neither_stays(tmp_path: Path) -> None:
    folder = tmp_path / hatch_build.FOLDER
    shutil.copytree(hatch_build.ROOT / hatch_build.FOLDER, folder)
    (folder / "pixels.c").write_text("not C\n")
    assert hatch_build.build(tmp_path) is not None
    assert not list(folder.glob("*.so")) and not list(folder.glob(".*.so"))


def test_every_source_is_compiled() -> None:
    assert set(hatch_build.SOURCES) == {
        path.stem for path in (hatch_build.ROOT / hatch_build.FOLDER).glob("*.c")
    }


def test_a_library_that_does_not_load_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(native, "__file__", str(tmp_path / "__init__.py"))
    try:
        for content in (None, b"of another machine"):
            for library, (load, forget) in zip(hatch_build.LIBRARIES, LOADERS, strict=True):
                if content is not None:
                    (tmp_path / library.name).write_bytes(content)
                forget()
                assert load() is None
    finally:
        for _, forget in LOADERS:
            forget()
