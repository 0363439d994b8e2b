"""Scripted players: they have no network and decide many rows at once."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pbt.envs.contract import ScriptedAct


def pick(candidates: NDArray[np.bool_], uniforms: NDArray[np.float64]) -> NDArray[np.int64]:
    """One candidate per row, all equally likely. Returns [N]; a row without candidates gives 0.

    candidates  [N, A]
    uniforms    [N] in [0, 1)
    """
    ranks = np.cumsum(candidates, axis=1)
    rank = (uniforms * ranks[:, -1]).astype(np.int64) + 1
    picked: NDArray[np.int64] = np.argmax((ranks == rank[:, None]) & candidates, axis=1)
    return picked


def random_act(head_sizes: tuple[int, ...]) -> ScriptedAct:
    """The player "random", which every game knows.

    It is uniform over the legal choices of each head, and its heads are independent.
    """
    stops = np.cumsum(head_sizes)

    def act(
        observation: Mapping[str, NDArray[Any]],
        mask: NDArray[np.bool_],
        uniforms: NDArray[np.float64],
    ) -> NDArray[np.int64]:
        heads = [
            pick(mask[:, stop - size : stop], uniforms[:, h])
            for h, (stop, size) in enumerate(zip(stops, head_sizes, strict=True))
        ]
        return np.stack(heads, axis=1)

    return act
