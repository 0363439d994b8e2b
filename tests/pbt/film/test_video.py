"""Videos read back as they were written, and have their name only when they are whole."""

import os
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from av.codec.codec import UnknownCodecError

from pbt.film.extra import FilmError
from pbt.film.video import Encoding, VideoWriter
from tests.pbt.film.reading import read

SIZE = (96, 64)
COLOURS = (
    (255, 0, 0),
    (0, 255, 0),
    (0, 0, 255),
    (128, 128, 128),
    (255, 255, 255),
    (0, 0, 0),
    (200, 150, 90),
)


def flat(colour: tuple[int, int, int]) -> np.ndarray[tuple[int, ...], np.dtype[np.uint8]]:
    return np.full((SIZE[1], SIZE[0], 3), colour, np.uint8)


def test_a_video_shows_what_was_written_when_it_was_to_be_shown(tmp_path: Path) -> None:
    path, ticks = tmp_path / "a.mp4", [0, 2, 4, 5, 7, 40, 41]
    with VideoWriter(path, SIZE, Fraction(35)) as video:
        for colour, tick in zip(COLOURS, ticks, strict=True):
            video.add(flat(colour), tick)
        assert not path.exists()
    assert (video.pictures, video.seconds) == (7, 41 / 35)
    found = read(path)
    assert (found.width, found.height, found.codec, found.pix_fmt) == (*SIZE, "h264", "yuv420p")
    assert found.times_s == pytest.approx([tick / 35 for tick in ticks], abs=1e-4)
    assert 41 / 35 <= found.duration_s <= 43 / 35
    for colour, picture in zip(COLOURS, found.pictures, strict=True):
        assert np.abs(picture.astype(int) - colour).max() <= 6
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.mp4"]


def test_the_index_comes_before_the_pictures(tmp_path: Path) -> None:
    path = tmp_path / "a.mp4"
    with VideoWriter(path, SIZE, Fraction(10)) as video:
        for tick in range(20):
            video.add(flat(COLOURS[tick % 7]), tick)
    content = path.read_bytes()
    assert 0 < content.index(b"moov") < content.index(b"mdat")


def test_what_a_writer_that_was_killed_left_of_the_same_video_goes(tmp_path: Path) -> None:
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    left = [
        tmp_path / f".{name}.mp4.{pid}.partial"
        for name, pid in (("a[1]", gone.pid), ("a[1]", os.getppid()), ("a1", gone.pid))
    ]
    for path in left:
        path.touch()
    # What cannot be removed is no reason to write no video.
    (tmp_path / f".a[1].mp4.0{gone.pid}.partial").mkdir()
    with VideoWriter(tmp_path / "a[1].mp4", SIZE, Fraction(10)) as video:
        video.add(flat(COLOURS[0]), 0)
    assert [path.exists() for path in left] == [False, True, True]


def test_an_error_leaves_what_stood_there(tmp_path: Path) -> None:
    path = tmp_path / "a.mp4"
    path.write_text("before")

    def interrupted() -> None:
        with VideoWriter(path, SIZE, Fraction(10)) as video:
            video.add(flat(COLOURS[0]), 0)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert path.read_text() == "before" and len(list(tmp_path.iterdir())) == 1


def test_without_a_picture_there_is_no_video(tmp_path: Path) -> None:
    with VideoWriter(tmp_path / "a.mp4", SIZE, Fraction(10)):
        pass
    assert list(tmp_path.iterdir()) == []


def test_pictures_are_not_kept(tmp_path: Path) -> None:
    """A long game is not held in memory: the encoder looks ahead by tens of pictures."""
    path, rng = tmp_path / "a.mp4", np.random.default_rng(1)
    with VideoWriter(path, SIZE, Fraction(35)) as video:
        for tick in range(300):
            video.add(rng.integers(0, 256, (SIZE[1], SIZE[0], 3), np.uint8), tick)
        written = sum(entry.stat().st_size for entry in tmp_path.iterdir())
    assert written > 0.6 * path.stat().st_size > 300_000


def test_a_folder_that_goes_away_is_said(tmp_path: Path) -> None:
    with pytest.raises(FilmError, match="could not be written"):
        VideoWriter(tmp_path / "gone" / "a.mp4", SIZE, Fraction(10))


def test_whatever_the_library_raises_is_a_film_that_could_not_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """FFmpeg's own errors are of many kinds, some of which know of no other."""
    said = r"a\.mp4: the video could not be written: "

    def wrong_picture() -> None:
        with VideoWriter(tmp_path / "a.mp4", SIZE, Fraction(10)) as video:
            video.add(flat(COLOURS[0]).astype(np.float32), 0)  # type: ignore[arg-type]

    with pytest.raises(FilmError, match=said + r"ValueError: .*; install the extra again"):
        wrong_picture()
    with pytest.raises(FilmError, match=said + r"\w+: .*; install the extra again"):
        VideoWriter(tmp_path / "a.mp4", SIZE, Fraction(10), Encoding(preset="none of x264's"))

    def unknown(*arguments: object, **named: object) -> None:
        raise UnknownCodecError("libx264")

    monkeypatch.setattr("av.open", unknown)
    with pytest.raises(
        FilmError, match=said + "UnknownCodecError: libx264; install the extra again"
    ):
        VideoWriter(tmp_path / "a.mp4", SIZE, Fraction(10))
    assert list(tmp_path.iterdir()) == []


def test_an_interrupt_is_not_hidden_by_a_file_that_cannot_be_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(path: Path, missing_ok: bool = False) -> None:
        raise PermissionError(13, "not allowed")

    def interrupted() -> None:
        with VideoWriter(tmp_path / "a.mp4", SIZE, Fraction(10)):
            monkeypatch.setattr(Path, "unlink", refused)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
