"""The memory and queues that the processes of a run share.

The main process makes them (`SharedMemory`), the others attach to them (`AttachedMemory`).
"""

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from pbt.learning.shared_reducer import reducer_bytes
from pbt.runtime.assembly import new_learner, replay_slots
from pbt.runtime.blueprint import Blueprint, MemberPlace, equal_shares, usual_slots
from pbt.runtime.placements import ProcessPlan
from pbt.saved import (
    GameColumns,
    SavedFiller,
    SavedPool,
    SavedWorker,
    SeatColumns,
    TableColumns,
    WaitingColumns,
)
from pbt.transport.fifo import Fifo, fifo_kinds, make_fifo
from pbt.transport.memory import Region
from pbt.transport.messages import JsonState
from pbt.transport.process_board import ProcessBoard, board_bytes
from pbt.transport.slab import Slab, slab_bytes
from pbt.transport.weights import PublishedWeights, published_bytes

FIFO_BYTES = 1 << 20


class SharedMemory:
    """Makes everything that is shared, and describes it in a form that a message carries.

    shares     partitions of tables and slots, one for each group of tables of each worker
    slabs      by role
    board      of counters and signs of life, a row per process
    published  every member's whole learner state, which outlives the learner's process
    replays    every member's ring of steps, None where it does not replay
    counts     [tables] int64, games so far of every table
    """

    def __init__(self, blueprint: Blueprint, plans: Sequence[ProcessPlan]) -> None:
        self._blueprint, self._plans = blueprint, tuple(plans)
        self.shares = equal_shares(blueprint, sum(len(plan.groups) for plan in plans))
        self._owners = [plan.name for plan in plans for _ in plan.groups]
        self._starts = [
            [share.slots[role].start for share in self.shares]
            for role in range(len(blueprint.roles))
        ]
        slots = [self.shares[-1].slots[role].stop for role in range(len(blueprint.roles))]
        # All but those of the reducers, which are made anew.
        self._regions: dict[str, Region] = {}
        self.slabs = [
            Slab(layout, slots[role], self._region(f"slab-{role}", slab_bytes(layout, slots[role])))
            for role, layout in enumerate(blueprint.layouts)
        ]
        self._populate_slabs()
        self.board = ProcessBoard(len(plans), self._region("board", board_bytes(len(plans))))
        # Behind the counts stand the tables' levels, which outlive the workers that write them.
        tables = self._region("tables", 16 * blueprint.tables)
        self.counts: NDArray[np.int64] = tables.array(np.int64, blueprint.tables)
        shape = blueprint.tables
        self._levels: NDArray[np.float64] = tables.array(np.float64, shape, 8 * shape)
        states = {
            member.name: new_learner(blueprint, member).state() for member in blueprint.members
        }
        self.published = {
            name: PublishedWeights(state, self._region(f"weights-{name}", published_bytes(state)))
            for name, state in states.items()
        }
        # The rings of members that replay, which outlive the learner's process too.
        self.replays = {member.name: self._replay(member) for member in blueprint.members}
        self._forms = {name: _form(state) for name, state in states.items()}
        self._parameters = {
            name: sum(tensor.numel() for key, tensor in state.items() if key.startswith("model."))
            for name, state in states.items()
        }
        self._requests: list[Fifo] = []
        self._replies: dict[str, Fifo] = {}
        self._reducers: dict[str, Region] = {}

    def _region(self, name: str, size: int) -> Region:
        region = self._regions[name] = Region.create(name, size)
        return region

    def _replay(self, member: MemberPlace) -> Slab | None:
        slots = replay_slots(self._blueprint, member)
        if not slots:
            return None
        layout = self._blueprint.layouts[member.role]
        region = self._region(f"replay-{member.name}", slab_bytes(layout, slots))
        ring = Slab(layout, slots, region)
        ring.populate(range(slots))
        return ring

    def _populate_slabs(self) -> None:
        """Take the memory of the slots that the run will use.

        A run that is too large for the machine then ends at its start, and not half an hour later.
        """
        blueprint, shares = self._blueprint, len(self.shares)
        for role, slab in enumerate(self.slabs):
            members = blueprint.role_members(role)
            for share in self.shares:
                seats = len(share.tables) * blueprint.seats_per_role[role]
                usual = (
                    len(share.slots[role])
                    if blueprint.config.runtime.in_rounds
                    else usual_slots(seats, members, blueprint.batch_slots, shares)
                )
                slab.populate(share.slots[role][:usual])

    def owner(self, role: int, slot: int) -> str:
        """Return the worker that a slot belongs to."""
        return self._owners[bisect_right(self._starts[role], slot) - 1]

    def renew_plane(self) -> None:
        """Make the queues and reducers of the sampling plane anew, before it starts (again).

        A process of the plane may have died while it held a lock, or in the middle of a sum.
        """
        for fifo in (*self._requests, *self._replies.values()):
            fifo.close()
        for region in self._reducers.values():
            region.close()
        servers = [plan for plan in self._plans if plan.serves is not None]
        if servers:
            word = self._blueprint.config.runtime.queues
            kind = fifo_kinds()[0] if word == "auto" else word
            self._requests = [make_fifo(kind, FIFO_BYTES) for _ in servers]
            self._replies = {
                plan.name: make_fifo(kind, FIFO_BYTES) for plan in self._plans if plan.groups
            }
        shards = {shard.member: shard.shards for plan in self._plans for shard in plan.trains}
        sizes = {
            f"reducer-{member}": reducer_bytes(count, self._parameters[member])
            for member, count in shards.items()
            if count > 1
        }
        self._reducers = {name: Region.create(name, size) for name, size in sizes.items()}

    def handles(self, plan: ProcessPlan) -> tuple[JsonState, list[int]]:
        """Return what a process needs to attach, and the descriptors that it must inherit."""
        regions = self._regions | self._reducers
        requests, replies = list[Fifo](), list[Fifo]()
        if plan.serves is not None:
            requests, replies = [self._requests[plan.serves]], list(self._replies.values())
        elif plan.name in self._replies:
            requests, replies = self._requests, [self._replies[plan.name]]
        fifos = (*requests, *replies)
        handles = {
            "regions": {name: [region.fd, region.size] for name, region in regions.items()},
            "slots": [slab.slots for slab in self.slabs],
            "forms": self._forms,
            "requests": [fifo.handle() for fifo in requests],
            "replies": [fifo.handle() for fifo in replies],
            "processes": len(self._plans),
            "row": self._plans.index(plan),
        }
        descriptors = [fd for fifo in fifos for fd in fifo.descriptors]
        return handles, [region.fd for region in regions.values()] + descriptors

    def empty_workers(self) -> list[SavedWorker]:
        """Return the state of a worker with empty tables (`save_worker`), for every partition.

        Only the levels of its tables are left of what was played there.
        """
        return [
            SavedWorker(
                tables=TableColumns.of((one, float(self._levels[one])) for one in share.tables),
                games=GameColumns.of(()),
                seats=SeatColumns.of(()),
                waiting=WaitingColumns.of(()),
                idle=list(share.tables),
                fillers=[
                    SavedFiller(SavedPool(list(reversed(slots)), {}), 0, {})
                    for slots in share.slots
                ],
            )
            for share in self.shares
        ]

    def close(self) -> None:
        """Close the descriptors; the system frees the memory when its last user has ended."""
        for region in (*self._regions.values(), *self._reducers.values()):
            region.close()
        for fifo in (*self._requests, *self._replies.values()):
            fifo.close()


