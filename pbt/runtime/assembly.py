"""Builds the components of one population from its configuration.

Every placement builds its components with these functions; `assemble` connects all of them in one
process.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import ceil

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from pbt.algorithms.registry import frozen_rule, new_algorithm
from pbt.config.schema import RunConfig
from pbt.envs.contract import EnvSpec
from pbt.hyperparams import initial_hyperparams
from pbt.inference.frozen import FrozenPool, LoadPolicy, LocalPolicyHost
from pbt.inference.policy_server import HostedPolicy, NetworkPolicy, PolicyServer, ScriptedPolicy
from pbt.learning.background_gathering import BatchGatherer
from pbt.learning.learner import Learner
from pbt.matchmaking.planner import TrainingPlanner
from pbt.matchmaking.roster import MemberEntry, Roster
from pbt.models.digests import ActingForms, acting_dtypes, scripted_digest
from pbt.models.policy_model import PolicyModel, build_model
from pbt.models.weights import MODEL_PREFIX, load_model_weights
from pbt.population.certifier import Certifier
from pbt.population.controller import Controller
from pbt.population.interfaces import Matchmaker, MemberLearner, RunSink, SnapshotStore
from pbt.population.members import Member
from pbt.population.pbt_rules import PbtRules
from pbt.records import PlayerRef
from pbt.runtime.blueprint import (
    Blueprint,
    MemberPlace,
    blueprint_of,
    game_maker,
    network_dtype,
    rollout_slots,
    slots_needed,
)
from pbt.runtime.control import Gathered, LearnerAnswer
from pbt.runtime.devices import choose_device
from pbt.runtime.learner_scheduler import LearnerScheduler
from pbt.runtime.local_learner import LocalLearner
from pbt.runtime.placements import Shard
from pbt.sampling.filming import GameObserver
from pbt.sampling.reproductions import Reproductions
from pbt.sampling.rollout_worker import RolloutWorker
from pbt.sampling.slots import Partition
from pbt.seeding import integer
from pbt.transport.memory import Region
from pbt.transport.slab import RoleLayout, Slab
from pbt.transport.staging import CPU
from pbt.transport.weights import PublishedWeights

# --- policies -------------------------------------------------------------------------------------


def policy_loader(blueprint: Blueprint, store: SnapshotStore) -> LoadPolicy:
    """Return the function that loads frozen players: the game's scripted ones, and snapshots."""

    def load(player: PlayerRef, role: int) -> HostedPolicy:
        layout, name = blueprint.layouts[role], player.name
        if player.kind == "scripted":
            random = name == "random"
            act = layout.actions.random_act if random else blueprint.spec.scripted[name]
            return ScriptedPolicy(act, scripted_digest(name))
        model = frozen_model(layout, blueprint.config, store, name)
        return NetworkPolicy(model, f"snapshot {name[:12]}")

    return load


def frozen_model(
    layout: RoleLayout, config: RunConfig, store: SnapshotStore, snapshot_id: str
) -> PolicyModel:
    """Return a model with a snapshot's weights.

    Raises: SnapshotError when they are missing, damaged or of another shape.
    """
    state = store.load(snapshot_id)
    rule = frozen_rule(config, state)
    model = PolicyModel(layout, config.model, network_dtype(config, layout), rule)
    load_model_weights(model, state, f"snapshot {snapshot_id[:12]}")
    model.fix_dtype()
    return model


def acting_model(blueprint: Blueprint, member: MemberPlace) -> PolicyModel:
    """Return a live member's model for acting; its weights come from where they are published."""
    config, dtype = blueprint.config, blueprint.dtypes[member.role]
    rule = new_algorithm(config, member.name).rule(explores=True)
    model = PolicyModel(blueprint.layouts[member.role], config.model, dtype, rule)
    model.fix_dtype()
    return model


def acting_weights(model: PolicyModel) -> dict[str, Tensor]:
    """Return a model's tensors under the names that a learner's state gives them."""
    return {MODEL_PREFIX + name: tensor for name, tensor in model.state_dict().items()}


# --- components -----------------------------------------------------------------------------------


def replay_slots(blueprint: Blueprint, member: MemberPlace) -> int:
    """Return how many slots a member's replay has, 0 where it trains on batches as they come."""
    rules = new_algorithm(blueprint.config, member.name).replay
    return 0 if rules is None else ceil(rules.rows / blueprint.config.sampling.rollout_steps)


def new_replay(
    blueprint: Blueprint, member: MemberPlace, region: Region | None = None
) -> Slab | None:
    """Return the ring of a member that replays. region: its memory, None: private memory."""
    slots = replay_slots(blueprint, member)
    return Slab(blueprint.layouts[member.role], slots, region) if slots else None


def new_learner(
    blueprint: Blueprint,
    member: MemberPlace,
    device: torch.device = CPU,
    replay: Slab | None = None,
) -> Learner:
    """Return a member's learner at frame 0.

    device  where it computes
    replay  of `new_replay`; None also for a learner that is not to train
    """
    config, layout = blueprint.config, blueprint.layouts[member.role]
    algorithm = new_algorithm(config, member.name)
    seed = integer(config.seed, "init", member.name, bits=31)
    dtype, rule = blueprint.dtypes[member.role], algorithm.rule(explores=True)
    model = build_model(layout, config.model, seed, dtype, rule)
    hyperparams = initial_hyperparams(config, member.name, blueprint.reward_terms)
    key = (config.seed, "minibatch", member.name)
    return Learner(
        model.to(device),
        config.learning,
        hyperparams,
        blueprint.reward_terms,
        key=key,
        stop_at_frames=config.stop_at_frames,
        algorithm=algorithm,
        replay=replay,
        delayed=config.hts.gradient == "delayed",
    )


