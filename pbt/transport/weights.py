"""Published weights: the learner writes, everybody else reads; neither waits for the other, in
one process or in several.
"""

import hashlib
import math
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from pbt.errors import EngineError
from pbt.transport.memory import Region, aligned, fence

# int64 cells at the start of the memory.
_BEGUN, _PUBLICATIONS, _VERSIONS, _LAYOUT = 0, 1, slice(2, 4), 4
_HEAD_CELLS = 8

# A reader is overtaken only while the writer publishes twice within one copy of the weights.
_MAX_ATTEMPTS = 100_000


class _Place(NamedTuple):
    """Where one tensor stands in a copy of the weights: bytes [start, stop)."""

    start: int
    stop: int
    shape: torch.Size
    dtype: torch.dtype

    def view(self, memory: Tensor) -> Tensor:
        """The tensor in `memory`, [bytes] uint8, which holds a whole copy."""
        return memory[self.start : self.stop].view(self.dtype).view(self.shape)


def _places(template: Mapping[str, Tensor]) -> tuple[dict[str, _Place], int]:
    """(place of every tensor, bytes of one copy)."""
    places, end = {}, 0
    for name, tensor in template.items():
        start = aligned(end)
        end = start + math.prod(tensor.shape) * tensor.element_size()
        places[name] = _Place(start, end, tensor.shape, tensor.dtype)
    return places, aligned(end)


def _fingerprint(places: Mapping[str, _Place]) -> int:
    """A positive int64 that differs when a name, shape or dtype does."""
    text = repr([(name, tuple(place.shape), str(place.dtype)) for name, place in places.items()])
    return 1 + int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little") // 4


def published_bytes(template: Mapping[str, Tensor]) -> int:
    """How large a region published weights of these shapes need."""
    return _HEAD_CELLS * 8 + 2 * _places(template)[1]


class PublishedWeights:
    """Two copies of one policy's tensors and an index that is written last, so a reader sees the
    old or the new ones, never a mixture.

    One process writes at a time. It announces a publication in `begun` before it touches the older
    copy; a reader that finds its copy announced after having copied it copies again, so it never
    waits for a writer that stands still or is dead. Readers poll `publications`; `version` is the
    learner's and stays when PBT replaces the weights. A new writer goes on after what a dead one
    left. One thread per object.
    """

    def __init__(
        self, template: Mapping[str, Tensor], region: Region | None = None, *, owner: bool = True
    ) -> None:
        """template: names, shapes and dtypes; `owner` also publishes its values, as publication 0
        of version 0, else what stands there is kept.

        region: None = private memory. Raises EngineError when it is too small, or holds weights of
        other shapes.
        """
        self._places, size = _places(template)
        memory = (
            np.zeros(_HEAD_CELLS * 8 + 2 * size, dtype=np.uint8)
            if region is None
            else region.array(np.uint8, published_bytes(template))
        )
        self._head = memory[: _HEAD_CELLS * 8].view(np.int64)
        starts = (_HEAD_CELLS * 8, _HEAD_CELLS * 8 + size)
        self._copies = tuple(torch.from_numpy(memory[start : start + size]) for start in starts)
        # What was read to be copied on, before it is known to be whole. Not touched (so it costs
        # nothing) by who only writes or reads everything.
        self._scratch = torch.empty(size, dtype=torch.uint8)
        layout = _fingerprint(self._places)
        if owner:
            for copy in self._copies:
                self._write(copy, template)
            self._head[:] = 0
            self._head[_LAYOUT] = layout
        elif self._head[_LAYOUT] != layout:
            found = "weights of other names or shapes" if self._head[_LAYOUT] else "no weights"
            raise EngineError(
                f"published weights: found {found}; expected {len(self._places)} tensors, "
                f"{size} bytes, as this process has them"
            )

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self._places)

    @property
    def publications(self) -> int:
        """How often weights were published; its lowest bit names the readable copy."""
        return int(self._head[_PUBLICATIONS])

    @property
    def version(self) -> int:
        """The learner's version of the readable copy."""
        return self._read_places((), self._scratch)[1]

    def publish(self, weights: Mapping[str, Tensor], version: int) -> None:
        """Make these weights the readable ones. All names of the template are expected; others
        are ignored.
        """
        missing = [name for name in self._places if name not in weights]
        if missing:
            raise EngineError(
                f"published weights: {len(missing)} tensors are missing, the first is {missing[0]}"
            )
        publications = self.publications + 1
        self._head[_BEGUN] = publications
        fence()
        self._write(self._copies[publications % 2], weights)
        self._head[_VERSIONS][publications % 2] = version
        fence()
        self._head[_PUBLICATIONS] = publications

    @torch.no_grad()
    def _write(self, copy: Tensor, weights: Mapping[str, Tensor]) -> None:
        for name, place in self._places.items():
            if weights[name].shape != place.shape:
                raise EngineError(
                    f"published weights: {name} is {list(weights[name].shape)}; expected "
                    f"{list(place.shape)}"
                )
            place.view(copy).copy_(weights[name])

    @torch.no_grad()
    def copy_into(self, weights: Mapping[str, Tensor]) -> tuple[int, int]:
        """Copy the readable weights into these tensors, and only into them; returns (publications,
        version).

        Tensors on another device get there in one transfer. Raises EngineError for a name that is
        not published.
        """
        unknown = [name for name in weights if name not in self._places]
        if unknown:
            raise EngineError(
                f"published weights: asked for {unknown[0]}; there are {', '.join(self._places)}"
            )
        spans = _merged([self._places[name] for name in weights])
        publications, version = self._read_places(spans, self._scratch)
        arrived = {}
        for name, tensor in weights.items():
            device = tensor.device
            if device not in arrived:
                # Everything up to the last byte asked for: model weights stand in front of the
                # moments.
                arrived[device] = self._scratch[: spans[-1][1]].to(device)
            tensor.copy_(self._places[name].view(arrived[device]))
        return publications, version

    def read(self) -> dict[str, Tensor]:
        """Copies of everything, of one publication, on the CPU, in one fresh piece of memory."""
        fresh = torch.empty_like(self._scratch)
        self._read_places(((0, len(fresh)),), fresh)
        return {name: place.view(fresh) for name, place in self._places.items()}

    def _read_places(self, spans: tuple[tuple[int, int], ...], into: Tensor) -> tuple[int, int]:
        """Bring bytes [start, stop) of the readable copy to the same places of other memory;
        returns (publications, version).
        """
        for _ in range(_MAX_ATTEMPTS):
            publications = self.publications
            fence()
            copy = self._copies[publications % 2]
            for start, stop in spans:
                into[start:stop] = copy[start:stop]
            version = int(self._head[_VERSIONS][publications % 2])
            fence()
            # Publication p + 1 writes the other copy, p + 2 this one.
            if self._head[_BEGUN] < publications + 2:
                return publications, version
        raise EngineError(
            f"published weights: overtaken by the writer {_MAX_ATTEMPTS} times; expected "
            "publications to take longer than reading one"
        )


def _merged(places: list[_Place]) -> tuple[tuple[int, int], ...]:
    """Byte ranges that cover the places, neighbours joined: weights are read in one piece, not
    tensor by tensor.
    """
    spans: list[tuple[int, int]] = []
    for start, stop in sorted((place.start, place.stop) for place in places):
        if spans and start == aligned(spans[-1][1]):
            spans[-1] = (spans[-1][0], stop)
        else:
            spans.append((start, stop))
    return tuple(spans)
