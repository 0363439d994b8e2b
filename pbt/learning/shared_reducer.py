"""The shared reducer adds vectors of one member's shards that are in different processes.

The vectors meet in shared memory.
"""

import time
from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from pbt.errors import EngineError
from pbt.processes.watched_time import WatchedTime
from pbt.transport.memory import Region, aligned, fence

_DTYPES = (torch.float32, torch.float64)
# Shards of equal size come almost together. So a waiting shard looks this often with only a yield
# of the core in between, and after that with a sleep.
_EAGER_LOOKS = 100
_SLEEP_S = 1e-4


def reducer_bytes(shards: int, parameters: int) -> int:
    """Size of the region for networks of `parameters` parameters.

    Most of it is never touched, see `_vector_bytes`.
    """
    return _header_bytes(shards) + 2 * shards * _vector_bytes(parameters)


def _vector_bytes(parameters: int) -> int:
    """Room for one vector of any kind.

    That is a gradient with its weight in float32, or the sums of a normaliser or of statistics in
    float64.
    """
    return aligned(16 * parameters + 1024)


def _header_bytes(shards: int) -> int:
    return (1 + shards) * aligned(1)


class SharedReducer:
    """One shard's end. Every process of a group makes its own over one region that is all zero.

    A shard writes its vector, then the number of its round. When the rounds of all shards have
    come, each shard adds all vectors in the order of the shards. Two sets of vectors alternate, so
    one meeting per sum is enough: a shard in round r + 1 has seen that all shards came to round r,
    so no shard reads vectors of round r - 1 any more. A reducer is not used again after an error.
    """

    def __init__(
        self,
        region: Region,
        shard: int,
        shards: int,
        parameters: int,
        *,
        timeout_s: float,
        while_waiting: Callable[[], None] = lambda: None,
    ) -> None:
        """region: of `reducer_bytes` bytes, all zero.

        shard          number of this shard
        shards         number of shards in the group
        parameters     number of parameters of the network
        timeout_s      longest wait in one sum
        while_waiting  called repeatedly while this shard waits, for instance to give a sign of life
        """
        self._shard, self._shards, self._timeout_s, self._while_waiting = (
            shard,
            shards,
            timeout_s,
            while_waiting,
        )
        self._bytes = _vector_bytes(parameters)
        self._region, self._round = region, 0
        # Row 0 holds the number of the shard that gave up, plus one. Row 1 + i belongs to shard i:
        # word 0 is its round, words 2 and 4 begin (length, dtype) of its two vectors.
        self._header = region.array(np.int64, (1 + shards, aligned(1) // 8))
        if self._header[0, 0] or self._header[1 + shard, 0]:
            raise EngineError(
                f"reducer: shard {shard} found memory in use; expected new memory; give a "
                "restarted group another region"
            )

    def sum(self, vector: Tensor) -> Tensor:
        """See Reducer. vector: float32 or float64, on any device; the sum is alike."""
        self._round += 1
        self._give(vector.detach().cpu())
        self._meet()
        forms = [tuple(form) for form in self._header[1:, self._form].tolist()]
        if len(set(forms)) != 1:
            shapes = ", ".join(f"{_DTYPES[dtype]} [{length}]" for length, dtype in forms)
            raise self._give_up(
                f"shards gave {shapes}; expected one shape and dtype: the shards do not run "
                "the same schedule"
            )
        first, *others = (self._vector(shard, *forms[0]) for shard in range(self._shards))
        total = first + others[0] if others else first.clone()
        for other in others[1:]:
            total += other
        return total.to(vector.device)

    def _give(self, vector: Tensor) -> None:
        size = vector.numel() * vector.element_size()
        if vector.dtype not in _DTYPES or vector.ndim != 1 or size > self._bytes:
            raise self._give_up(
                f"found {vector.dtype} {list(vector.shape)} from shard {self._shard}; expected a "
                f"float32 or float64 vector of at most {self._bytes} bytes"
            )
        form = vector.numel(), _DTYPES.index(vector.dtype)
        self._vector(self._shard, *form).copy_(vector)
        row = self._header[1 + self._shard]
        row[self._form] = form
        fence()
        row[0] = self._round

    @property
    def _form(self) -> slice:
        """Words of a row that hold (length, dtype) of the vector of the present round."""
        begin = 2 + 2 * (self._round % 2)
        return slice(begin, begin + 2)

    def _vector(self, shard: int, length: int, dtype: int) -> Tensor:
        """A shard's vector of the present round."""
        place = self._round % 2 * self._shards + shard
        offset = _header_bytes(self._shards) + place * self._bytes
        return torch.from_numpy(self._region.array((np.float32, np.float64)[dtype], length, offset))

    def _meet(self) -> None:
        """Wait until every shard has written its vector of this round."""
        watched, looks = WatchedTime(), 0
        while (rounds := self._header[1:, 0]).min() < self._round:
            if self._header[0, 0]:
                raise self._give_up(
                    f"shard {self._header[0, 0] - 1} gave up while shard {self._shard} "
                    "waited for it"
                )
            if watched.look() > self._timeout_s:
                late = ", ".join(
                    str(shard) for shard, at in enumerate(rounds.tolist()) if at < self._round
                )
                raise self._give_up(
                    f"shard {self._shard} waited {self._timeout_s:g} s and shard {late} of "
                    f"{self._shards} did not come; expected every shard to run the same schedule; "
                    "restart the learner"
                )
            self._while_waiting()
            looks += 1
            time.sleep(0.0 if looks < _EAGER_LOOKS else _SLEEP_S)
        fence()

    def _give_up(self, problem: str) -> EngineError:
        """Tell the other shards, which then raise as well; returns the error to raise here."""
        if not self._header[0, 0]:
            self._header[0, 0] = 1 + self._shard
        return EngineError(f"reducer: {problem}")
