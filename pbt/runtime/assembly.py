"""From a configuration to the components of one population, connected but placed nowhere yet."""

from collections.abc import Callable
from dataclasses import dataclass

import torch

from pbt.config.schema import RunConfig
from pbt.config.semantics import member_roles
from pbt.envs.contract import EnvSpec, Game
from pbt.envs.scripted import random_act
from pbt.hyperparams import initial_hyperparams
from pbt.learning.batcher import Batcher
from pbt.learning.learner import Learner
from pbt.models.policy_model import PolicyModel, build_model
from pbt.models.weights import load_model_weights
from pbt.population.controller import Controller
from pbt.population.decide import PbtRules
from pbt.population.members import Member
from pbt.population.ports import RunSink, SnapshotStore
from pbt.records import PlayerRef
from pbt.sampling.frozen import FrozenPool
from pbt.sampling.matchmaking import MemberEntry
from pbt.sampling.planner import Entrant, GameFacts, TrainingPlanner
from pbt.sampling.policy_server import HostedPolicy, NetworkPolicy, PolicyServer, ScriptedPolicy
from pbt.sampling.rollout_worker import RolloutWorker
from pbt.seeding import integer
from pbt.transport.slab import RoleLayout, Slab, role_layout
from pbt.transport.weights import PublishedWeights


@dataclass
class Trainee:
    """A member's learning side: its learner, the queue before it, the weights it publishes."""

    name: str
    role: int
    learner: Learner
    batcher: Batcher
    published: PublishedWeights


@dataclass
class Population:
    """Every component of one population."""

    config: RunConfig
    spec: EnvSpec
    layouts: tuple[RoleLayout, ...]
    slabs: tuple[Slab, ...]
    server: PolicyServer
    planner: TrainingPlanner
    worker: RolloutWorker
    controller: Controller
    trainees: list[Trainee]


def game_maker(config: RunConfig, spec: EnvSpec) -> Callable[[], Game]:
    options = dict(config.env.options)
    return lambda: spec.make(**options)


def game_layouts(game: Game, config: RunConfig) -> tuple[RoleLayout, ...]:
    """One slab layout per role."""
    state_size = config.model.gru_size if config.model.core == "gru" else 0
    return tuple(role_layout(role, game.reward_terms, config.sampling.rollout_steps, state_size) for role in game.roles)


def policy_loader(
    spec: EnvSpec, layouts: tuple[RoleLayout, ...], config: RunConfig, store: SnapshotStore
) -> Callable[[PlayerRef, int], HostedPolicy]:
    """Frozen players by reference: scripted ones from the game, snapshots from the store."""

    def load(player: PlayerRef, role: int) -> HostedPolicy:
        if player.kind == "scripted":
            return ScriptedPolicy(random_act(layouts[role].head_sizes) if player.name == "random" else spec.scripted[player.name])
        return NetworkPolicy(frozen_model(layouts[role], config, store, player.name))

    return load


def frozen_model(layout: RoleLayout, config: RunConfig, store: SnapshotStore, snapshot_id: str) -> PolicyModel:
    """A model with a snapshot's weights. Raises: SnapshotError when they are missing, damaged or of another shape."""
    model = build_model(layout, config.model, seed=0)
    load_model_weights(model, store.load(snapshot_id), f"snapshot {snapshot_id[:12]}")
    return model


def slots_needed(seats: int, members: int, batch_slots: int) -> int:
    """Enough for every live and frozen seat, all PARKED slots of every member, a waiting batch per member and one wave of full slots."""
    return seats * (members + 2) + members * batch_slots


def assemble(config: RunConfig, spec: EnvSpec, sink: RunSink, store: SnapshotStore) -> Population:
    """Build a population at frame 0. Nothing is written or played yet."""
    torch.set_num_threads(config.runtime.torch_threads)
    make_game = game_maker(config, spec)
    game = make_game()
    layouts = game_layouts(game, config)
    roles = [role.name for role in game.roles]
    named = [(name, roles.index(role)) for name, role in member_roles(config, roles).items()]
    batch_slots = config.learning.batch_steps // config.sampling.rollout_steps
    slabs = tuple(
        Slab(layout, slots_needed(config.sampling.environments * game.seat_roles.count(r), sum(role == r for _, role in named), batch_slots))
        for r, layout in enumerate(layouts)
    )
    # Resident at the same time at most: two snapshots per member in evaluation, the window of past opponents, the scripted players.
    frozen_slots = 2 * len(named) + len(layouts) * (config.matchmaking.past_window + len(spec.scripted) + 1) + 8
    server = PolicyServer(slabs, len(named) + frozen_slots)
    frozen = FrozenPool(server, len(named), frozen_slots, policy_loader(spec, layouts, config, store))
    trainees = [_trainee(config, slabs[role], name, role, game.reward_terms, batch_slots) for name, role in named]
    for policy, trainee in enumerate(trainees):
        server.attach(policy, NetworkPolicy(build_model(layouts[trainee.role], config.model, seed=0), trainee.published))
    entrants = [Entrant(MemberEntry(t.name, roles[t.role], True), policy) for policy, t in enumerate(trainees)]
    facts = GameFacts(
        tuple(roles[r] for r in game.seat_roles), {name: i for i, name in enumerate(roles)}, spec.chance, tuple(spec.scripted)
    )  # fmt: skip
    planner = TrainingPlanner(config, facts, entrants, frozen)
    worker = RolloutWorker(make_game, config.sampling.environments, slabs, planner.next_game, config.seed, max_decisions=config.env.max_decisions)
    rules = PbtRules.from_config(config.pbt, "wins" if len(game.seat_names) > 1 else "return")
    members = [
        Member(t.name, roles[t.role], policy, initial_hyperparams(config, t.name, game.reward_terms).flat()) for policy, t in enumerate(trainees)
    ]
    controller = Controller(config, rules, members, {t.name: t.learner for t in trainees}, planner, sink, store)
    game.close()
    return Population(config, spec, layouts, slabs, server, planner, worker, controller, trainees)


def _trainee(config: RunConfig, slab: Slab, name: str, role: int, reward_terms: tuple[str, ...], batch_slots: int) -> Trainee:
    model = build_model(slab.layout, config.model, seed=integer(config.seed, "init", name, bits=31))
    hyperparams = initial_hyperparams(config, name, reward_terms)
    learner = Learner(model, config.learning, hyperparams, reward_terms, key=(config.seed, "minibatch", name), stop_at_frames=config.stop_at_frames)
    return Trainee(name, role, learner, Batcher(slab, role, batch_slots), PublishedWeights(model.state_dict()))
