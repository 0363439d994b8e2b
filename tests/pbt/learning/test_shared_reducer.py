"""Shards in processes of their own: one learner's result, equal bits, and no endless wait."""

import subprocess
import sys
import time
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from pbt.errors import EngineError
from pbt.learning.shared_reducer import SharedReducer, reducer_bytes
from pbt.transport.memory import Region
from tests.pbt.learning.shard_process import ROUNDS, SLOTS, UPDATES, bench, vectors

TIMEOUT_S = 60.0


def group(shards: int, parameters: int = 10, timeout_s: float = TIMEOUT_S) -> list[SharedReducer]:
    """Every shard's end, in this process."""
    region = Region.create("reducer", reducer_bytes(shards, parameters))
    return [
        SharedReducer(region, shard, shards, parameters, timeout_s=timeout_s)
        for shard in range(shards)
    ]


@contextmanager
def processes(
    mode: str, shards: range, of: int, region: Region, parameters: int, folder: Path
) -> Generator[list[subprocess.Popen[str]], None, None]:
    """These shards of a group, each in a process. They are gone afterwards."""
    module = [
        sys.executable,
        "-m",
        "tests.pbt.learning.shard_process",
        mode,
        str(region.fd),
        str(region.size),
    ]
    started = [
        subprocess.Popen(
            [*module, str(shard), str(of), str(parameters), str(TIMEOUT_S), str(folder)],
            pass_fds=[region.fd],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=Path(__file__).parents[3],
        )
        for shard in shards
    ]
    try:
        yield started
    finally:
        for process in started:
            process.kill()
            process.communicate()


def test_two_shards_in_two_processes_are_one_learner(tmp_path: Path) -> None:
    made = bench()
    one, actor = made.learner(), made.model(5)
    parameters = sum(parameter.numel() for parameter in one.model.parameters())
    region = Region.create("reducer", reducer_bytes(2, parameters))
    with processes("learn", range(2), 2, region, parameters, tmp_path) as shards:
        for update in range(UPDATES):
            one.update(made.batch(actor, SLOTS, seed=update))
        assert [shard.wait(TIMEOUT_S) for shard in shards] == [0, 0]
    first, second = (load_file(tmp_path / f"shard{shard}") for shard in range(2))
    for name, tensor in one.state().items():
        assert torch.equal(first[name], second[name]), f"{name}: the replicas differ"
        torch.testing.assert_close(
            first[name], tensor, rtol=1e-5, atol=1e-5, msg=lambda text, name=name: f"{name}: {text}"
        )


@pytest.mark.parametrize("kill", [True, False])
def test_a_shard_that_is_gone_is_named_within_the_deadline(tmp_path: Path, kill: bool) -> None:
    region = Region.create("reducer", reducer_bytes(2, 10))
    reducer = SharedReducer(region, 0, 2, 10, timeout_s=TIMEOUT_S)
    with processes("sum", range(1, 2), 2, region, 10, tmp_path) as (other,):
        sums = [reducer.sum(vector) for vector in vectors(0)]
        assert other.stdout is not None
        assert other.stdout.readline() == "ready\n"
        if kill:
            other.kill()
            other.wait()
        reducer._timeout_s = 0.2
        began = time.monotonic()
        with pytest.raises(
            EngineError, match=r"shard 0 waited 0\.2 s and shard 1 of 2 did not come"
        ):
            reducer.sum(vectors(0)[0])
        assert time.monotonic() - began < 10.0
    theirs = load_file(tmp_path / "shard1")["sums"]
    assert torch.equal(torch.stack(sums), theirs) and len(sums) == ROUNDS
    assert torch.equal(theirs, vectors(0) + vectors(1))


@pytest.mark.parametrize("shards", [1, 2, 3])
def test_every_shard_gets_the_same_bits_whoever_is_ahead(shards: int) -> None:
    reducers = group(shards)
    given = torch.stack([vectors(shard) for shard in range(shards)])

    def shard(index: int) -> list[torch.Tensor]:
        # Lengths and dtypes change from round to round, as they do within an update.
        return [
            reducers[index].sum(
                given[index, i, : 1 + i % 7].to(torch.float64 if i % 3 else torch.float32)
            )
            for i in range(ROUNDS)
        ]

    with ThreadPoolExecutor(shards) as pool:
        results = list(pool.map(shard, range(shards)))
    for i in range(ROUNDS):
        assert all(torch.equal(result[i], results[0][i]) for result in results)
        expected = given[:, i, : 1 + i % 7].to(results[0][i].dtype)
        torch.testing.assert_close(results[0][i], expected.sum(0))


def test_a_vector_is_not_written_to() -> None:
    (reducer,) = group(1)
    vector = torch.ones(3)
    total = reducer.sum(vector)
    total += 1
    reducer.sum(torch.zeros(3))
    assert vector.tolist() == [1, 1, 1] and total.tolist() == [2, 2, 2]


def test_shards_out_of_step_are_named_on_every_shard() -> None:
    reducers = group(2)
    with ThreadPoolExecutor(2) as pool:
        waits = [pool.submit(reducers[i].sum, torch.zeros(1 + i)) for i in range(2)]
        for wait in waits:
            with pytest.raises(
                EngineError, match=r"shards gave torch.float32 \[1\], torch.float32 \[2\]"
            ):
                wait.result()


@pytest.mark.parametrize(
    "vector", [torch.zeros(500), torch.zeros(2, 2), torch.zeros(2, dtype=torch.int64)]
)
def test_what_does_not_fit_is_refused_and_the_others_do_not_wait_for_it(
    vector: torch.Tensor,
) -> None:
    reducers = group(2)
    with pytest.raises(
        EngineError, match="from shard 1; expected a float32 or float64 vector of at most"
    ):
        reducers[1].sum(vector)
    with pytest.raises(EngineError, match="shard 1 gave up while shard 0 waited for it"):
        reducers[0].sum(torch.zeros(2))


def test_a_region_serves_one_group_once() -> None:
    region = Region.create("reducer", reducer_bytes(1, 10))
    SharedReducer(region, 0, 1, 10, timeout_s=1.0).sum(torch.zeros(1))
    with pytest.raises(EngineError, match="shard 0 found memory in use"):
        SharedReducer(region, 0, 1, 10, timeout_s=1.0)


def test_a_waiting_shard_shows_that_it_lives() -> None:
    region, looks = Region.create("reducer", reducer_bytes(2, 10)), []
    reducer = SharedReducer(region, 0, 2, 10, timeout_s=0.05, while_waiting=lambda: looks.append(1))
    with pytest.raises(EngineError, match="did not come"):
        reducer.sum(torch.zeros(1))
    assert len(looks) > 1
