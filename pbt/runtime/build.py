"""Builds the engine of a configuration's placement."""

from pbt.config.schema import RunConfig
from pbt.envs.contract import EnvSpec
from pbt.population.interfaces import ControlSource, RunSink
from pbt.runtime.assembly import assemble
from pbt.runtime.engine import Engine
from pbt.runtime.game_observer import new_game_observer, new_reproductions
from pbt.runtime.parallel import ParallelEngine
from pbt.runtime.serial import SerialEngine
from pbt.snapshots import FileSnapshotStore


def build_engine(
    config: RunConfig,
    spec: EnvSpec,
    sink: RunSink,
    store: FileSnapshotStore,
    control: ControlSource,
) -> Engine:
    """Return the engine; it starts nothing before `run`, and must be closed in any case.

    config: resolved by `pbt.runtime.placements.resolve`.
    """
    if config.runtime.placement == "serial":
        observer = new_game_observer(config, spec, store.folder)
        reproductions = new_reproductions(config, store.folder)
        population = assemble(config, spec, sink, store, observer, reproductions)
        return SerialEngine(population, sink, control)
    return ParallelEngine(config, spec, sink, store, control)
