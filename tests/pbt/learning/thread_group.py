"""Shards in threads of one process: the slow, obvious reducer that tests hold others against."""

import threading
from collections.abc import Sequence

import torch
from torch import Tensor

from pbt.algorithms.base import Reducer
from pbt.errors import EngineError


class ThreadGroup:
    """Shards in threads of one process. `reducers[i]` belongs to shard i."""

    def __init__(self, shards: int, timeout_s: float) -> None:
        self._timeout_s = timeout_s
        self._vectors: list[Tensor | None] = [None] * shards
        self._all_given = threading.Barrier(shards)
        self._all_read = threading.Barrier(shards)
        self.reducers: Sequence[Reducer] = tuple(
            _ThreadReducer(self, shard) for shard in range(shards)
        )

    def sum(self, shard: int, vector: Tensor) -> Tensor:
        """Called by each shard's thread; see Reducer."""
        self._vectors[shard] = vector
        self._meet(self._all_given, shard)
        # In the order of the shards: every thread computes the same bits.
        given = [v for v in self._vectors if v is not None]
        if len({(v.shape, v.dtype) for v in given}) != 1:
            shapes = ", ".join(f"{v.dtype} {list(v.shape)}" for v in given)
            raise EngineError(
                f"reducer: shards gave {shapes}; expected one shape and dtype: the shards do "
                "not run the same schedule"
            )
        total = torch.stack(given).sum(0)
        self._meet(self._all_read, shard)
        self._vectors[shard] = None
        return total

    def _meet(self, barrier: threading.Barrier, shard: int) -> None:
        try:
            barrier.wait(self._timeout_s)
        except threading.BrokenBarrierError as error:
            found = (
                f"shard {shard} waited up to {self._timeout_s:g} s and not all "
                f"{len(self._vectors)} shards came"
            )
            raise EngineError(
                f"reducer: {found}; expected every shard to run the same schedule; restart "
                "the learner"
            ) from error


class _ThreadReducer:
    def __init__(self, group: ThreadGroup, shard: int) -> None:
        self._group = group
        self._shard = shard

    def sum(self, vector: Tensor) -> Tensor:
        return self._group.sum(self._shard, vector)
