"""The blueprint of a population: everything that follows from its configuration and its game."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import accumulate, pairwise
from math import ceil
from typing import NamedTuple

import torch

from pbt.algorithms.registry import columns_of
from pbt.config.schema import RunConfig
from pbt.config.semantics import everyone, member_number, member_roles
from pbt.envs.contract import Curricular, EnvSpec, Game, declared_objective, opens_at_random
from pbt.errors import EngineError
from pbt.matchmaking.next_games import GameFacts
from pbt.models.convolutions import decided
from pbt.models.precision import choose_dtype, sees_images
from pbt.objective import ObjectiveKind, chosen_objective
from pbt.runtime.devices import DEVICES, choose_device
from pbt.runtime.pacing import new_pacing, rollout_turns
from pbt.sampling.slots import Partition
from pbt.transport.slab import RoleLayout, role_layout


class MemberPlace(NamedTuple):
    """A member's place in its population.

    role    index of its role
    policy  its index in the policy table
    """

    name: str
    role: int
    policy: int


@dataclass(frozen=True)
class Blueprint:
    """The fixed facts of a population, equal in every process of its run.

    roles           names of the roles
    layouts         of each role's slab
    dtypes          that each role's networks compute with
    seats_per_role  of one game
    tables          games that are played at the same time, in the whole run
    members         in the order of their places in the policy table; a place is not given again
                    when its member leaves
    live_slots      places in the policy table for all members there ever were
    frozen_slots    places behind them, for frozen players
    batch_slots     slots of one batch
    reward_terms    names of the game's reward terms
    facts           what the planner must know of the game
    objective       what results are worth
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
    objective: ObjectiveKind

    @property
    def policy_slots(self) -> int:
        return self.live_slots + self.frozen_slots

    @property
    def sees_images(self) -> bool:
        """Whether a role's networks see images rather than boards or numbers."""
        return any(sees_images(self.config.model, layout.leaves) for layout in self.layouts)

    @property
    def final_games(self) -> int:
        """Games of the final evaluation."""
        return self.config.evaluation.final_games * len(self.members)

    def role_members(self, role: int) -> int:
        """How many members play the role."""
        return sum(member.role == role for member in self.members)

    def partition_slots(self, role: int, seats: int, shares: int) -> int:
        """How many slots a role needs in a partition with so many of its seats, of some."""
        config, members = self.config, self.role_members(role)
        if config.runtime.in_rounds:
            return rollout_slots(config, seats, members)
        return shared_slots(
            seats, members, self.batch_slots, config.runtime.waiting_batches, shares
        )


def blueprint_of(config: RunConfig, spec: EnvSpec) -> Blueprint:
    """Return the blueprint, after making one game to look at.

    Raises: EngineError when sampling.environments is not a number yet.
    """
    tables = config.sampling.environments
    if not isinstance(tables, int):
        raise EngineError(
            f'sampling.environments = "{tables}" must be resolved to a number before '
            "anything is built"
        )
    game = game_maker(config, spec)()
    layouts = game_layouts(game, config)
    config = config.model_copy(update={"model": decided(config.model, layouts)})
    roles = tuple(role.name for role in game.roles)
    members = tuple(
        MemberPlace(name, roles.index(role), member_number(name))
        for name, role in member_roles(config, roles).items()
    )
    live_slots = 1 + max(map(member_number, everyone(config, roles)))
    seats = tuple(game.seat_roles.count(role) for role in range(len(roles)))
    objective = game_objective(config, spec, game)
    facts = _game_facts(spec, game, roles, objective)
    game.close()
    return Blueprint(
        config,
        spec,
        roles,
        layouts,
        dtypes=tuple(network_dtype(config, layout) for layout in layouts),
        seats_per_role=seats,
        tables=tables,
        members=members,
        live_slots=live_slots,
        frozen_slots=_frozen_slots(config, spec, len(members), len(roles)),
        batch_slots=config.learning.batch_steps // config.sampling.rollout_steps,
        reward_terms=game.reward_terms,
        facts=facts,
        objective=objective,
    )


def game_objective(config: RunConfig, spec: EnvSpec, game: Game) -> ObjectiveKind:
    """Return the config's objective, or the one that a config without any has."""
    declared = declared_objective(spec, game)
    return chosen_objective(config.env.objective, declared, len(game.seat_roles))


def _game_facts(
    spec: EnvSpec, game: Game, roles: tuple[str, ...], objective: ObjectiveKind
) -> GameFacts:
    return GameFacts(
        tuple(roles[role] for role in game.seat_roles),
        {name: index for index, name in enumerate(roles)},
        opens_at_random(spec, game),
        tuple(spec.scripted),
        objective == "return" and len(roles) == 1 and len(game.seat_roles) > 1,
        isinstance(game, Curricular) and game.follows_results,
    )


