"""Staging moves many arrays between the host's memory and a device in one copy each way.

Every copy to or from a device takes microseconds, however small it is. Only page-locked ("pinned")
host memory is copied while the host goes on.
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
    """Shape and dtype of an array that is to be made."""

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
        """The tensor, as a view of `packed`, [bytes] uint8 on any device."""
        return packed[self.begin : self.end].view(self.dtype).view(self.shape)


class Staging:
    """Copies to one device and back, on the current stream of the calling thread.

    One thread at a time. Two host buffers alternate, so the next upload can be filled while the
    last one may still be on its way.
    """

    def __init__(self, device: torch.device) -> None:
        self.device = device
        self._outgoing = [self._host(0), self._host(0)]
        self._sent: list[torch.cuda.Event | None] = [None, None]
        self._turn = 0
        self._parts: list[_Part] = []
        self._incoming = self._host(0)

    def stage(self, forms: Mapping[str, Form]) -> dict[str, NDArray[Any]]:
        """Host arrays, not initialised, for the caller to fill and `send`.

        The caller must not write to them after `send`.
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
        """Copy what was staged to the device, in one copy that does not wait.

        The tensors are views of one new vector, which is the caller's.
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
        """Copy arrays of the host to tensors on the device."""
        staged = self.stage(
            {name: Form(array.shape, array.dtype) for name, array in arrays.items()}
        )
        for name, array in arrays.items():
            staged[name][...] = array
        return self.send()

    def download(self, tensors: Mapping[str, Tensor]) -> dict[str, NDArray[Any]]:
        """Copy tensors of the device to arrays of the host. Waits for the device.

        The arrays are valid until the next download.
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
    """The staging for a device; None for the CPU, to which nothing needs to be copied."""
    return None if device.type == "cpu" else Staging(device)


def to_host(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Copies of the tensors on the CPU. Tensors of one device travel in one copy."""
    if all(tensor.device.type == "cpu" for tensor in tensors.values()):
        return {name: tensor.detach().clone() for name, tensor in tensors.items()}
    packed, parts = _pack(tensors)
    host = packed.cpu()
    return {part.name: part.of(host) for part in parts}


def _places(forms: Mapping[str, Form]) -> tuple[list[_Part], int]:
    """(a place for every form, the bytes of all). Places start at multiples of _ALIGNMENT."""
    parts, end = [], 0
    for name, form in forms.items():
        begin = -(-end // _ALIGNMENT) * _ALIGNMENT
        end = begin + form.dtype.itemsize * int(np.prod(form.shape))
        parts.append(
            _Part(name, form.shape, torch.from_numpy(np.empty(0, form.dtype)).dtype, begin, end)
        )
    return parts, end


def _pack(tensors: Mapping[str, Tensor]) -> tuple[Tensor, list[_Part]]:
    """The bytes of all tensors in one vector on their device, and the place of each.

    The widest types come first, so every part starts at a multiple of its element size.
    """
    parts, bytes_of, end = [], [], 0
    for name, tensor in sorted(tensors.items(), key=lambda item: -item[1].element_size()):
        flat = tensor.detach().contiguous().view(-1).view(torch.uint8)
        parts.append(_Part(name, tuple(tensor.shape), tensor.dtype, end, end + flat.numel()))
        bytes_of.append(flat)
        end += flat.numel()
    return torch.cat(bytes_of) if bytes_of else torch.empty(0, dtype=torch.uint8), parts
