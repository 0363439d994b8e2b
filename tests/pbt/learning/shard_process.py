"""One shard of a group in a process of its own, for `test_shared_reducer`.

Usage: python -m ... MODE FD SIZE SHARD SHARDS PARAMETERS TIMEOUT_S FOLDER
"""

import sys
from pathlib import Path

import torch

from pbt.config.learning import ModelConfig
from pbt.files import write_whole
from pbt.learning.shared_reducer import SharedReducer
from pbt.models.weights import to_bytes
from pbt.transport.memory import Region
from tests.pbt.learning.conftest import Bench
from tests.pbt.learning.one_pass import one_pass

UPDATES, SLOTS, ROUNDS = 3, 8, 300


def bench() -> Bench:
    """A learner that sends all kinds of vectors through a reducer.

    These are gradients, moments of advantages, statistics and sums of the normaliser.
    """
    return Bench(
        config=one_pass(learning_rate=1e-2, epochs=2, normalize_advantages=True),
        model_config=ModelConfig(hidden=(16,), core="gru", gru_size=8, normalize_observations=True),
    )


def vectors(shard: int) -> torch.Tensor:
    """The vectors that a shard gives in the rounds of mode "sum", [ROUNDS, 7]."""
    return torch.randn(ROUNDS, 7, generator=torch.Generator().manual_seed(shard))


def main(mode: str, reducer: SharedReducer, shard: int, shards: int, folder: Path) -> None:
    if mode == "learn":
        made = bench()
        learner, actor = made.learner(), made.model(5)
        slots = torch.arange(SLOTS).tensor_split(shards)[shard]
        for update in range(UPDATES):
            learner.update(made.batch(actor, SLOTS, seed=update).select(slots), reducer)
        write_whole(folder / f"shard{shard}", to_bytes(learner.state()))
        return
    sums = torch.stack([reducer.sum(vector) for vector in vectors(shard)])
    write_whole(folder / f"shard{shard}", to_bytes({"sums": sums}))
    # The process lives until it is killed, or until the process that started it is gone.
    print("ready", flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    torch.set_num_threads(1)
    mode, fd, size, shard, shards, parameters, timeout_s, folder = sys.argv[1:]
    region = Region.attach(int(fd), int(size))
    main(
        mode,
        SharedReducer(region, int(shard), int(shards), int(parameters), timeout_s=float(timeout_s)),
        int(shard),
        int(shards),
        Path(folder),
    )
