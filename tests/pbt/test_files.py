"""Files that are whole or absent."""

import hashlib
import os
import resource
from pathlib import Path

import pytest

from pbt.errors import reason, refused_place
from pbt.files import PART_SUFFIX, copy_checked, sync_folder, whole_file, write_synced, write_whole


@pytest.mark.parametrize("durable", [False, True])
@pytest.mark.parametrize("many_writers", [False, True])
def test_a_file_is_whole_and_nothing_stays_beside_it(
    tmp_path: Path, durable: bool, many_writers: bool
) -> None:
    path = tmp_path / "status.json"
    write_whole(path, "grün", durable=durable, many_writers=many_writers)
    write_whole(path, b"second", durable=durable, many_writers=many_writers)
    sync_folder(tmp_path)
    assert path.read_bytes() == b"second" and [file.name for file in tmp_path.iterdir()] == [
        path.name
    ]


def test_what_stood_there_stays_when_writing_fails(tmp_path: Path) -> None:
    path = tmp_path / "weights"
    write_synced(path, b"old")
    with pytest.raises(TypeError), whole_file(path, durable=True) as file:
        file.writelines([b"new", 3])  # type: ignore[list-item]  # fails half-way
    assert path.read_bytes() == b"old" and [file.name for file in tmp_path.iterdir()] == [path.name]


def test_a_pipe_is_written_in_place(tmp_path: Path) -> None:
    """A file that took its place would take away `/dev/stdout` of the whole machine."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    write_whole(pipe, "told")
    assert os.read(reader, 10) == b"told" and pipe.is_fifo()
    os.close(reader)


def test_many_writers_do_not_share_a_part(tmp_path: Path) -> None:
    path = tmp_path / "weights"
    with whole_file(path, many_writers=True) as file:
        file.write(b"ours")
        assert [part.name for part in tmp_path.iterdir()] == [f"weights.{os.getpid()}{PART_SUFFIX}"]
        write_whole(path, "theirs")
    assert path.read_bytes() == b"ours"


def test_an_error_names_the_file_that_was_to_be_written(tmp_path: Path) -> None:
    path = tmp_path / "weights"
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10, hard))
    try:
        with pytest.raises(OSError, match="File too large") as full:
            write_whole(path, b"more than ten bytes", durable=True)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    with pytest.raises(FileNotFoundError) as absent:
        write_whole(tmp_path / "none" / "weights", b"")
    assert refused_place(full.value).startswith(f"{path}: File too large; expected a place")
    assert absent.value.filename == str(tmp_path / "none" / "weights")
    assert reason(full.value) == "File too large" and not any(tmp_path.iterdir())


def test_the_reason_of_an_error_without_a_number_is_its_text() -> None:
    assert reason(OSError("no place")) == reason(ValueError("no place")) == "no place"


def test_a_copy_holds_what_it_should_or_is_not_there(tmp_path: Path) -> None:
    source, target = tmp_path / "source", tmp_path / "deep" / "target"
    source.write_bytes(b"x" * 3_000_000)
    right = hashlib.sha256(source.read_bytes()).hexdigest()
    assert not copy_checked(source, target, hashlib.sha256(b"other").hexdigest())
    assert list(target.parent.iterdir()) == []
    assert copy_checked(source, target, right)
    assert target.read_bytes() == source.read_bytes()
    with pytest.raises(FileNotFoundError):
        copy_checked(tmp_path / "nothing", target, right)
    assert target.read_bytes() == source.read_bytes()
