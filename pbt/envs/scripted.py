"""What scripted players share: they have no network and decide many rows at once."""

import numpy as np
from numpy.typing import NDArray


def pick(candidates: NDArray[np.bool_], uniforms: NDArray[np.float64]) -> NDArray[np.int64]:
    """One candidate per row, all equally likely. Returns [N]; a row without candidates gives 0.

    candidates  [N, A]
    uniforms    [N] in [0, 1)
    """
    ranks = np.cumsum(candidates, axis=1)
    rank = (uniforms * ranks[:, -1]).astype(np.int64) + 1
    picked: NDArray[np.int64] = np.argmax((ranks == rank[:, None]) & candidates, axis=1)
    return picked
