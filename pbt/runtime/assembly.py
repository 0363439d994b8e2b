"""From a configuration to the components of one population, connected but placed nowhere yet. Every placement builds its own with the same pieces."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import ceil
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from pbt.config.schema import RunConfig
from pbt.config.semantics import everyone, member_number, member_roles
from pbt.envs.contract import EnvSpec, Game, opens_at_random
from pbt.envs.scripted import random_act
from pbt.errors import EngineError
from pbt.hyperparams import initial_hyperparams
from pbt.inference.frozen import FrozenPool, LoadPolicy, LocalHost
from pbt.inference.policy_server import HostedPolicy, NetworkPolicy, PolicyServer, ScriptedPolicy
from pbt.learning.batcher import Batcher
from pbt.learning.learner import Learner
from pbt.matchmaking.planner import Entrant, GameFacts, TrainingPlanner
from pbt.matchmaking.seats import MemberEntry
from pbt.models.policy_model import PolicyModel, build_model
from pbt.models.precision import choose_dtype
from pbt.models.weights import MODEL_PREFIX, load_model_weights
from pbt.population.controller import Controller
from pbt.population.decide import PbtRules
from pbt.population.members import Member
from pbt.population.ports import Matchmaker, MemberLearner, RunSink, SnapshotStore
from pbt.records import PlayerRef
from pbt.runtime.devices import choose_device
from pbt.sampling.recording import Onlooker
from pbt.sampling.rollout_worker import RolloutWorker
from pbt.sampling.slots import Share
from pbt.seeding import integer
from pbt.transport.slab import RoleLayout, Slab, role_layout
from pbt.transport.weights import PublishedWeights


class MemberPlace(NamedTuple):
    """role: index of its role;  policy: its place in the policy table."""

    name: str
    role: int
    policy: int


@dataclass(frozen=True)
class Blueprint:
    """Everything about a population that follows from its configuration and its game: equal in every process of the run.

    roles         their names;  layouts: of their slabs;  dtypes: that their networks compute with;  seats_per_role: of one game
    tables        games played at the same time, in the whole run
    members       in the order of their places in the policy table, which nobody else gets when they leave
    live_slots    places for all members there ever were;  behind them stand `frozen_slots` places for frozen players
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


def facts_of(config: RunConfig, spec: EnvSpec) -> Blueprint:
    """Makes one game to look at. Raises: EngineError when sampling.environments is still to be chosen."""
    tables = config.sampling.environments
    if not isinstance(tables, int):
        raise EngineError(f'sampling.environments = "{tables}" must be resolved to a number before anything is built')
    game = game_maker(config, spec)()
    layouts = game_layouts(game, config)
    roles = tuple(role.name for role in game.roles)
    members = tuple(MemberPlace(name, roles.index(role), member_number(name)) for name, role in member_roles(config, roles).items())
    live_slots = 1 + max(map(member_number, everyone(config, roles)))
    resident = config.matchmaking.resident
    # There are at most: two snapshots per member in evaluation, the window of past opponents, the scripted players.
    all_there_are = 2 * len(members) + len(layouts) * (config.matchmaking.past_window + len(spec.scripted) + 1) + 8
    frozen_slots = all_there_are if resident == "auto" else min(resident, all_there_are)
    seat_roles = tuple(roles[role] for role in game.seat_roles)
    facts = GameFacts(seat_roles, {name: index for index, name in enumerate(roles)}, opens_at_random(spec, game), tuple(spec.scripted))
    seats = tuple(game.seat_roles.count(role) for role in range(len(roles)))
    batch_slots = config.learning.batch_steps // config.sampling.rollout_steps
    terms = game.reward_terms
    game.close()
    dtypes = tuple(network_dtype(config, layout) for layout in layouts)
    return Blueprint(config, spec, roles, layouts, dtypes, seats, tables, members, live_slots, frozen_slots, batch_slots, terms, facts)


def game_maker(config: RunConfig, spec: EnvSpec) -> Callable[[], Game]:
    options = dict(config.env.options)
    return lambda: spec.make(**options)


def game_layouts(game: Game, config: RunConfig) -> tuple[RoleLayout, ...]:
    """One slab layout per role."""
    state_size = config.model.gru_size if config.model.core == "gru" else 0
    return tuple(role_layout(role, game.reward_terms, config.sampling.rollout_steps, state_size) for role in game.roles)


def network_dtype(config: RunConfig, layout: RoleLayout) -> torch.dtype:
    """Of a role's networks, the same wherever one acts or learns: the ratio of both sides' probabilities is taken."""
    runtime = config.runtime
    devices = (choose_device(runtime.inference_device, "runtime.inference_device"), choose_device(runtime.learner_device, "runtime.learner_device"))
    return choose_dtype(runtime.precision, config.model, layout.leaves, devices)


