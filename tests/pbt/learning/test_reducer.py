"""Sums over shards: the same bits everywhere, and no wait without a deadline."""

from concurrent.futures import ThreadPoolExecutor

import pytest
import torch

from pbt.errors import EngineError
from pbt.learning.reducer import SingleReducer
from tests.pbt.learning.thread_group import ThreadGroup


def test_one_shard_is_its_own_sum() -> None:
    vector = torch.randn(5)
    assert torch.equal(SingleReducer().sum(vector), vector)


@pytest.mark.parametrize("shards", [1, 2, 3])
def test_every_shard_gets_the_same_bits_many_times(shards: int) -> None:
    group = ThreadGroup(shards, timeout_s=30)
    vectors = torch.randn(200, shards, 7, generator=torch.Generator().manual_seed(0))

    def shard(index: int) -> list[torch.Tensor]:
        return [group.reducers[index].sum(vectors[i, index]) for i in range(200)]

    with ThreadPoolExecutor(shards) as pool:
        results = list(pool.map(shard, range(shards)))
    for i in range(200):
        assert all(torch.equal(result[i], results[0][i]) for result in results)
        torch.testing.assert_close(results[0][i], vectors[i].sum(0))


def test_a_shard_that_does_not_come_is_an_error_within_the_deadline() -> None:
    group = ThreadGroup(2, timeout_s=0.05)
    with pytest.raises(EngineError, match=r"shard 0 waited up to 0.05 s and not all 2 shards came"):
        group.reducers[0].sum(torch.zeros(1))


def test_shards_out_of_step_are_named() -> None:
    group = ThreadGroup(2, timeout_s=30)
    with ThreadPoolExecutor(2) as pool:
        waits = [pool.submit(group.reducers[i].sum, torch.zeros(1 + i)) for i in range(2)]
        for wait in waits:
            with pytest.raises(
                EngineError, match=r"shards gave torch.float32 \[1\], torch.float32 \[2\]"
            ):
                wait.result()
