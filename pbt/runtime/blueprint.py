"""The blueprint of a population: all that follows from its configuration and its game."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from math import ceil
from typing import NamedTuple

import torch

from pbt.config.schema import RunConfig
from pbt.config.semantics import everyone, member_number, member_roles
from pbt.envs.contract import EnvSpec, Game, opens_at_random
from pbt.errors import EngineError
from pbt.matchmaking.planner import GameFacts
from pbt.models.precision import choose_dtype
from pbt.runtime.devices import choose_device
from pbt.sampling.slots import Partition
from pbt.transport.slab import RoleLayout, role_layout


class MemberPlace(NamedTuple):
    """role: index of its role;  policy: its place in the policy table."""

    name: str
    role: int
    policy: int


@dataclass(frozen=True)
class Blueprint:
    """Everything about a population that follows from its configuration and its game: equal in
    every process of the run.

    roles         their names;  layouts: of their slabs;  dtypes: that their networks compute with;
                  seats_per_role: of one game
    tables        games played at the same time, in the whole run
    members       in the order of their places in the policy table, which nobody else gets when they
                  leave
    live_slots    places for all members there ever were;  behind them stand `frozen_slots` places
                  for frozen players
    batch_slots   slots of one batch
    reward_terms  the game's
    """

    config: RunConfig
    spec: EnvSpec
    roles: tuple[str, ...]
    layouts: tuple[RoleLayout, ...]
    dtypes: tuple[torch.dtype, ...]
    seats_per_role: tuple[int, ...]
    tables: int
    members: tuple[MemberPlace, ...]
    live_slots: int
    frozen_slots: int
    batch_slots: int
    reward_terms: tuple[str, ...]
    facts: GameFacts

    @property
    def policy_slots(self) -> int:
        return self.live_slots + self.frozen_slots

    def role_members(self, role: int) -> int:
        """How many members play it."""
        return sum(member.role == role for member in self.members)


def blueprint_of(config: RunConfig, spec: EnvSpec) -> Blueprint:
    """Makes one game to look at. Raises: EngineError when sampling.environments is still to be
    chosen.
    """
    tables = config.sampling.environments
    if not isinstance(tables, int):
        raise EngineError(
            f'sampling.environments = "{tables}" must be resolved to a number before '
            "anything is built"
        )
    game = game_maker(config, spec)()
    layouts = game_layouts(game, config)
    roles = tuple(role.name for role in game.roles)
    members = tuple(
        MemberPlace(name, roles.index(role), member_number(name))
        for name, role in member_roles(config, roles).items()
    )
    live_slots = 1 + max(map(member_number, everyone(config, roles)))
    resident = config.matchmaking.resident
    # There are at most: two snapshots per member in evaluation, the window of past opponents, the
    # scripted players.
    all_there_are = (
        2 * len(members)
        + len(layouts) * (config.matchmaking.past_window + len(spec.scripted) + 1)
        + 8
    )
    frozen_slots = all_there_are if resident == "auto" else min(resident, all_there_are)
    seat_roles = tuple(roles[role] for role in game.seat_roles)
    facts = GameFacts(
        seat_roles,
        {name: index for index, name in enumerate(roles)},
        opens_at_random(spec, game),
        tuple(spec.scripted),
    )
    seats = tuple(game.seat_roles.count(role) for role in range(len(roles)))
    batch_slots = config.learning.batch_steps // config.sampling.rollout_steps
    terms = game.reward_terms
    game.close()
    dtypes = tuple(network_dtype(config, layout) for layout in layouts)
    return Blueprint(
        config,
        spec,
        roles,
        layouts,
        dtypes,
        seats,
        tables,
        members,
        live_slots,
        frozen_slots,
        batch_slots,
        terms,
        facts,
    )


def game_maker(config: RunConfig, spec: EnvSpec) -> Callable[[], Game]:
    options = dict(config.env.options)
    return lambda: spec.make(**options)


def game_layouts(game: Game, config: RunConfig) -> tuple[RoleLayout, ...]:
    """One slab layout per role."""
    state_size = config.model.gru_size if config.model.core == "gru" else 0
    return tuple(
        role_layout(role, game.reward_terms, config.sampling.rollout_steps, state_size)
        for role in game.roles
    )


def network_dtype(config: RunConfig, layout: RoleLayout) -> torch.dtype:
    """Of a role's networks, the same wherever one acts or learns: the ratio of both sides'
    probabilities is taken.
    """
    runtime = config.runtime
    devices = (
        choose_device(runtime.inference_device, "runtime.inference_device"),
        choose_device(runtime.learner_device, "runtime.learner_device"),
    )
    return choose_dtype(runtime.precision, config.model, layout.leaves, devices)


def slots_needed(seats: int, members: int, batch_slots: int) -> int:
    """Of a role whose batches are taken as soon as they are complete, between two turns.

    Enough for every live and frozen seat, all PARKED slots of every member, a waiting batch per
    member and one wave of full slots.
    """
    return seats * (members + 2) + members * batch_slots


def shared_slots(
    seats: int, members: int, batch_slots: int, waiting_batches: int, shares: int
) -> int:
    """Of a role in one of several shares, each of which stands still by itself while it cannot turn
    (`RolloutWorker.can_turn`).

    Enough that not all shares can stand still while no batch is complete: then members *
    (batch_slots - 1) slots are FULL at most, so some share holds no more than its part of them; its
    OPEN and PARKED slots, one more per member where a checkpoint was spread unevenly, leave it its
    two waves. waiting_batches: room for so many per member, so that workers need not wait for a
    learner that is busy.
    """
    return seats * (members + 3) + members * (ceil(batch_slots * waiting_batches / shares) + 1)


def usual_slots(seats: int, members: int, batch_slots: int, shares: int) -> int:
    """How many of those a run comes to use by and by: OPEN, as many PARKED, a batch per member
    that is nearly FULL, and one that is learned from.
    """
    return 2 * seats + (members + 1) * ceil(batch_slots / shares)


def equal_shares(blueprint: Blueprint, shares: int) -> list[Partition]:
    """Neighbouring tables and their slots in so many shares of nearly equal size; tables that
    draw their players together stay together.
    """
    block = blueprint.config.sampling.seat_block
    blocks = [
        range(start, min(start + block, blueprint.tables))
        for start in range(0, blueprint.tables, block)
    ]
    edges = [len(blocks) * share // shares for share in range(shares + 1)]
    tables = [
        tuple(table for part in blocks[start:stop] for table in part)
        for start, stop in pairwise(edges)
    ]
    if not all(tables):
        raise EngineError(
            f"{blueprint.tables} tables in blocks of {block} for {shares} shares: some would "
            "be empty; raise sampling.environments"
        )
    waiting = blueprint.config.runtime.waiting_batches
    starts, parts = [0] * len(blueprint.roles), []
    for own in tables:
        slots = []
        for role, seats in enumerate(blueprint.seats_per_role):
            count = shared_slots(
                len(own) * seats,
                blueprint.role_members(role),
                blueprint.batch_slots,
                waiting,
                shares,
            )
            slots.append(range(starts[role], starts[role] + count))
            starts[role] += count
        parts.append(Partition(own, tuple(slots)))
    return parts