class AttachedMemory:
    """The shared memory as another process than the main one sees it.

    regions  by name
    slabs    by role
    row      the process's own row of the board
    counts   [tables] int64, games so far of every table
    levels   [tables] float64, see `Table.levels`
    """

    def __init__(self, blueprint: Blueprint, handles: JsonState) -> None:
        self.regions = {
            name: Region.attach(fd, size) for name, (fd, size) in handles["regions"].items()
        }
        slots = handles["slots"]
        self.slabs = [
            Slab(layout, slots[role], self.regions[f"slab-{role}"])
            for role, layout in enumerate(blueprint.layouts)
        ]
        self.row = ProcessBoard(handles["processes"], self.regions["board"]).row(handles["row"])
        tables, shape = self.regions["tables"], blueprint.tables
        self.counts: NDArray[np.int64] = tables.array(np.int64, shape)
        self.levels: NDArray[np.float64] = tables.array(np.float64, shape, 8 * shape)
        self._forms = handles["forms"]

    def published(self, member: MemberPlace) -> PublishedWeights:
        """Return a member's published learner state; only its own learner may write there."""
        template = {
            key: torch.empty(shape, dtype=getattr(torch, dtype.removeprefix("torch.")))
            for key, shape, dtype in self._forms[member.name]
        }
        return PublishedWeights(template, self.regions[f"weights-{member.name}"], owner=False)


def _form(state: Mapping[str, Tensor]) -> list[list[Any]]:
    """Return names, shapes and dtypes of a learner's state, as a message carries them."""
    return [[key, list(tensor.shape), str(tensor.dtype)] for key, tensor in state.items()]
