"""The tables of the placements: nothing has two owners, nothing has none, whatever the numbers."""

import os
from dataclasses import replace
from functools import cache
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pbt.config.schema import RunConfig
from pbt.envs import registry
from pbt.inference.remote import server_of_member
from pbt.runtime.blueprint import Blueprint, blueprint_of, equal_shares, usual_slots
from pbt.runtime.control import FROM_MAIN, Assignment
from pbt.runtime.placements import ProcessPlan, Shard, process_plans, resolve
from pbt.runtime.shared import AttachedMemory, SharedMemory
from pbt.transport.wire import Wire


def config(
    environments: int | str = "auto",
    seat_block: int = 1,
    batch_slots: int = 4,
    minibatches: int = 1,
    **runtime: Any,
) -> RunConfig:
    return RunConfig.model_validate(
        {
            "env": {"name": "tictactoe"},
            "sampling": {
                "environments": environments,
                "seat_block": seat_block,
                "rollout_steps": 4,
            },
            "learning": {"batch_steps": 4 * batch_slots, "minibatches": minibatches},
            "model": {"hidden": [4]},
            "runtime": runtime,
        }
    )


@cache
def blueprint() -> Blueprint:
    return blueprint_of(config(8), registry.spec("tictactoe"))


@pytest.mark.parametrize(
    ("cores", "cuda", "placement", "workers", "environments"),
    [
        (1, False, "inline", 1, 128),
        (2, False, "inline", 2, 256),
        (16, False, "inline", 16, 2048),
        (1, True, "central", 1, 128),
        (2, True, "central", 1, 128),
        (16, True, "central", 15, 1920),
    ],
)
def test_what_auto_means(
    cores: int, cuda: bool, placement: str, workers: int, environments: int
) -> None:
    resolved = resolve(config(), cores, cuda)
    runtime = resolved.runtime
    assert (runtime.placement, runtime.workers, resolved.sampling.environments) == (
        placement,
        workers,
        environments,
    )
    assert runtime.groups == (2 if placement == "central" else 1)


@pytest.mark.parametrize(
    ("asked", "workers", "groups"),
    [
        # Seven tables: three workers of two groups each.
        (config(7, placement="central"), 3, 2),
        (config(7, placement="inline"), 7, 1),
        (config(1, placement="central"), 1, 1),
        (config(1, placement="inline", workers=5), 1, 1),
        # Blocks stay whole: ten tables in blocks of four are three.
        (config(10, 4, placement="central"), 1, 2),
        (config(10, 4, placement="inline"), 3, 1),
        (config(10, 100, placement="central", groups=3), 1, 1),
        (config(64, placement="central", workers=3, groups=4), 3, 4),
        (config(64, placement="serial", workers=9), 1, 1),
    ],
)
def test_no_more_workers_and_groups_than_there_are_tables_for(
    asked: RunConfig, workers: int, groups: int
) -> None:
    runtime = resolve(asked, 16, False).runtime
    assert (runtime.workers, runtime.groups) == (workers, groups)


def test_what_a_person_chose_is_kept() -> None:
    asked = config(100, placement="central", workers=2, servers=3, learners=0, groups=3)
    assert resolve(asked, 16, False) == asked
    assert resolve(config(placement="serial"), 16, True).sampling.environments == 128


def test_one_table_per_placement() -> None:
    members = ("m0", "m1", "m2")
    assert process_plans(resolve(config(8, placement="inline", workers=2), 4, False), members) == (
        ProcessPlan("worker-0", (0,), local=True, trains=(Shard("m0"),)),
        ProcessPlan("worker-1", (1,), local=True, trains=(Shard("m1"), Shard("m2"))),
    )
    assert process_plans(
        resolve(config(8, placement="inline", workers=5), 4, False), members[:2]
    ) == (
        ProcessPlan("worker-0", (0,), local=True, trains=(Shard("m0", 0, 3),)),
        ProcessPlan("worker-1", (1,), local=True, trains=(Shard("m0", 1, 3),)),
        ProcessPlan("worker-2", (2,), local=True, trains=(Shard("m0", 2, 3),)),
        ProcessPlan("worker-3", (3,), local=True, trains=(Shard("m1", 0, 2),)),
        ProcessPlan("worker-4", (4,), local=True, trains=(Shard("m1", 1, 2),)),
    )
    assert process_plans(resolve(config(8, placement="central", workers=2), 4, False), members) == (
        ProcessPlan("worker-0", (0, 1)),
        ProcessPlan("worker-1", (2, 3)),
        ProcessPlan("server-0", serves=0),
        ProcessPlan("learner-0", trains=(Shard("m0"), Shard("m1"), Shard("m2"))),
    )
    assert process_plans(
        resolve(config(8, placement="central", workers=1, servers=2, learners=0), 4, False), members
    ) == (
        ProcessPlan("worker-0", (0, 1)),
        ProcessPlan("server-0", serves=0, trains=(Shard("m0"), Shard("m2"))),
        ProcessPlan("server-1", serves=1, trains=(Shard("m1"),)),
    )


