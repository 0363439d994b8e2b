"""Videos, decoded."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import av
import numpy as np
from av.video.reformatter import Colorspace
from numpy.typing import NDArray


@dataclass(frozen=True)
class Found:
    """A decoded video.

    duration_s  as the file says
    pictures    each [height, width, 3]
    times_s     when each picture appears
    """

    width: int
    height: int
    codec: str
    pix_fmt: str | None
    duration_s: float
    times_s: list[float]
    pictures: list[NDArray[Any]]


def read(path: Path) -> Found:
    with av.open(str(path)) as container:
        stream = container.streams.video[0]
        frames = list(container.decode(stream))
        pictures = [
            np.asarray(frame.to_ndarray(format="rgb24", src_colorspace=Colorspace.ITU709))
            for frame in frames
        ]
        codec = stream.codec_context
        return Found(
            codec.width,
            codec.height,
            codec.name,
            codec.pix_fmt,
            (container.duration or 0) / av.time_base,
            [float(frame.time or 0.0) for frame in frames],
            pictures,
        )