def new_planner(
    blueprint: Blueprint,
    frozen: FrozenPool,
    tables: Sequence[int],
    counts: NDArray[np.int64],
    closing_games: int = 0,
) -> TrainingPlanner:
    """Return a planner for some tables at frame 0.

    counts         [tables] int64, games so far of every table
    closing_games  games of the final evaluation that it may hand out
    """
    config, roster = blueprint.config, new_roster(blueprint)
    known = config, blueprint.facts, roster, frozen, tables, counts, closing_games
    return TrainingPlanner(*known, in_rounds=config.runtime.in_rounds)


def new_roster(blueprint: Blueprint) -> Roster:
    """Return the roster at frame 0, when every member learns."""
    config, roles = blueprint.config, blueprint.roles
    members = (
        MemberEntry(member.name, roles[member.role], member.policy) for member in blueprint.members
    )
    return Roster(tuple(members), config.matchmaking.past_window, config.evaluation.share)


def new_controller(
    blueprint: Blueprint,
    learners: Mapping[str, MemberLearner],
    matchmaker: Matchmaker,
    sink: RunSink,
    store: SnapshotStore,
) -> Controller:
    """Return the controller at frame 0."""
    config = blueprint.config
    alone = len(blueprint.facts.seat_roles) == 1
    rules = PbtRules.from_config(config.pbt, blueprint.objective, alone=alone)
    terms = blueprint.reward_terms
    certifier = Certifier(acting_forms(blueprint), config.learning.reward_scale, sink, store)
    members = [
        Member(name, blueprint.roles[role], policy, initial_hyperparams(config, name, terms).flat())
        for name, role, policy in blueprint.members
    ]
    return Controller(config, rules, members, learners, matchmaker, sink, store, certifier)


def acting_forms(blueprint: Blueprint) -> ActingForms:
    """Return how the networks of every role act."""
    forms = zip(blueprint.roles, blueprint.layouts, blueprint.dtypes, strict=True)
    dtypes = {
        role: acting_dtypes(PolicyModel(layout, blueprint.config.model, dtype))
        for role, layout, dtype in forms
    }
    return ActingForms(blueprint.facts.seat_roles, dtypes)


# --- one process ----------------------------------------------------------------------------------


@dataclass
class Population:
    """Every component of one population in one process."""

    blueprint: Blueprint
    config: RunConfig
    slabs: tuple[Slab, ...]
    server: PolicyServer
    planner: TrainingPlanner
    worker: RolloutWorker
    controller: Controller
    learners: list[LocalLearner]
    scheduler: LearnerScheduler


def assemble(
    config: RunConfig,
    spec: EnvSpec,
    sink: RunSink,
    store: SnapshotStore,
    observer: GameObserver | None = None,
    reproductions: Reproductions | None = None,
) -> Population:
    """Build a population at frame 0 in this process; nothing is written or played yet.

    observer: sees every game, for films. reproductions: keeps games that went wrong.
    """
    torch.set_num_threads(config.runtime.torch_threads)
    blueprint = blueprint_of(config, spec)
    tables, slabs = blueprint.tables, _slabs(blueprint)
    device = choose_device(config.runtime, "inference_device")
    server = PolicyServer(slabs, blueprint.policy_slots, device)
    host = LocalPolicyHost(server, policy_loader(blueprint, store))
    frozen = FrozenPool(host, blueprint.live_slots, blueprint.frozen_slots)
    learners = _learners(blueprint, slabs, server, store, lambda answer: scheduler.hear(answer))
    counts, closing = np.zeros(tables, np.int64), config.evaluation.final_games * len(learners)
    planner = new_planner(blueprint, frozen, range(tables), counts, closing)
    worker = RolloutWorker(
        game_maker(config, spec),
        Partition.whole(tables, [slab.slots for slab in slabs]),
        slabs,
        planner,
        config.seed,
        max_decisions=config.env.max_decisions,
        on_long=lambda text: controller.warn(text),
        observer=observer,
        reproductions=reproductions,
    )
    planner.on_generation = worker.regenerate
    named = {local.name: local for local in learners}
    controller = new_controller(blueprint, named, planner, sink, store)
    scheduler = LearnerScheduler(config, learners, slabs, controller, worker.permit)
    return Population(
        blueprint, config, slabs, server, planner, worker, controller, learners, scheduler
    )


def _slabs(blueprint: Blueprint) -> tuple[Slab, ...]:
    """One slab per role, for all tables of the run."""
    slabs = []
    for role, layout in enumerate(blueprint.layouts):
        seats = blueprint.tables * blueprint.seats_per_role[role]
        members = blueprint.role_members(role)
        needed = (
            rollout_slots(blueprint.config, seats, members)
            if blueprint.config.runtime.in_rounds
            else slots_needed(seats, members, blueprint.batch_slots)
        )
        slabs.append(Slab(layout, needed))
    return tuple(slabs)


def _learners(
    blueprint: Blueprint,
    slabs: Sequence[Slab],
    server: PolicyServer,
    store: SnapshotStore,
    answer: Callable[[LearnerAnswer], None],
) -> list[LocalLearner]:
    """Build every member's learner; the server acts with the weights that it publishes."""
    device = choose_device(blueprint.config.runtime, "learner_device")
    batches = BatchGatherer(
        slabs, device, background=False, on_gathered=lambda member: answer(Gathered(member))
    )
    learners = []
    for member in blueprint.members:
        learner = new_learner(blueprint, member, device, new_replay(blueprint, member))
        published, shard = PublishedWeights(acting_weights(learner.model)), Shard(member.name)
        learners.append(LocalLearner(member, learner, published, batches, store, answer, shard))
        policy = NetworkPolicy(acting_model(blueprint, member), member.name, published)
        server.attach(member.policy, policy)
    return learners
