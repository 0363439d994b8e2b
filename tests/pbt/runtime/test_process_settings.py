"""What a process asks of the system when it starts."""

import os
import resource
import subprocess
import sys
from collections.abc import Iterator

import pytest

from pbt.config.load import load_config
from pbt.config.schema import RunConfig
from pbt.envs import registry
from pbt.runtime.placements import ProcessPlan, process_plans, resolve
from pbt.runtime.process import pin, take_turns
from pbt.runtime.summary import start_line

CORES = sorted(os.sched_getaffinity(0))


def config(placement: str, workers: int, **runtime: object) -> RunConfig:
    table = {
        "env": {"name": "tictactoe"},
        "runtime": {"placement": placement, "workers": workers, **runtime},
        "sampling": {"environments": 64},
    }
    return resolve(RunConfig.model_validate(table), cores=workers, cuda=False)


@pytest.fixture(autouse=True)
def keep_cores() -> Iterator[None]:
    yield
    os.sched_setaffinity(0, CORES)


def plans(of: RunConfig) -> tuple[ProcessPlan, ...]:
    return process_plans(of, ["m0"])


def test_as_many_workers_as_cores_stay_on_one_each() -> None:
    found = config("inline", len(CORES))
    for plan, core in zip(plans(found), CORES, strict=True):
        os.sched_setaffinity(0, CORES)
        pin(plan, found)
        assert os.sched_getaffinity(0) == {core}


@pytest.mark.parametrize(
    "found",
    [
        config("inline", len(CORES) + 1),
        config("inline", len(CORES), pin_workers=False),
        config("central", len(CORES)),
    ],
    ids=str,
)
def test_others_go_where_they_like(found: RunConfig) -> None:
    for plan in plans(found):
        pin(plan, found)
        assert os.sched_getaffinity(0) == set(CORES)


TURNS = """
import os, subprocess, sys
from pbt.runtime.process import take_turns
take_turns()
words = [sys.executable, "-c", "import os; print(os.sched_getscheduler(0))"]
child = subprocess.run(words, capture_output=True, check=True)
print(os.sched_getscheduler(0), int(child.stdout))
"""


def test_who_plays_games_and_what_it_starts_take_turns() -> None:
    found = subprocess.run(
        [sys.executable, "-c", TURNS], capture_output=True, check=True, text=True
    ).stdout.split()
    assert found == [str(os.SCHED_BATCH)] * 2


def test_where_that_is_forbidden_a_worker_starts_all_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def forbidden(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "sched_setscheduler", forbidden)
    take_turns()


FAULTS = """
import resource, sys, torch
from pbt.processes.freed_memory import keep_freed_memory, return_freed_memory
kinds = {"keep": True, "keep of boards": False}
keep_freed_memory(images=kinds[sys.argv[1]]) if sys.argv[1] in kinds else return_freed_memory()
def work():
    return [torch.empty(1 << 24, dtype=torch.uint8).fill_(1) for _ in range(2)] and None
# Until the holes that tensors leave are large enough for the next ones, aligned as they are.
for _ in range(10):
    work()
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(5):
    work()
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""
# Half of what may lie free at the end of the heap of boards, where a round may lie as a whole.
PAGES = 5 * 2 * (1 << 24) // resource.getpagesize()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("word", "least", "most"),
    [
        ("keep", 0, PAGES // 10),
        ("keep of boards", 0, PAGES // 10),
        ("return", PAGES // 2, 2 * PAGES),
    ],
)
def test_large_tensors_use_pages_again(word: str, least: int, most: int) -> None:
    """Where freed pages are kept, a few rounds make room for all that follow.

    Where they are returned, every page is asked for anew.
    """
    assert (
        least
        <= int(
            subprocess.run(
                [sys.executable, "-c", FAULTS, word], capture_output=True, check=True
            ).stdout
        )
        <= most
    )


RETURNS = """
import sys, torch
from pbt.processes.freed_memory import keep_freed_memory, return_free_pages, return_freed_memory
if sys.argv[1] == "return":
    return_freed_memory()
if sys.argv[1] in ("keep", "keep for now"):
    keep_freed_memory(images=True)
def heap():
    lines = open("/proc/self/smaps_rollup")
    return sum(int(line.split()[1]) for line in lines if line.startswith("Anonymous:"))
before, small = heap(), []
for _ in range(2):
    # As tensors of a checkpoint are copied: what stays comes to lie behind what is freed.
    large = [torch.empty(20 << 20, dtype=torch.uint8).fill_(1) for _ in range(4)]
    small.append(bytearray(100_000))
    del large
if sys.argv[1] == "keep for now":
    return_free_pages()
print(heap() - before)
"""


@pytest.mark.parametrize(
    ("word", "keeps"),
    [("return", False), ("keep for now", False), ("keep", True), ("as it is", True)],
)
def test_what_a_process_keeps_of_what_it_freed(word: str, keeps: bool) -> None:
    """Of 80 MB. "as it is" is glibc's own way, without which this would show nothing."""
    kept_kb = int(
        subprocess.run(
            [sys.executable, "-c", RETURNS, word], capture_output=True, check=True
        ).stdout
    )
    assert kept_kb > 40_000 if keeps else kept_kb < 4_000


def test_a_start_says_that_it_is_synchronous() -> None:
    made = config("inline", 2)
    made = made.model_copy(update={"runtime": made.runtime.model_copy(update={"sync": "sync"})})
    said = start_line(made, registry.spec("tictactoe"))
    assert said.startswith("placement inline, synchronous, 2 workers, ")


@pytest.mark.parametrize(
    ("placement", "workers", "processes"),
    [
        ("serial", 1, ""),
        ("inline", 1, "1 worker, "),
        ("central", 2, "2 workers, 1 policy server, 1 learner, "),
    ],
)
def test_a_start_says_what_it_builds(placement: str, workers: int, processes: str) -> None:
    assert start_line(config(placement, workers), registry.spec("tictactoe")) == (
        f"placement {placement}, {processes}64 environments; networks compute in float32; "
        "ranked by the win rate"
    )


@pytest.mark.parametrize(
    ("players", "lock_step", "said"), [(2, "auto", True), (2, "barrier", False), (1, "auto", False)]
)
def test_a_start_says_that_matches_are_slower_without_the_library(
    players: int, lock_step: str, said: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = [
        f"env.options.players={players}",
        "env.options.bots=1",
        'env.options.scenario="cig"',
        f'env.options.lock_step="{lock_step}"',
    ]
    duels = resolve(load_config("doom_duel", settings), cores=1, cuda=False)
    assert "is not compiled" not in start_line(duels, registry.spec("doom_match"))
    monkeypatch.setattr("pbt.envs.doom.match.doom_preload", lambda: None)
    assert (
        "is not compiled, see `arena doctor`" in start_line(duels, registry.spec("doom_match"))
    ) is said
