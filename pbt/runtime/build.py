"""Builds the engine of a configuration's placement."""

import torch

from pbt.algorithms.registry import new_algorithm
from pbt.config.schema import RunConfig
from pbt.envs.contract import EnvSpec
from pbt.errors import EngineError
from pbt.inference.policy_server import NetworkPolicy
from pbt.models.policy_model import build_model
from pbt.models.row_independence import odd_count
from pbt.population.interfaces import ControlSource, RunSink
from pbt.runtime.assembly import assemble
from pbt.runtime.blueprint import Blueprint, blueprint_of
from pbt.runtime.devices import choose_device
from pbt.runtime.engine import Engine
from pbt.runtime.game_observer import new_game_observer, new_reproductions
from pbt.runtime.parallel import ParallelEngine
from pbt.runtime.serial import SerialEngine
from pbt.snapshots import FileSnapshotStore


def check_rows(blueprint: Blueprint) -> None:
    """Check that this machine answers a row alike whatever comes with it, as rounds promise.

    Raises: EngineError where it does not.
    """
    torch.set_num_threads(blueprint.config.runtime.torch_threads)
    device = choose_device(blueprint.config.runtime, "inference_device")
    for member in {member.role: member for member in blueprint.members}.values():
        layout, dtype = blueprint.layouts[member.role], blueprint.dtypes[member.role]
        rule = new_algorithm(blueprint.config, member.name).rule(explores=True)
        model = build_model(layout, blueprint.config.model, 1, dtype, rule)
        model.fix_dtype()
        NetworkPolicy(model, member.name).settle(device)
        if (count := odd_count(model, layout)) is not None:
            raise EngineError(
                f"the network of {blueprint.roles[member.role]} answers one of {count} rows "
                f"otherwise than among more of them on {device} with {torch.get_num_threads()} "
                'threads, so runtime.sync = "'
                f'{blueprint.config.runtime.sync}" could not give the same games in every '
                'placement; set runtime.torch_threads = 1, runtime.precision = "float32", '
                'runtime.inference_device = "cpu", or runtime.sync = "async"'
            )


def build_engine(
    config: RunConfig,
    spec: EnvSpec,
    sink: RunSink,
    store: FileSnapshotStore,
    control: ControlSource,
) -> Engine:
    """Return the engine; it starts nothing before `run`, and must be closed in any case.

    config: resolved by `pbt.runtime.placements.resolve`. Raises: EngineError by `check_rows`.
    """
    if config.runtime.in_rounds:
        check_rows(blueprint_of(config, spec))
    if config.runtime.placement == "serial":
        observer = new_game_observer(config, spec, store.folder)
        reproductions = new_reproductions(config, store.folder)
        population = assemble(config, spec, sink, store, observer, reproductions)
        return SerialEngine(population, sink, control)
    return ParallelEngine(config, spec, sink, store, control)