def test_the_memory_for_rollouts_that_will_be_used_is_there_from_the_start() -> None:
    resolved = resolve(config(512, batch_slots=64, placement="inline", workers=2), 2, False)
    facts = blueprint_of(resolved, registry.spec("tictactoe"))
    shared = SharedMemory(facts, process_plans(resolved, [member.name for member in facts.members]))
    (slab,) = shared.slabs
    assert slab.region is not None
    usual = len(shared.shares) * usual_slots(512, len(facts.members), 64, len(shared.shares))
    there = os.fstat(slab.region.fd).st_blocks * 512 / slab.nbytes
    assert usual / slab.slots < 0.8 and usual / slab.slots <= there < 0.9


def test_what_a_worker_notes_of_its_tables_is_there_for_the_next_one() -> None:
    """The levels of curricula stand beside the counts, and neither runs into the other."""
    resolved = resolve(config(5, placement="inline", workers=1), 2, False)
    facts = blueprint_of(resolved, registry.spec("tictactoe"))
    plans = process_plans(resolved, [member.name for member in facts.members])
    shared = SharedMemory(facts, plans)
    shared.renew_plane()

    def attached() -> AttachedMemory:
        handles, _ = shared.handles(plans[0])
        regions = handles["regions"].items()
        handles["regions"] = {name: [os.dup(fd), size] for name, (fd, size) in regions}
        return AttachedMemory(facts, handles)

    first = attached()
    assert first.levels.tolist() == [0.0] * 5
    first.levels[:], first.counts[:] = range(10, 15), range(5)
    second = attached()
    assert second.levels.tolist() == list(range(10, 15))
    assert second.counts.tolist() == shared.counts.tolist() == list(range(5))


def test_roles_and_domains_for_people() -> None:
    both = ProcessPlan("worker-0", (0,), local=True, trains=(Shard("m0"), Shard("m2")))
    assert both.roles == ("worker", "learner m0 m2") and both.in_plane
    assert (
        ProcessPlan("server-1", serves=1).roles == ("server",)
        and ProcessPlan("server-0", serves=0).in_plane
    )
    assert not ProcessPlan("learner-0", trains=(Shard("m0"),)).in_plane


asked_configs = st.builds(
    lambda tables, block, parts, minibatches, **runtime: config(
        tables, block, parts * minibatches, minibatches, **runtime
    ),
    st.integers(1, 40) | st.just("auto"),
    st.integers(1, 9),
    st.integers(1, 4),
    st.integers(1, 3),
    placement=st.sampled_from(["auto", "inline", "central"]),
    workers=st.integers(1, 20) | st.just("auto"),
    servers=st.integers(1, 5),
    learners=st.integers(0, 5),
    groups=st.integers(1, 4),
)


@given(asked_configs, st.sampled_from([1, 2, 3, 16]), st.booleans(), st.integers(1, 9))
def test_everything_has_exactly_one_place(
    asked: RunConfig, cores: int, cuda: bool, count: int
) -> None:
    members = tuple(f"m{number}" for number in range(count))
    resolved = resolve(asked, cores, cuda)
    assert resolve(resolved, 7, not cuda) == resolved, "decided once"
    plans = process_plans(resolved, members)
    assert len({plan.name for plan in plans}) == len(plans)
    wire = Wire(FROM_MAIN)
    arrived = [wire.decode(wire.encode(Assignment(plan, {}))).plan for plan in plans]
    assert arrived == list(plans), "as every process gets its own"

    hosted = {
        member: [shard for plan in plans for shard in plan.trains if shard.member == member]
        for member in members
    }
    batch_slots = resolved.learning.batch_steps // resolved.sampling.rollout_steps
    for shards in hosted.values():
        assert sorted(shard.index for shard in shards) == list(range(len(shards))), (
            "one publishes, every part is trained once"
        )
        assert {shard.shards for shard in shards} == {len(shards)}
        assert batch_slots // len(shards) >= resolved.learning.minibatches, (
            "every shard has something in every minibatch"
        )
    assert sum(len(plan.trains) for plan in plans) == sum(map(len, hosted.values())), (
        "no process trains a member that does not exist"
    )

    groups = [group for plan in plans for group in plan.groups]
    assert groups == list(range(len(groups))) and groups
    tables, block = resolved.sampling.environments, resolved.sampling.seat_block
    assert isinstance(tables, int)
    shares = equal_shares(replace(blueprint(), config=resolved, tables=tables), len(groups))
    assert [table for share in shares for table in share.tables] == list(range(tables)), (
        "every table is played by one group"
    )
    assert all(share.tables[0] % block == 0 for share in shares), "blocks stay together"
    assert all(before.slots[0].stop == after.slots[0].start for before, after in pairwise(shares))

    serves = [plan.serves for plan in plans if plan.serves is not None]
    assert serves == list(range(len(serves)))
    assert all(plan.local == (not serves) for plan in plans if plan.groups), (
        "every table has a process that acts for it"
    )
    assert all(server_of_member(policy, len(serves)) in serves for policy in range(count) if serves)
    assert all(plan.groups or plan.serves is not None or plan.trains for plan in plans), (
        "every process hosts something"
    )


def test_a_replay_belongs_to_one_process() -> None:
    """Fewer members than workers share out gradients, but not the steps that they replay."""
    shared, own = (
        RunConfig.model_validate(
            {**config(8, workers=2, placement="inline").model_dump(), "learning": learning}
        )
        for learning in ({"batch_steps": 16}, {"batch_steps": 16, "algorithm": "dqn"})
    )
    shards = [
        [shard.shards for plan in process_plans(one, ["m0"]) for shard in plan.trains]
        for one in (shared, own)
    ]
    assert shards == [[2, 2], [1]]
