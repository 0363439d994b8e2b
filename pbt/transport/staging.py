"""Between the host's memory and a device: many arrays, one copy each way.

A copy to or from a device costs its microseconds however small it is, and only page-locked
("pinned") host memory is copied while the host goes on.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

CPU = torch.device("cpu")
_ALIGNMENT = 64


class Form(NamedTuple):
    """An array to be."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]


class _Part(NamedTuple):
    """Where a tensor lies in a packed vector of bytes."""

    name: str
    shape: tuple[int, ...]
    dtype: torch.dtype
    begin: int
    end: int

    def of(self, packed: Tensor) -> Tensor:
        """The view. packed: [bytes] uint8, of any device."""
        return packed[self.begin : self.end].view(self.dtype).view(self.shape)


class Staging:
    """The way to one device and back. One thread at a time; copies run on that thread's current
    stream.

    Two host buffers alternate, so the next upload is filled while the last one may still be on its
    way.
    """

    def __init__(self, device: torch.device) -> None:
        self.device = device
        self._outgoing = [self._host(0), self._host(0)]
        self._sent: list[torch.cuda.Event | None] = [None, None]
        self._turn = 0
        self._parts: list[_Part] = []
        self._incoming = self._host(0)

    def stage(self, forms: Mapping[str, Form]) -> dict[str, NDArray[Any]]:
        """Host arrays, not initialised, to be filled and sent: nobody may write to them after
        `send`.
        """
        self._parts, size = _places(forms)
        self._turn = 1 - self._turn
        sent = self._sent[self._turn]
        if sent is not None:
            sent.synchronize()
        if self._outgoing[self._turn].numel() < size:
            self._outgoing[self._turn] = self._host(size)
        return {part.name: part.of(self._outgoing[self._turn]).numpy() for part in self._parts}

    def send(self) -> dict[str, Tensor]:
        """What was staged, on the device, in one copy that does not wait. All are views of one
        vector that is the caller's.
        """
        size = self._parts[-1].end if self._parts else 0
        packed = torch.empty(size, dtype=torch.uint8, device=self.device)
        packed.copy_(self._outgoing[self._turn][:size], non_blocking=True)
        if self.device.type == "cuda":
            sent = torch.cuda.Event()  # type: ignore[no-untyped-call]
            sent.record(torch.cuda.current_stream(self.device))
            self._sent[self._turn] = sent
        return {part.name: part.of(packed) for part in self._parts}

    def upload(self, arrays: Mapping[str, NDArray[Any]]) -> dict[str, Tensor]:
        """Arrays of the host -> tensors on the device."""
        staged = self.stage(
            {name: Form(array.shape, array.dtype) for name, array in arrays.items()}
        )
        for name, array in arrays.items():
            staged[name][...] = array
        return self.send()

    def download(self, tensors: Mapping[str, Tensor]) -> dict[str, NDArray[Any]]:
        """Tensors of the device -> arrays of the host, valid until the next download. Waits for
        the device.
        """
        packed, parts = _pack(tensors)
        if self._incoming.numel() < packed.numel():
            self._incoming = self._host(packed.numel())
        arrived = self._incoming[: packed.numel()]
        arrived.copy_(packed, non_blocking=True)
        if self.device.type == "cuda":
            torch.cuda.current_stream(self.device).synchronize()
        return {part.name: part.of(arrived).numpy() for part in parts}

    def _host(self, size: int) -> Tensor:
        return torch.empty(
            size, dtype=torch.uint8, pin_memory=self.device.type == "cuda" and size > 0
        )


def staging_for(device: torch.device) -> Staging | None:
    """None on the CPU, where everything is already."""
    return None if device.type == "cpu" else Staging(device)


def to_host(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Copies on the CPU; of tensors on one other device in one copy."""
    if all(tensor.device.type == "cpu" for tensor in tensors.values()):
        return {name: tensor.detach().clone() for name, tensor in tensors.items()}
    packed, parts = _pack(tensors)
    host = packed.cpu()
    return {part.name: part.of(host) for part in parts}


def _places(forms: Mapping[str, Form]) -> tuple[list[_Part], int]:
    """A place for every form, each on a boundary of _ALIGNMENT bytes, and the bytes of all."""
    parts, end = [], 0
    for name, form in forms.items():
        begin = -(-end // _ALIGNMENT) * _ALIGNMENT
        end = begin + form.dtype.itemsize * int(np.prod(form.shape))
        parts.append(
            _Part(name, form.shape, torch.from_numpy(np.empty(0, form.dtype)).dtype, begin, end)
        )
    return parts, end


def _pack(tensors: Mapping[str, Tensor]) -> tuple[Tensor, list[_Part]]:
    """All bytes in one vector on the tensors' device, the widest types first: every part stands
    on a multiple of its element size.
    """
    parts, bytes_of, end = [], [], 0
    for name, tensor in sorted(tensors.items(), key=lambda item: -item[1].element_size()):
        flat = tensor.detach().contiguous().view(-1).view(torch.uint8)
        parts.append(_Part(name, tuple(tensor.shape), tensor.dtype, end, end + flat.numel()))
        bytes_of.append(flat)
        end += flat.numel()
    return torch.cat(bytes_of) if bytes_of else torch.empty(0, dtype=torch.uint8), parts
