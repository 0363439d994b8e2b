"""A slab holds the shared tensors of one role; `slab_table` lists them all.

A slot is one index of the first axis: T rows of one agent's experience and a bootstrap row
(docs/slots.md). Messages carry slot numbers, never observations. A slot is filled with poison
(recognisable values) when it is opened, so a row that is read too early stands out.
"""

import math
import mmap
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from pbt.envs.actions import ActionSpec
from pbt.envs.contract import Game, Role
from pbt.envs.spaces import Leaf, ObservationCodec
from pbt.transport.memory import Region, aligned

Rows = Literal["T", "T+1", "slot"]


@dataclass(frozen=True)
class Column:
    """One shared tensor, [slots, rows, *shape].

    rows    "T", "T+1", or "slot" for a tensor without an axis of rows: [slots, *shape]
    writer  the kind of process that writes it
    poison  its value where nothing was written
    """

    name: str
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    rows: Rows
    writer: Literal["worker", "policy server"]
    poison: float


@dataclass(frozen=True)
class RoleLayout:
    """What a slab of one role must hold.

    role           the role as the game declares it
    leaves         the arrays of an observation
    actions        what an action is
    reward_terms   names of the reward terms
    rollout_steps  T
    state_size     width of the recurrent state, 0 without memory
    acted          what acting writes for the algorithm, besides actions, version and policy; empty
                   where nothing is learned
    rounds         rows say in which round they were acted (`ROUND`)
    """

    role: Role
    leaves: tuple[Leaf, ...]
    actions: ActionSpec
    reward_terms: tuple[str, ...]
    rollout_steps: int
    state_size: int
    acted: tuple[Column, ...] = ()
    rounds: bool = False


def role_layout(
    role: Role,
    reward_terms: tuple[str, ...],
    rollout_steps: int,
    state_size: int,
    acted: tuple[Column, ...] = (),
    *,
    rounds: bool = False,
) -> RoleLayout:
    return RoleLayout(
        role,
        ObservationCodec(role.observation_space).leaves,
        ActionSpec.of(role.action_space),
        reward_terms,
        rollout_steps,
        state_size,
        acted,
        rounds,
    )


def seen_layouts(game: Game) -> tuple[RoleLayout, ...]:
    """What every role sees and does, for those who need no slab."""
    return tuple(role_layout(role, game.reward_terms, 1, 0) for role in game.roles)


OBSERVATION_PREFIX = "obs/"
ROUND = "round"
F32, I32, U64, BOOL = (np.dtype(t) for t in (np.float32, np.int32, np.uint64, np.bool_))


def slab_table(layout: RoleLayout) -> tuple[Column, ...]:
    """Every column of a role's slab."""
    observations = (
        Column(
            OBSERVATION_PREFIX + leaf.name,
            leaf.shape,
            leaf.dtype,
            "T+1",
            "worker",
            np.nan if leaf.dtype.kind == "f" else 113,
        )
        for leaf in layout.leaves
    )
    return (
        *observations,
        Column("mask", (layout.actions.mask_size,), BOOL, "T+1", "worker", 1),
        # Row t starts an episode: the recurrent state is cleared before it is used.
        Column("episode_start", (), BOOL, "T+1", "worker", 1),
        # False: a row that only carries the final observation of a truncated episode.
        Column("valid", (), BOOL, "T", "worker", 0),
        Column("rewards", (len(layout.reward_terms),), F32, "T", "worker", np.nan),
        Column("terminated", (), BOOL, "T", "worker", 0),
        Column("truncated", (), BOOL, "T", "worker", 0),
        Column("tics", (), I32, "T", "worker", -1),
        # Where the row comes from: table, game count, seat, step within the game.
        Column("origin", (4,), I32, "T", "worker", -1),
        _actions(layout.actions),
        *layout.acted,
        Column("version", (), I32, "T", "policy server", -1),
        Column("policy", (), I32, "T", "policy server", -1),
        # Learning phases that were over when the row was acted on (`pbt.runtime.pacing`).
        *([Column(ROUND, (), I32, "T", "worker", -1)] if layout.rounds else []),
        # The recurrent state before row 0, from which the learner starts, and the live state after
        # the newest row.
        Column("initial_state", (layout.state_size,), F32, "slot", "worker", np.nan),
        Column("live_state", (layout.state_size,), F32, "slot", "policy server", 0.0),
    )


def _actions(spec: ActionSpec) -> Column:
    poison = np.nan if spec.dtype.kind == "f" else -1
    return Column("actions", (spec.width,), spec.dtype, "T", "policy server", poison)


def column_shape(layout: RoleLayout, column: Column, slots: int) -> tuple[int, ...]:
    """Shape of one column of a slab of `slots` slots."""
    rows = {"T": (layout.rollout_steps,), "T+1": (layout.rollout_steps + 1,), "slot": ()}[
        column.rows
    ]
    return (slots, *rows, *column.shape)


def column_offsets(layout: RoleLayout, slots: int) -> tuple[dict[str, int], int]:
    """(byte offset of every column in shared memory, bytes of the whole slab).

    Columns start at cache lines.
    """
    offsets, end = {}, 0
    for column in slab_table(layout):
        offsets[column.name] = aligned(end)
        end = (
            offsets[column.name]
            + math.prod(column_shape(layout, column, slots)) * column.dtype.itemsize
        )
    return offsets, aligned(end)


def slab_bytes(layout: RoleLayout, slots: int) -> int:
    """Size in bytes of the region that a slab needs."""
    return column_offsets(layout, slots)[1]


def flat_rows(column: NDArray[Any]) -> NDArray[Any]:
    """A column of rows, [slots, rows, *shape], as [slots * rows, *shape], also of no entries."""
    slots, rows, *shape = column.shape
    return column.reshape(slots * rows, *shape)


class Slab:
    """The tensors of one role. `column[name]` is a numpy array over private or shared memory.

    Private memory is poisoned at birth. Shared memory is left untouched: unused slots cost nothing,
    and a process that attaches destroys nothing. `RowWriter.open` poisons each slot that it opens.
    """

    def __init__(self, layout: RoleLayout, slots: int, region: Region | None = None) -> None:
        self.layout = layout
        self.slots = slots
        self.table = slab_table(layout)
        self.region = region
        if region is None:
            self.column: dict[str, NDArray[Any]] = {
                c.name: np.full(column_shape(layout, c, slots), c.poison, dtype=c.dtype)
                for c in self.table
            }
        else:
            offsets, _ = column_offsets(layout, slots)
            self.column = {
                c.name: region.array(c.dtype, column_shape(layout, c, slots), offsets[c.name])
                for c in self.table
            }

    @property
    def nbytes(self) -> int:
        return sum(array.nbytes for array in self.column.values())

    def populate(self, slots: range) -> None:
        """Make the system allocate the shared memory of these slots now, not at their first use.

        Contents stay.
        """
        for column in self.column.values():
            # Reading one byte of a page allocates it.
            column[slots.start : slots.stop].reshape(-1).view(np.uint8)[:: mmap.PAGESIZE].sum()

    def poison(self, slots: NDArray[np.int64]) -> None:
        """Mark everything in slots as unwritten."""
        for column in self.table:
            self.column[column.name][slots] = column.poison