# --- slots -----------------------------------------------------------------------------------------------------------------------------------


def slots_needed(seats: int, members: int, batch_slots: int) -> int:
    """Of a role whose batches are taken as soon as they are complete, between two turns.

    Enough for every live and frozen seat, all PARKED slots of every member, a waiting batch per member and one wave of full slots.
    """
    return seats * (members + 2) + members * batch_slots


def shared_slots(seats: int, members: int, batch_slots: int, waiting_batches: int, shares: int) -> int:
    """Of a role in one of several shares, each of which stands still by itself while it cannot turn (`RolloutWorker.can_turn`).

    Enough that not all shares can stand still while no batch is complete: then members * (batch_slots - 1) slots are FULL at most, so some share
    holds no more than its part of them; its OPEN and PARKED slots, one more per member where a checkpoint was spread unevenly, leave it its two
    waves. waiting_batches: room for so many per member, so that workers need not wait for a learner that is busy.
    """
    return seats * (members + 3) + members * (ceil(batch_slots * waiting_batches / shares) + 1)


def usual_slots(seats: int, members: int, batch_slots: int, shares: int) -> int:
    """How many of those a run comes to use by and by: OPEN, as many PARKED, a batch per member that is nearly FULL, and one that is learned from."""
    return 2 * seats + (members + 1) * ceil(batch_slots / shares)


