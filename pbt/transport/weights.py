"""Published weights: one learner writes them, others read them, and none waits for another.

The learner and its readers may be in one process or in several.
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
_BEGUN, _PUBLICATIONS, _VERSIONS, _LAYOUT, _ATTESTED = 0, 1, slice(2, 4), 4, slice(5, 7)
_HEAD_CELLS = 8

# The writer overtakes a reader only by publishing twice while the reader copies the weights once.
_MAX_ATTEMPTS = 100_000


class Reading(NamedTuple):
    """One publication, as a reader found it.

    publications  how many there had been
    version       of the learner
    attested      the learner takes a digest of these weights, and readers are to take one as well
    """

    publications: int
    version: int
    attested: bool


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
    """A positive int64 that tells layouts of other names, shapes or dtypes apart."""
    text = repr([(name, tuple(place.shape), str(place.dtype)) for name, place in places.items()])
    return 1 + int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little") // 4


def published_bytes(template: Mapping[str, Tensor]) -> int:
    """Size in bytes of the region that published weights of these shapes need."""
    return _HEAD_CELLS * 8 + 2 * _places(template)[1]


class PublishedWeights:
    """Two copies of one policy's tensors, of which one is readable while the other is written.

    A reader sees the old tensors or the new ones, never a mixture. The writer announces a
    publication in the head of the memory before it touches the older copy, and makes that copy the
    readable one at the end. A reader looks at the announcement after it has copied the tensors, and
    copies again if they may have been written meanwhile. So it never waits for a writer that stands
    still or is dead.

    One process writes at a time; a new writer goes on from what a dead one left. Readers poll
    `publications`. `version` is the learner's, and does not change when PBT replaces the weights.
    One thread per object.
    """

    def __init__(
        self, template: Mapping[str, Tensor], region: Region | None = None, *, owner: bool = True
    ) -> None:
        """template: tensors of the names, shapes and dtypes to publish.

        region  where the copies stand; None = private memory
        owner   publish the template's values as publication 0 of version 0; otherwise keep what the
                region holds

        Raises EngineError when the region is too small, or holds weights of other shapes.
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
        # A reader copies here first, and on only when it knows that the copy is whole. An object
        # that only writes, or reads everything, never touches this memory, so it costs nothing.
        self._scratch = torch.empty(size, dtype=torch.uint8)
        layout = _fingerprint(self._places)
        if owner:
            for copy in self._copies:
                self._write(copy, template)
            self._head[:] = 0
            self._head[_LAYOUT] = layout
        elif self._head[_LAYOUT] != layout:
            content = "weights of other names or shapes" if self._head[_LAYOUT] else "no weights"
            raise EngineError(
                f"published weights: found {content}; expected {len(self._places)} tensors, "
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
        return self._read_places((), self._scratch).version

    def publish(
        self, weights: Mapping[str, Tensor], version: int, *, attested: bool = False
    ) -> None:
        """Make these weights the readable ones; names that the template lacks are ignored.

        attested: see Reading.
        Raises EngineError when one of the template's tensors is missing or has another shape.
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
        self._head[_ATTESTED][publications % 2] = attested
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
    def copy_into(self, weights: Mapping[str, Tensor]) -> Reading:
        """Copy the readable weights of these names into these tensors.

        Tensors on another device get there in one transfer. Raises EngineError for a name that is
        not published.
        """
        unknown = [name for name in weights if name not in self._places]
        if unknown:
            raise EngineError(
                f"published weights: found no {unknown[0]}; expected one of "
                f"{', '.join(self._places)}"
            )
        spans = _merged([self._places[name] for name in weights])
        reading = self._read_places(spans, self._scratch)
        arrived = {}
        for name, tensor in weights.items():
            device = tensor.device
            if device not in arrived:
                # One transfer of everything up to the last byte that is needed. The model's weights
                # stand before the optimiser's moments, so that is little more than needed.
                arrived[device] = self._scratch[: spans[-1][1]].to(device)
            tensor.copy_(self._places[name].view(arrived[device]))
        return reading

    def read(self, prefix: str = "") -> dict[str, Tensor]:
        """Copies of the tensors of one publication, on the CPU, in one new piece of memory.

        prefix: of their names
        """
        places = {name: one for name, one in self._places.items() if name.startswith(prefix)}
        spans = _merged(list(places.values()))
        fresh = torch.empty(spans[-1][1] if spans else 0, dtype=torch.uint8)
        self._read_places(spans, fresh)
        return {name: place.view(fresh) for name, place in places.items()}

    def _read_places(self, spans: tuple[tuple[int, int], ...], into: Tensor) -> Reading:
        """Copy bytes [start, stop) of the readable copy to the same places of `into`."""
        for _ in range(_MAX_ATTEMPTS):
            publications = self.publications
            fence()
            copy = self._copies[publications % 2]
            for start, stop in spans:
                into[start:stop] = copy[start:stop]
            version = int(self._head[_VERSIONS][publications % 2])
            attested = bool(self._head[_ATTESTED][publications % 2])
            fence()
            # Publication p + 1 writes to the other copy; p + 2 is the first to write to this one.
            if self._head[_BEGUN] < publications + 2:
                return Reading(publications, version, attested)
        raise EngineError(
            f"published weights: overtaken by the writer {_MAX_ATTEMPTS} times; expected "
            "publications to take longer than reading one"
        )


def _merged(places: list[_Place]) -> tuple[tuple[int, int], ...]:
    """Byte ranges that cover the places, neighbours joined.

    Most weights are then read in one piece instead of tensor by tensor.
    """
    spans: list[tuple[int, int]] = []
    for start, stop in sorted((place.start, place.stop) for place in places):
        if spans and start == aligned(spans[-1][1]):
            spans[-1] = (spans[-1][0], stop)
        else:
            spans.append((start, stop))
    return tuple(spans)
