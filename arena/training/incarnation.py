"""Begins an incarnation: writes its rows into the league and loads the engine's state."""

import os
from collections.abc import Sequence

from arena.data.metrics import MetricsWriter
from arena.league.database import League
from arena.league.populations import (
    Incarnation,
    add_members,
    create_population,
    open_incarnation,
)
from arena.league.stored_snapshots import list_snapshots
from arena.league.summaries import list_populations
from arena.league.superseding import NOTHING_KNOWN, CheckpointRows
from arena.machine import versions
from arena.training.sink import TrainingSink
from arena.training.start import Start
from arena.training.warm_start import origin_words
from pbt.config.defaults import defaults_line
from pbt.config.resume import OBJECTIVE, hyperparameter_of
from pbt.config.schema import RunConfig
from pbt.config.semantics import member_roles
from pbt.envs.contract import EnvSpec
from pbt.population.interfaces import SnapshotStore
from pbt.records import Event
from pbt.runtime.engine import Engine
from pbt.runtime.warm_start import begin_with
from pbt.snapshots import FileSnapshotStore


def ensure_population(league: League, name: str, config: RunConfig, spec: EnvSpec) -> None:
    """Make the population's row at its first start, later record the members that came and went."""
    if any(summary.name == name for summary in list_populations(league)):
        joined = [(member, one.role) for member, one in config.population.joined.items()]
        add_members(league, name, joined, config.population.left)
        return
    game = spec.make(**config.env.game_options)
    roles = member_roles(config, [role.name for role in game.roles])
    game.close()
    create_population(
        league,
        name,
        config.env.name,
        config.model_dump(mode="json"),
        versions(),
        list(roles.items()),
    )


def new_incarnation(league: League, name: str, start: Start) -> Incarnation:
    """Make the incarnation's row. Rows that are newer than its checkpoint are superseded."""
    checkpoint = start.checkpoint
    population_id = next(summary.id for summary in list_populations(league) if summary.name == name)
    if checkpoint is None:
        return open_incarnation(league, population_id, os.getpid(), known=NOTHING_KNOWN)
    stored = checkpoint.state.league
    rows = None
    if stored is not None:
        rows = CheckpointRows(stored.incarnation, stored.events, frozenset(stored.snapshots))
    number, last_game = f"{checkpoint.number:08d}", checkpoint.state.controller.games - 1
    return open_incarnation(
        league,
        population_id,
        os.getpid(),
        from_checkpoint=number,
        last_game=last_game,
        last_rounds=start.last_rounds,
        known=rows,
    )


def load_history(sink: TrainingSink, store: FileSnapshotStore, league: League, name: str) -> None:
    """Load snapshots and games of earlier starts into the sink; remove their unfinished files."""
    store.remove_leftovers()
    sink.snapshots.extend(stored.record for stored in list_snapshots(league, name))
    sink.remember(league, name)


def _begin_first(
    engine: Engine, start: Start, sink: TrainingSink, store: SnapshotStore, edits: Sequence[str]
) -> None:
    """Begin at the first frame. edits: notes on edits since the population was made."""
    here = engine.controller.members
    began = {name: one for name, one in start.config.population.began.items() if name in here}
    for member, one in began.items():
        begin_with(engine, member, store, one.weights, optimizer=one.optimizer)
    engine.controller.start()
    if start.defaults:
        sink.event(Event("defaults", None, 0, defaults_line(start.defaults)))
    for member, one in began.items():
        sink.event(Event("start", member, 0, origin_words(one)))
    for note in edits:
        sink.event(Event("edit", None, 0, note))
    if start.encoder:
        sink.event(Event("encoder", None, 0, start.encoder))


def begin(
    engine: Engine,
    start: Start,
    metrics: MetricsWriter,
    sink: TrainingSink,
    store: SnapshotStore,
) -> None:
    """Begin at the first frame, or go on from a checkpoint and note that in the events.

    store: of the population's snapshots, with those that members begin with
    """
    edits = [note for note in start.notes if note.startswith("edited")]
    if start.checkpoint is None:
        _begin_first(engine, start, sink, store, edits)
        return
    voided = engine.restore(start.checkpoint)
    clocks = engine.clocks()
    metrics.resume(clocks)
    start.membership.tell(engine.controller, sink)
    # A shaping weight that was removed from the config goes back to its default.
    if values := {
        name: 1.0 if new is None else float(new)
        for key, new in start.edited.items()
        if (name := hyperparameter_of(key)) is not None
    }:
        engine.controller.edit_hyperparams(values)
        engine.take_over_hyperparams()
    if OBJECTIVE in start.edited:
        engine.controller.window.restart_all()
    frames = max(clocks.values())
    lost = f"; {voided} open games could not be replayed and were voided" if voided else ""
    text = f"resumed from checkpoint {start.checkpoint.number:08d}{lost}"
    sink.event(Event("resume", None, frames, text))
    for note in start.notes:
        sink.event(Event("edit" if note in edits else "warning", None, frames, note))
