"""The reducer between shards of one member in different processes: vectors meet in shared
memory.
"""

import time
from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from pbt.errors import EngineError
from pbt.transport.memory import Region, aligned, fence

_DTYPES = (torch.float32, torch.float64)
# Looks that only give the core away, before looks with a sleep between: shards of equal size come
# almost together.
_EAGER_LOOKS = 100
_SLEEP_S = 1e-4


def reducer_bytes(shards: int, parameters: int) -> int:
    """Size of the region for networks of so many parameters. Most of it is never touched: see
    `_vector_bytes`.
    """
    return _header_bytes(shards) + 2 * shards * _vector_bytes(parameters)


def _vector_bytes(parameters: int) -> int:
    """Room for a gradient with its weight in float32, and for the sums of a normaliser over
    features or of statistics in float64.
    """
    return aligned(16 * parameters + 1024)


def _header_bytes(shards: int) -> int:
    return (1 + shards) * aligned(1)


class SharedReducer:
    """One shard's end. Made anew in every process of a group over a region that is all zero; not
    used again after an error.

    A shard writes its vector, then the number of its round; when every shard's round has come, each
    adds all vectors in the order of the shards. Two sets of vectors alternate, so one meeting per
    sum is enough: who is in round r + 1 has seen that all came to round r, so nobody reads round r
    - 1 any more.
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
        """timeout_s: of one sum. while_waiting: called again and again by a shard that waits; it
        may show that this process lives.
        """
        self._shard, self._shards, self._timeout_s, self._while_waiting = (
            shard,
            shards,
            timeout_s,
            while_waiting,
        )
        self._bytes = _vector_bytes(parameters)
        self._region, self._round = region, 0
        # Row 0: the number of the shard that gave up, plus one. Row 1 + i: shard i's round; from
        # word 2 and 4 on, elements and dtype of its vectors.
        self._header = region.array(np.int64, (1 + shards, aligned(1) // 8))
        if self._header[0, 0] or self._header[1 + shard, 0]:
            raise EngineError(
                f"reducer: shard {shard} found memory in use; expected it new; give a "
                "restarted group another region"
            )

    def sum(self, vector: Tensor) -> Tensor:
        """See Reducer. vector: float32 or float64, of any device; so is the sum."""
        self._round += 1
        self._give(vector.detach().cpu())
        self._meet()
        forms = [tuple(form) for form in self._header[1:, self._form].tolist()]
        if len(set(forms)) != 1:
            found = ", ".join(f"{_DTYPES[dtype]} [{length}]" for length, dtype in forms)
            raise self._give_up(
                f"shards gave {found}; expected one shape and dtype: the shards do not run "
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
            found = f"{vector.dtype} {list(vector.shape)} from shard {self._shard}"
            raise self._give_up(
                f"found {found}; expected a float32 or float64 vector of at most "
                f"{self._bytes} bytes"
            )
        form = vector.numel(), _DTYPES.index(vector.dtype)
        self._vector(self._shard, *form).copy_(vector)
        row = self._header[1 + self._shard]
        row[self._form] = form
        fence()
        row[0] = self._round

    @property
    def _form(self) -> slice:
        """Where a row says what the vector of the present round is; it alternates with the
        vectors.
        """
        begin = 2 + 2 * (self._round % 2)
        return slice(begin, begin + 2)

    def _vector(self, shard: int, length: int, dtype: int) -> Tensor:
        """A shard's vector of the present round."""
        place = self._round % 2 * self._shards + shard
        offset = _header_bytes(self._shards) + place * self._bytes
        return torch.from_numpy(self._region.array((np.float32, np.float64)[dtype], length, offset))

    def _meet(self) -> None:
        """Wait until every shard gave its vector of this round."""
        deadline = time.monotonic() + self._timeout_s
        looks = 0
        while (rounds := self._header[1:, 0]).min() < self._round:
            if self._header[0, 0]:
                raise self._give_up(
                    f"shard {self._header[0, 0] - 1} gave up while shard {self._shard} "
                    "waited for it"
                )
            if time.monotonic() > deadline:
                late = ", ".join(
                    str(shard) for shard, at in enumerate(rounds.tolist()) if at < self._round
                )
                found = (
                    f"shard {self._shard} waited {self._timeout_s:g} s and shard {late} "
                    f"of {self._shards} did not come"
                )
                raise self._give_up(
                    f"{found}; expected every shard to run the same schedule; restart the learner"
                )
            self._while_waiting()
            looks += 1
            time.sleep(0.0 if looks < _EAGER_LOOKS else _SLEEP_S)
        fence()

    def _give_up(self, problem: str) -> EngineError:
        """The error to raise; the other shards raise, too, instead of waiting for this one."""
        if not self._header[0, 0]:
            self._header[0, 0] = 1 + self._shard
        return EngineError(f"reducer: {problem}")