def _frozen_slots(config: RunConfig, spec: EnvSpec, members: int, roles: int) -> int:
    """How many frozen players can be loaded at the same time in one process."""
    resident = config.matchmaking.resident
    # At most these can be seated: two snapshots per member in training-time games between frozen
    # players, the window of past opponents, and the scripted players.
    most = 2 * members + roles * (config.matchmaking.past_window + len(spec.scripted) + 1) + 8
    return most if resident == "auto" else min(resident, most)


def game_maker(config: RunConfig, spec: EnvSpec) -> Callable[[], Game]:
    options = config.env.game_options
    return lambda: spec.make(**options)


def game_layouts(game: Game, config: RunConfig) -> tuple[RoleLayout, ...]:
    """Return one slab layout per role."""
    steps, state_size = config.sampling.rollout_steps, config.model.state_size
    acted, rounds = columns_of(config), config.runtime.in_rounds
    return tuple(
        role_layout(role, game.reward_terms, steps, state_size, acted, rounds=rounds)
        for role in game.roles
    )


def network_dtype(config: RunConfig, layout: RoleLayout) -> torch.dtype:
    """Return the number format in which a role's networks compute.

    It is the same for acting and learning, because the loss takes the ratio of the probabilities
    that both sides computed.
    """
    devices = [choose_device(config.runtime, setting) for setting in DEVICES]
    return choose_dtype(config.runtime.precision, config.model, layout.leaves, devices)


def slots_needed(seats: int, members: int, batch_slots: int) -> int:
    """Return how many slots a role needs where complete batches are taken before slots run out.

    They are enough for every live and frozen seat, all PARKED slots of every member, a waiting
    batch per member and one wave of full slots.
    """
    return seats * (members + 2) + members * batch_slots


def shared_slots(
    seats: int, members: int, batch_slots: int, waiting_batches: int, shares: int
) -> int:
    """Return how many slots a role needs in one of several partitions.

    A partition pauses by itself while it lacks free slots for a turn (`RolloutWorker.can_turn`).
    Not all partitions may pause while no batch is complete. Then at most
    members * (batch_slots - 1) slots are FULL, so some partition holds no more than its part of
    them. Besides its OPEN and PARKED slots (one more per member where a checkpoint was spread
    unevenly) it then has the two waves of slots that a turn needs.

    waiting_batches: room for this many batches per member, so that workers need not wait while a
    learner is busy.
    """
    return seats * (members + 3) + members * (ceil(batch_slots * waiting_batches / shares) + 1)


def rollout_slots(config: RunConfig, seats: int, members: int) -> int:
    """Return how many slots a role needs in a partition whose tables play in rollouts.

    In a rollout a seat takes at most so many rows as there are turns, each perhaps with one behind
    it that ends an episode. It fills slots with them, and leaves one PARKED for each member that it
    sat for. All are handed over at the end. While a rollout is trained, an overlapping one is
    played. Fresh slots for the next one, and the two waves that a turn needs, come on top.
    """
    turns = rollout_turns(config)
    filled = 1 + min(members, turns) + ceil(2 * turns / config.sampling.rollout_steps)
    return seats * ((1 + new_pacing(config).overlaps) * filled + 3)


def usual_slots(seats: int, members: int, batch_slots: int, shares: int) -> int:
    """Return how many slots of a partition a run uses in its usual course.

    These are the OPEN ones, as many PARKED, a nearly complete batch per member, and one batch that
    is being trained on.
    """
    return 2 * seats + (members + 1) * ceil(batch_slots / shares)


def equal_shares(blueprint: Blueprint, shares: int) -> list[Partition]:
    """Divide the tables and their slots into partitions of nearly equal size.

    shares: how many partitions. Neighbouring tables stay together, and so do the tables of a block,
    which draw their players together. Raises: EngineError when a partition would have no table.
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
            f"{blueprint.tables} tables in blocks of {block} for {shares} partitions: some would "
            "be empty; raise sampling.environments"
        )
    slots = []
    for role, seats in enumerate(blueprint.seats_per_role):
        counts = [blueprint.partition_slots(role, len(own) * seats, shares) for own in tables]
        starts = accumulate(counts, initial=0)
        slots.append([range(start, stop) for start, stop in pairwise(starts)])
    of_shares = zip(tables, zip(*slots, strict=True), strict=True)
    return [Partition(own, ranges) for own, ranges in of_shares]
