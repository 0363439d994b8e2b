"""The composition root: a configuration, a name and a data directory become a running
population, its league rows and its files.
"""

import logging
import os
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

from arena.data.config_file import write_config
from arena.data.lock import PopulationLock
from arena.data.logs import log_to
from arena.data.metrics import MetricsWriter
from arena.data.paths import PopulationPaths, league_path, population_names, population_paths
from arena.data.status import RunStatus
from arena.data.telemetry import TelemetryWriter
from arena.host import versions
from arena.league.database import League, open_league
from arena.league.populations import (
    NOTHING_KNOWN,
    CheckpointRows,
    Incarnation,
    add_members,
    create_population,
    open_incarnation,
    set_state,
)
from arena.league.queries import list_populations, list_snapshots
from arena.league.writer import LeagueWriter
from arena.signals import SignalControl
from arena.training.checkpointing import Housekeeper
from arena.training.live_edits import LiveEdits
from arena.training.progress import Progress, ProgressMeter
from arena.training.reporter import StatusReporter
from arena.training.sink import TrainingSink
from arena.training.start import Start, first_start, next_start, resolved
from pbt.config.resume import HYPERPARAMETERS
from pbt.config.schema import RunConfig
from pbt.config.semantics import member_roles
from pbt.envs.contract import EnvSpec
from pbt.errors import ConfigError, PlayerError, SnapshotError
from pbt.film.folder import FilmFolder
from pbt.records import Event
from pbt.runtime.build import build_engine
from pbt.runtime.engine import Engine
from pbt.runtime.summary import start_line
from pbt.snapshots import FileSnapshotStore

LOOK_EVERY_S = 0.25
FLUSH_EVERY_S = 1.0

log = logging.getLogger("arena.training.train")

Observer = Callable[[Progress], None]
Say = Callable[[str], None]


@dataclass(frozen=True)
class Result:
    """How a training ended. finished: every member reached its stop; else it was asked to stop and
    can be resumed.

    status          the last look at its processes and rows
    weights_sha256  over the weights of all members; with the placement "serial" equal
                    configurations and seeds give equal ones, however often the
                    run was interrupted
    """

    name: str
    finished: bool
    progress: Progress
    status: RunStatus
    weights_sha256: str


def start_training(
    config: RunConfig, name: str, data: Path, observe: Observer, say: Say = lambda text: None
) -> Result:
    """Train a new population. say: told what is built.

    Raises: PlayerError when the name is taken, ConfigError when the configuration does not fit the
    game; nothing is written then.
    """
    paths = population_paths(data, name)
    start = first_start(config, name)
    with ExitStack() as stack:
        if paths.config.exists():
            choices = (
                f"go on with `arena train --resume {name}`, choose another --name, or "
                f"remove it with `arena delete {name}`"
            )
            raise PlayerError(f"population {name!r} exists already in {data}; {choices}")
        stack.enter_context(PopulationLock(paths.lock, name))
        league = stack.enter_context(open_league(league_path(data)))
        if any(summary.name == name for summary in list_populations(league)):
            raise PlayerError(
                f"population {name!r} stands in the league of {data}, but its files are "
                f"gone; `arena delete {name}`, or another --name"
            )
        # The file first: a start that is killed before its row is there can then be resumed, or
        # deleted, by name.
        write_config(paths, start.config)
        return _train(start, name, paths, league, observe, say)


def resume_training(
    name: str, data: Path, overrides: Sequence[str], observe: Observer, say: Say = lambda text: None
) -> Result:
    """Go on with a population from its newest intact checkpoint. say: told from which one, and what
    was unusual.

    Raises: ConfigError for edits it cannot take, PlayerError when there is none of that name,
    HeldError while another process trains it.
    """
    paths = population_paths(data, name)
    if not paths.config.exists():
        there = ", ".join(population_names(data)) or "none yet"
        raise PlayerError(f"no population {name!r} in {data}; there are: {there}")
    with ExitStack() as stack:
        stack.enter_context(PopulationLock(paths.lock, name))
        league = stack.enter_context(open_league(league_path(data)))
        start = next_start(name, paths, league, overrides)
        _say_start(name, start, say)
        return _train(start, name, paths, league, observe, say)


