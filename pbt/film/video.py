"""Writes pictures as an H.264 video that browsers play."""

import glob
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from fractions import Fraction
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, Self

import av
from av.container import OutputContainer
from av.video.reformatter import ColorPrimaries, ColorRange, Colorspace, ColorTrc

from pbt.film.extra import FilmError
from pbt.film.folder import PARTIAL, remove_begun
from pbt.film.picture import Picture

_KEY_FRAME_S = 4


class Encoding(NamedTuple):
    """Settings of the encoder x264.

    preset   speed
    crf      how much may be lost: more is smaller and worse
    threads  of the encoder; None: as many as it likes
    """

    preset: str = "veryfast"
    crf: int = 20
    threads: int | None = None


FINE = Encoding()
# A third of the bytes and half the time. More threads would take cores that training needs.
SMALL = Encoding("superfast", 30, threads=1)


class VideoWriter:
    """Takes one picture after the other and keeps none.

    The file gets its name when it is whole; after an error there is no file. What a killed writer
    left of this video is removed when the next one begins.

    path         of the video, once it is closed
    size         (width, height), even numbers
    ticks_per_s  the unit of time: each picture says at which tick it appears, and stays until the
                 next one
    Raises: FilmError when the file cannot be written.
    """

    def __init__(
        self, path: Path, size: tuple[int, int], ticks_per_s: Fraction, encoding: Encoding = FINE
    ) -> None:
        self.path, self._ticks_per_s = path, ticks_per_s
        self._beside = path.with_name(f".{path.name}.{os.getpid()}{PARTIAL}")
        self.pictures, self.last_tick = 0, -1
        self._container: OutputContainer | None = None
        try:
            with self._writing():
                remove_begun(path.parent.glob(f".{glob.escape(path.name)}.*{PARTIAL}"))
                self._open(size, encoding)
        except BaseException:
            with suppress(FilmError):
                self._discard()
            raise

    def _open(self, size: tuple[int, int], encoding: Encoding) -> None:
        # The index comes first in the file, so that a browser need not load all of it to begin.
        self._container = av.open(
            str(self._beside), "w", format="mp4", options={"movflags": "+faststart"}
        )
        self._stream = stream = self._container.add_stream("libx264", rate=self._ticks_per_s)
        stream.width, stream.height, stream.pix_fmt = *size, "yuv420p"
        # No picture refers to a later one: with uneven times such pictures would make the file say
        # that it is shorter than it is.
        stream.options = {"preset": encoding.preset, "crf": str(encoding.crf), "bf": "0"}
        if encoding.threads is not None:
            stream.codec_context.thread_count = encoding.threads
        stream.codec_context.time_base = 1 / self._ticks_per_s
        stream.codec_context.gop_size = max(1, round(_KEY_FRAME_S * self._ticks_per_s))
        # The file names its colours; else players guess them by its size.
        stream.codec_context.colorspace = Colorspace.ITU709
        stream.codec_context.color_range = ColorRange.MPEG
        stream.codec_context.color_primaries = ColorPrimaries.BT709
        stream.codec_context.color_trc = ColorTrc.BT709
        self._container.start_encoding()

    @property
    def size_bytes(self) -> int:
        """Bytes written so far. The encoder holds some tens of pictures back."""
        with self._writing():
            return self._beside.stat().st_size

    @property
    def seconds(self) -> float:
        """Seconds up to the last picture."""
        return float(max(self.last_tick, 0) / self._ticks_per_s)

    def add(self, picture: Picture, tick: int) -> None:
        """Add a picture.

        tick  when it appears; after that of the picture before
        """
        assert tick > self.last_tick, f"tick {tick} after tick {self.last_tick}"
        with self._writing():
            frame = av.VideoFrame.from_ndarray(picture, format="rgb24")
            frame = frame.reformat(
                format="yuv420p",
                src_color_range=ColorRange.JPEG,
                dst_colorspace=Colorspace.ITU709,
                dst_color_range=ColorRange.MPEG,
            )
            frame.pts, frame.time_base = tick, 1 / self._ticks_per_s
            self._encode(frame)
        self.pictures, self.last_tick = self.pictures + 1, tick

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is None:
            self.close(keep=True)
            return
        # The error that was raised within is the one to see.
        with suppress(FilmError):
            self.close(keep=False)

    def close(self, *, keep: bool) -> None:
        """End the video.

        keep  the file gets its name, if there is a picture; false: there is no file
        Raises: FilmError.
        """
        try:
            if keep and self.pictures:
                with self._writing():
                    self._encode(None)
                    self._close_container()
                    self._beside.replace(self.path)
        finally:
            self._discard()

    def _encode(self, frame: av.VideoFrame | None) -> None:
        assert self._container is not None, "pictures come before the end"
        self._container.mux(self._stream.encode(frame))

    def _close_container(self) -> None:
        if self._container is not None:
            self._container.close()

    def _discard(self) -> None:
        """Remove what is left of a video that did not get its name.

        Raises: FilmError when it stays.
        """
        with suppress(FilmError), self._writing():
            self._close_container()
        with self._writing():
            self._beside.unlink(missing_ok=True)

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """Surrounds every use of the library and of the file.

        Raises: FilmError for any error, since some of FFmpeg's errors are of no narrower kind.
        """
        try:
            yield
        except Exception as error:
            full = isinstance(error, OSError)
            advice = (
                "free space there, or choose another place"
                if full
                else "install the extra again: pip install 'pbt-arena[video]'"
            )
            problem = str(error) if full else f"{type(error).__name__}: {error}"
            raise FilmError(
                f"{self.path}: the video could not be written: {problem}; {advice}"
            ) from error