def equal_shares(blueprint: Blueprint, shares: int) -> list[Share]:
    """Neighbouring tables and their slots in so many shares of nearly equal size; tables that draw their players together stay together."""
    block = blueprint.config.sampling.seat_block
    blocks = [range(start, min(start + block, blueprint.tables)) for start in range(0, blueprint.tables, block)]
    edges = [len(blocks) * share // shares for share in range(shares + 1)]
    tables = [tuple(table for part in blocks[start:stop] for table in part) for start, stop in pairwise(edges)]
    if not all(tables):
        raise EngineError(f"{blueprint.tables} tables in blocks of {block} for {shares} shares: some would be empty; raise sampling.environments")
    waiting = blueprint.config.runtime.waiting_batches
    starts, parts = [0] * len(blueprint.roles), []
    for own in tables:
        slots = []
        for role, seats in enumerate(blueprint.seats_per_role):
            count = shared_slots(len(own) * seats, blueprint.role_members(role), blueprint.batch_slots, waiting, shares)
            slots.append(range(starts[role], starts[role] + count))
            starts[role] += count
        parts.append(Share(own, tuple(slots)))
    return parts


# --- policies --------------------------------------------------------------------------------------------------------------------------------


def policy_loader(spec: EnvSpec, layouts: Sequence[RoleLayout], config: RunConfig, store: SnapshotStore) -> LoadPolicy:
    """Frozen players by reference: scripted ones from the game, snapshots from the store."""

    def load(player: PlayerRef, role: int) -> HostedPolicy:
        if player.kind == "scripted":
            return ScriptedPolicy(random_act(layouts[role].head_sizes) if player.name == "random" else spec.scripted[player.name])
        return NetworkPolicy(frozen_model(layouts[role], config, store, player.name))

    return load


def frozen_model(layout: RoleLayout, config: RunConfig, store: SnapshotStore, snapshot_id: str) -> PolicyModel:
    """A model with a snapshot's weights. Raises: SnapshotError when they are missing, damaged or of another shape."""
    model = PolicyModel(layout, config.model, network_dtype(config, layout))
    load_model_weights(model, store.load(snapshot_id), f"snapshot {snapshot_id[:12]}")
    model.fix_dtype()
    return model


def acting_model(blueprint: Blueprint, member: MemberPlace) -> PolicyModel:
    """A live member's model on the acting side; its weights come from where they are published."""
    model = PolicyModel(blueprint.layouts[member.role], blueprint.config.model, blueprint.dtypes[member.role])
    model.fix_dtype()
    return model


def acting_weights(model: PolicyModel) -> dict[str, Tensor]:
    """What acts of a learner's state, under the names it has there."""
    return {MODEL_PREFIX + name: tensor for name, tensor in model.state_dict().items()}


# --- components ------------------------------------------------------------------------------------------------------------------------------


def new_learner(blueprint: Blueprint, member: MemberPlace, device: torch.device | None = None) -> Learner:
    """A member's learner at frame 0. device: where it computes, the CPU unless given."""
    config = blueprint.config
    seed = integer(config.seed, "init", member.name, bits=31)
    model = build_model(blueprint.layouts[member.role], config.model, seed, blueprint.dtypes[member.role])
    hyperparams = initial_hyperparams(config, member.name, blueprint.reward_terms)
    key = (config.seed, "minibatch", member.name)
    model = model if device is None else model.to(device)
    return Learner(model, config.learning, hyperparams, blueprint.reward_terms, key=key, stop_at_frames=config.stop_at_frames)


def new_planner(
    blueprint: Blueprint, frozen: FrozenPool, tables: Sequence[int], counts: NDArray[np.int64], closing_games: int = 0
) -> TrainingPlanner:
    """A planner for some tables, at frame 0: everybody learns."""
    entrants = [Entrant(MemberEntry(member.name, blueprint.roles[member.role], True), member.policy) for member in blueprint.members]
    return TrainingPlanner(blueprint.config, blueprint.facts, entrants, frozen, tables, counts, closing_games)


def new_controller(
    blueprint: Blueprint, learners: Mapping[str, MemberLearner], matchmaker: Matchmaker, sink: RunSink, store: SnapshotStore
) -> Controller:
    """The controller at frame 0."""
    config = blueprint.config
    rules = PbtRules.from_config(config.pbt, "wins" if len(blueprint.facts.seat_roles) > 1 else "return")
    members = [
        Member(name, blueprint.roles[role], policy, initial_hyperparams(config, name, blueprint.reward_terms).flat())
        for name, role, policy in blueprint.members
    ]
    return Controller(config, rules, members, learners, matchmaker, sink, store)


# --- one process -----------------------------------------------------------------------------------------------------------------------------


@dataclass
class Trainee:
    """A member's learning side: its learner, the queue before it, the weights it publishes."""

    name: str
    role: int
    policy: int
    learner: Learner
    batcher: Batcher
    published: PublishedWeights

    def publish(self) -> None:
        """From now on it acts as it has learned."""
        self.published.publish(acting_weights(self.learner.model), self.learner.version)


@dataclass
class Population:
    """Every component of one population in one process."""

    blueprint: Blueprint
    config: RunConfig
    spec: EnvSpec
    layouts: tuple[RoleLayout, ...]
    slabs: tuple[Slab, ...]
    server: PolicyServer
    planner: TrainingPlanner
    worker: RolloutWorker
    controller: Controller
    trainees: list[Trainee]


def assemble(config: RunConfig, spec: EnvSpec, sink: RunSink, store: SnapshotStore, onlooker: Onlooker | None = None) -> Population:
    """Build a population at frame 0 in this process. Nothing is written or played yet. onlooker: of its games."""
    torch.set_num_threads(config.runtime.torch_threads)
    blueprint = facts_of(config, spec)
    tables, layouts = blueprint.tables, blueprint.layouts
    slabs = tuple(
        Slab(layout, slots_needed(tables * blueprint.seats_per_role[role], blueprint.role_members(role), blueprint.batch_slots))
        for role, layout in enumerate(layouts)
    )
    server = PolicyServer(slabs, blueprint.policy_slots, choose_device(config.runtime.inference_device, "runtime.inference_device"))
    frozen = FrozenPool(LocalHost(server, policy_loader(spec, layouts, config, store)), blueprint.live_slots, blueprint.frozen_slots)
    trainees = [_trainee(blueprint, member, slabs[member.role]) for member in blueprint.members]
    for member, trainee in zip(blueprint.members, trainees, strict=True):
        server.attach(member.policy, NetworkPolicy(acting_model(blueprint, member), trainee.published))
    closing_games = config.evaluation.final_games * len(trainees)
    planner = new_planner(blueprint, frozen, range(tables), np.zeros(tables, np.int64), closing_games)
    share = Share.whole(tables, [slab.slots for slab in slabs])
    worker = RolloutWorker(
        game_maker(config, spec), share, slabs, planner, config.seed, max_decisions=config.env.max_decisions, onlooker=onlooker
    )  # fmt: skip
    controller = new_controller(blueprint, {trainee.name: trainee.learner for trainee in trainees}, planner, sink, store)
    return Population(blueprint, config, spec, layouts, slabs, server, planner, worker, controller, trainees)


def _trainee(blueprint: Blueprint, member: MemberPlace, slab: Slab) -> Trainee:
    learner = new_learner(blueprint, member, choose_device(blueprint.config.runtime.learner_device, "runtime.learner_device"))
    batcher = Batcher(slab, member.role, blueprint.batch_slots)
    return Trainee(member.name, member.role, member.policy, learner, batcher, PublishedWeights(acting_weights(learner.model)))