def _say_start(name: str, start: Start, say: Say) -> None:
    say(
        f"resuming {name} from checkpoint {start.checkpoint.number:08d}"
        if start.checkpoint
        else f"{name} has no checkpoint"
    )
    for note in start.notes:
        say(note)


def _train(
    start: Start, name: str, paths: PopulationPaths, league: League, observe: Observer, say: Say
) -> Result:
    """Incarnation after incarnation: another one whenever members come or go, whose engine is
    built anew around them.
    """
    with SignalControl() as control:
        try:
            result = _run(start, name, paths, league, control, observe, say)
            while (edits := control.take_members()) is not None:
                start = _edited_start(name, paths, league, edits.words)
                _say_start(name, start, say)
                result = _run(start, name, paths, league, control, observe, say, edits.number)
        except BaseException as error:
            log.error("training ended by %s", type(error).__name__, exc_info=error)
            raise
        return result


def _edited_start(name: str, paths: PopulationPaths, league: League, words: Sequence[str]) -> Start:
    """With the edits; where they turn out to be impossible, as it was: nobody's training ends
    because of them.
    """
    try:
        return next_start(name, paths, league, words)
    except (ConfigError, SnapshotError) as error:
        start = next_start(name, paths, league, ())
        refused = f"refused {', '.join(words)}: {' '.join(str(error).split())}"
        return replace(start, notes=(*start.notes, refused))


def _run(
    start: Start,
    name: str,
    paths: PopulationPaths,
    league: League,
    control: SignalControl,
    observe: Observer,
    say: Say,
    taken: int | None = None,
) -> Result:
    """One incarnation, from opening it to its last checkpoint. taken: number of the edits that
    it begins with, None where none were left for it.
    """
    config, spec = start.config, start.spec
    _ensure_population(league, name, config, spec)
    incarnation = _open_incarnation(league, name, start)
    log_to(paths.logs, name, incarnation.number)
    with ExitStack() as stack:
        writer = stack.enter_context(LeagueWriter(league, incarnation, on_trouble=_log_trouble))
        metrics = stack.enter_context(MetricsWriter(paths.metrics, incarnation.number))
        sink, store = TrainingSink(writer, metrics), FileSnapshotStore(paths.snapshots)
        _known_before(sink, store, league, name)
        telemetry = stack.enter_context(TelemetryWriter(paths.metrics, incarnation.number))
        # After the last of its processes has ended.
        stack.callback(FilmFolder(paths.films).remove_leftovers)
        engine = build_engine(resolved(config), spec, sink, store, control)
        say(start_line(engine.config, spec))
        # Ends every process, whatever happens.
        stack.callback(engine.close)
        keeper = Housekeeper(
            name,
            config,
            engine,
            league,
            sink,
            store,
            paths.checkpoints,
            start.checkpoint.number if start.checkpoint else 0,
        )
        edits = LiveEdits(paths, config, engine, keeper, sink, control, taken)
        meter, watch = (
            ProgressMeter(engine, sink),
            StatusReporter(name, paths, engine, sink, telemetry, edits),
        )
        try:
            _begin(engine, start, metrics, sink)
            if start.checkpoint is None or start.edited:
                # An edit holds from this checkpoint on, whatever happens next.
                keeper.checkpoint()
            write_config(paths, config)
            finished = _loop(engine, sink, keeper, edits, meter, watch, observe)
            stack.enter_context(keeper.last_checkpoint())
        except BaseException as error:
            _give_up(league, incarnation, watch, error)
            raise
        ended = "" if control.goes_on() else "finished" if finished else "stopped and saved"
        if ended:
            set_state(league, incarnation.population_id, "finished" if finished else "stopped")
        observe(progress := meter.read(refit=True))
        return Result(name, finished, progress, watch.look(ended), engine.weights_digest())


def _give_up(
    league: League, incarnation: Incarnation, watch: StatusReporter, error: BaseException
) -> None:
    """Leave word of why a training ended before its last checkpoint: in the league and its
    status.
    """
    state = "interrupted" if isinstance(error, KeyboardInterrupt) else "failed"
    set_state(league, incarnation.population_id, state)
    watch.give_up(state if isinstance(error, KeyboardInterrupt) else f"failed: {first_line(error)}")


def _known_before(sink: TrainingSink, store: FileSnapshotStore, league: League, name: str) -> None:
    """What earlier starts left: their snapshots and games, and files that were cut short."""
    store.remove_leftovers()
    sink.snapshots.extend(stored.record for stored in list_snapshots(league, name))
    sink.remember(league, name)


def _loop(
    engine: Engine,
    sink: TrainingSink,
    keeper: Housekeeper,
    edits: LiveEdits,
    meter: ProgressMeter,
    watch: StatusReporter,
    observe: Observer,
) -> bool:
    """Run the engine; between its turns look, flush, take edits and save when due."""
    watch.look()
    observed = watched = flushed = time.monotonic()

    def look() -> None:
        nonlocal observed, watched
        now = time.monotonic()
        if now - observed >= LOOK_EVERY_S:
            observed = now
            observe(meter.read())
        if now - watched >= FLUSH_EVERY_S:
            watched = now
            watch.look()

    def between_turns() -> None:
        nonlocal flushed
        now = time.monotonic()
        if now - flushed >= FLUSH_EVERY_S:
            flushed = now
            sink.flush()
            edits.take()
        keeper.checkpoint_if_due(now)

    return engine.run(between_turns, look)


def _ensure_population(league: League, name: str, config: RunConfig, spec: EnvSpec) -> None:
    """The population's row, made at its first start; and one for each member that joined since."""
    if any(summary.name == name for summary in list_populations(league)):
        add_members(
            league, name, [(member, one.role) for member, one in config.population.joined.items()]
        )
        return
    game = spec.make(**config.env.options)
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


def _open_incarnation(league: League, name: str, start: Start) -> Incarnation:
    checkpoint = start.checkpoint
    population_id = next(summary.id for summary in list_populations(league) if summary.name == name)
    if checkpoint is None:
        return open_incarnation(league, population_id, os.getpid(), known=NOTHING_KNOWN)
    stored = checkpoint.state.get("league")  # older checkpoints lack it
    known = stored and CheckpointRows(
        stored["incarnation"], stored["events"], frozenset(stored["snapshots"])
    )
    number, last_game = f"{checkpoint.number:08d}", checkpoint.state["controller"]["games"] - 1
    return open_incarnation(
        league,
        population_id,
        os.getpid(),
        from_checkpoint=number,
        last_game=last_game,
        last_rounds=start.last_rounds,
        known=known,
    )


def _begin(engine: Engine, start: Start, metrics: MetricsWriter, sink: TrainingSink) -> None:
    """At the first frame; or go on from a checkpoint and say so in the events."""
    if start.checkpoint is None:
        engine.controller.start()
        return
    voided = engine.restore(start.checkpoint)
    clocks = engine.clocks()
    metrics.resume(clocks)
    start.membership.tell(engine.controller, sink)
    # A shaping weight that was taken out of the config goes back to its default.
    edited = {
        key.removeprefix("learning."): new
        for key, new in start.edited.items()
        if key.startswith(HYPERPARAMETERS)
    }
    if values := {name: 1.0 if new is None else float(new) for name, new in edited.items()}:
        engine.controller.edit_hyperparams(values)
        engine.take_over_hyperparams()
    frames = max(clocks.values())
    lost = f"; {voided} open games could not be replayed and were voided" if voided else ""
    sink.event(
        Event(
            "resume", None, frames, f"resumed from checkpoint {start.checkpoint.number:08d}{lost}"
        )
    )
    for note in start.notes:
        sink.event(Event("edit" if note.startswith("edited") else "warning", None, frames, note))


def first_line(error: BaseException) -> str:
    return f"{type(error).__name__}: {str(error).partition(chr(10))[0]}"


def _log_trouble(trouble: str | None) -> None:
    if trouble is not None:
        log.warning("league: %s", trouble)
