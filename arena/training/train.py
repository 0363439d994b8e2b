"""Trains a population: builds a run from a config, a name and a data directory, and drives it.

This is the composition root: everything that a training needs is put together here.
"""

import gc
import logging
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

from arena.assessment.answer import Assessment
from arena.assessment.assessor import Assessor
from arena.data.adopted_weights import adopt_weights
from arena.data.config_file import write_config
from arena.data.lock import PopulationLock
from arena.data.logs import log_to
from arena.data.metrics import MetricsWriter
from arena.data.output import printed_into
from arena.data.paths import PopulationPaths, league_path, population_names, population_paths
from arena.data.telemetry import TelemetryWriter
from arena.league.compaction import Folding
from arena.league.database import League, open_league
from arena.league.populations import Incarnation, population_head, set_state
from arena.league.summaries import list_populations
from arena.league.writer import LeagueWriter
from arena.signals import TrainingControl
from arena.training.checkpointing import Checkpointer
from arena.training.ends import give_up, how_it_ended
from arena.training.incarnation import begin, ensure_population, load_history, new_incarnation
from arena.training.listeners import NO_LISTENERS, Listeners, ListeningSink
from arena.training.live_edits import LiveEdits
from arena.training.moved_files import keep_print
from arena.training.progress import Progress, ProgressMeter
from arena.training.result import Result
from arena.training.sink import TrainingSink
from arena.training.start import Start, first_start, next_start, origin_ids, resolved
from arena.training.status_reporter import StatusReporter
from arena.training.waiting_store import WaitingStore
from arena.training.warm_start import OWN_WEIGHTS, StartFrom
from pbt.config.schema import RunConfig
from pbt.errors import ConfigError, PbtError, PlayerError, SnapshotError
from pbt.film.folder import FilmFolder
from pbt.population.idleness import why_idle
from pbt.runtime.build import build_engine
from pbt.runtime.engine import Engine
from pbt.runtime.summary import start_line

PROGRESS_EVERY_S = 0.5
FLUSH_EVERY_S = 1.0
STATUS_EVERY_S = 1.0

log = logging.getLogger("arena.training.train")

Observer = Callable[[Progress], None]
Say = Callable[[str], None]


def start_training(
    config: RunConfig,
    name: str,
    data: Path,
    observe: Observer,
    say: Say = lambda text: None,
    *,
    control: TrainingControl | None = None,
    listeners: Listeners = NO_LISTENERS,
    wanted: StartFrom = OWN_WEIGHTS,
) -> Result:
    """Train a new population.

    observe    called with the progress, some times a second
    say        called with lines on what is built
    control    may ask it to stop, and is entered while the population trains; None: nothing does
    listeners  called with what happens; an error of theirs ends the training where it is
    wanted     weights that its members begin with, besides what the config says
    Raises: PlayerError for a taken name, ConfigError for a config or weights that do not fit the
    game; nothing is written then.
    """
    paths = population_paths(data, name)
    start = first_start(config, name, data, wanted)
    _say_all(start.notes, say)
    with ExitStack() as stack:
        if paths.config.exists():
            raise PlayerError(_taken(name, data))
        stack.enter_context(PopulationLock(paths.lock, name))
        league = stack.enter_context(open_league(league_path(data)))
        _refuse_orphan(league, name, data)
        adopt_weights(paths, origin_ids(start.config))
        # The file comes first: a start that is killed before its row is there can then be resumed
        # or deleted by name.
        write_config(paths, start.config)
        own = control or TrainingControl()
        training = _Training(name, paths, league, observe, say, own, listeners)
        return replace(training.train(start), defaults=start.defaults)


def _say_all(lines: Sequence[str], say: Say) -> None:
    for line in lines:
        say(line)


def _refuse_orphan(league: League, name: str, data: Path) -> None:
    """Raises: PlayerError for a population of the league whose files are gone."""
    if any(summary.name == name for summary in list_populations(league)):
        raise PlayerError(
            f"population {name!r} is in the league of {data}, but its files are gone; "
            f"remove it with `arena delete {name}`, or choose another name"
        )


def _taken(name: str, data: Path) -> str:
    """What is said where a population has the name of a new one."""
    return (
        f"population {name!r} exists already in {data}; go on with `arena train --resume {name}` "
        f'(in Python arena.resume("{name}")), choose another name, or `arena delete {name}`'
    )


def resume_training(
    name: str,
    data: Path,
    overrides: Sequence[str],
    observe: Observer,
    say: Say = lambda text: None,
    *,
    control: TrainingControl | None = None,
    listeners: Listeners = NO_LISTENERS,
) -> Result:
    """Go on with a population from its newest intact checkpoint.

    overrides  edits of its config
    say        called with lines on the checkpoint and on anything unusual
    The other arguments are those of `start_training`.
    Raises: ConfigError for edits that a population cannot take, PlayerError when there is none of
    that name, HeldError while another process trains it.
    """
    paths = population_paths(data, name)
    if not paths.config.exists():
        names = ", ".join(population_names(data)) or "none yet"
        raise PlayerError(f"no population {name!r} in {data}; there are: {names}")
    with ExitStack() as stack:
        stack.enter_context(PopulationLock(paths.lock, name))
        league = stack.enter_context(open_league(league_path(data)))
        own = control or TrainingControl()
        training = _Training(name, paths, league, observe, say, own, listeners)
        start = next_start(name, paths, league, overrides)
        training.say_start(start)
        return training.train(start)


@dataclass(frozen=True)
class _Training:
    """The training of a population in this process, while it holds the population's lock.

    name       of the population
    paths      of its files
    league     the open league
    observe    called with the progress, some times a second
    say        called with lines for people
    control    may ask it to stop
    listeners  called with what happens
    """

    name: str
    paths: PopulationPaths
    league: League
    observe: Observer
    say: Say
    control: TrainingControl
    listeners: Listeners

    def say_start(self, start: Start) -> None:
        self.say(
            f"resuming {self.name} from checkpoint {start.checkpoint.number:08d}"
            if start.checkpoint
            else f"{self.name} has no checkpoint"
        )
        for line in (*start.notes, *start.effects):
            self.say(line)

    def train(self, start: Start) -> Result:
        """Train until the end or a stop. Whenever members join or leave, a new incarnation begins,
        whose engine is built anew for them.
        """
        keep_print(self.paths, start.config, start.spec)
        # What was loaded until now stays, so the garbage collector need not look through it.
        gc.freeze()
        with self.control as control, printed_into(self.paths.logs, self.say):
            try:
                result = self._run(start)
                while (edits := control.take_members()) is not None:
                    start = self._edited_start(edits.words)
                    self.say_start(start)
                    fault = result.wiring
                    result = self._run(start, edits.number)
                    result = replace(result, earlier_fault=fault)
            except BaseException as error:
                log.error("training ended by %s", type(error).__name__, exc_info=error)
                raise
            finally:
                gc.unfreeze()
            # Its last rows are committed only now.
            head = population_head(self.league, self.name)
            said = self._assessing()()
            return replace(result, head=head, encoder=start.encoder, assessment=said)

    def _assessing(self) -> Callable[[], Assessment | None]:
        """What tells what may be said of the population; None while the league cannot be read."""
        assessor = Assessor(self.league, self.paths.data)

        def assessment() -> Assessment | None:
            try:
                return assessor.assess(self.name)
            except PbtError as error:
                log.warning("no assessment: %s", error)
                return None

        return assessment

    def _edited_start(self, words: Sequence[str]) -> Start:
        """The next start with edits; without impossible ones, so that training goes on.

        words: the edits, as --set takes them
        """
        try:
            return next_start(self.name, self.paths, self.league, words)
        except (ConfigError, SnapshotError) as error:
            start = next_start(self.name, self.paths, self.league, ())
            refused = f"refused {', '.join(words)}: {' '.join(str(error).split())}"
            return replace(start, notes=(*start.notes, refused))

    def _run(self, start: Start, taken: int | None = None) -> Result:
        """One incarnation, from its first row to its last checkpoint.

        taken: number of the edits that it begins with; None without any
        """
        name, paths, league, control = self.name, self.paths, self.league, self.control
        config, spec = start.config, start.spec
        ensure_population(league, name, config, spec)
        incarnation = new_incarnation(league, name, start)
        log_to(paths.logs, name, incarnation.number)
        with ExitStack() as stack:
            writer = stack.enter_context(_writer(league, incarnation))
            metrics = MetricsWriter(paths.metrics, incarnation.number)
            sink = self._sink(writer, stack.enter_context(metrics))
            store = WaitingStore(paths.snapshots, league, control.stop_requested, self.say)
            load_history(sink, store, league, name)
            telemetry = stack.enter_context(TelemetryWriter(paths.metrics, incarnation.number))
            # Runs after the last process of the engine has ended.
            stack.callback(FilmFolder(paths.films).remove_leftovers)
            engine = build_engine(resolved(config), spec, sink, store, control)
            self._say_what(engine, start)
            stack.callback(engine.close)  # ends every process, also after an error
            checkpointer = Checkpointer(
                name,
                config,
                engine,
                league,
                sink,
                store,
                paths.checkpoints,
                start.checkpoint.number if start.checkpoint else 0,
            )
            edits = LiveEdits(paths, config, engine, checkpointer, sink, control, taken)
            meter = ProgressMeter(engine, sink, self._assessing())
            reporter = StatusReporter(name, paths, engine, sink, telemetry, edits)
            try:
                begin(engine, start, metrics, sink, store)
                if start.checkpoint is None or start.edited:
                    # From this checkpoint on the edits are in force.
                    checkpointer.checkpoint()
                write_config(paths, config)
                finished = self._loop(engine, sink, checkpointer, edits, meter, reporter)
                stack.enter_context(checkpointer.last_checkpoint())
            except BaseException as error:
                give_up(league, incarnation, reporter, error)
                raise
            finished, state, ended = how_it_ended(engine, control, finished)
            if ended:
                set_state(league, incarnation.population_id, state)
            self.observe(progress := meter.read(refit=True))
            return Result(name, finished, progress, reporter.report(ended), engine.weights_digest())

    def _sink(self, writer: LeagueWriter, metrics: MetricsWriter) -> TrainingSink:
        """The sink of the results, which tells the listeners where there are some."""
        if self.listeners == NO_LISTENERS:
            return TrainingSink(writer, metrics)
        return ListeningSink(writer, metrics, self.name, self.listeners)

    def _say_what(self, engine: Engine, start: Start) -> None:
        """Say what is about to be trained, and whether its PBT can never act."""
        self.say(start_line(engine.config, start.spec))
        for line in start.lines:
            self.say(line)
        roles = dict.fromkeys(member.role for member in engine.controller.members.values())
        if idle := why_idle(engine.config, tuple(roles)):
            self.say(idle)

    def _loop(
        self,
        engine: Engine,
        sink: TrainingSink,
        checkpointer: Checkpointer,
        edits: LiveEdits,
        meter: ProgressMeter,
        reporter: StatusReporter,
    ) -> bool:
        """Run the engine; between its turns report, flush, apply edits and save when due.

        Returns True when every member reached its stop.
        """
        reporter.report()
        observed = reported = flushed = time.monotonic()

        def look() -> None:
            nonlocal observed, reported
            now = time.monotonic()
            if now - observed >= PROGRESS_EVERY_S:
                observed = now
                self.observe(meter.read())
            if now - reported >= STATUS_EVERY_S:
                reported = now
                reporter.report()

        def between_turns() -> None:
            nonlocal flushed
            now = time.monotonic()
            if now - flushed >= FLUSH_EVERY_S:
                flushed = now
                sink.flush()
                edits.take()
            checkpointer.checkpoint_if_due(now)

        finished = engine.run(between_turns, look)
        engine.controller.certifier.finish()
        return finished


def _writer(league: League, incarnation: Incarnation) -> LeagueWriter:
    """The writer of a start. It folds nothing that a kept checkpoint may need."""
    folding = Folding(incarnation.population_id, waits=True)
    return LeagueWriter(league, incarnation, on_trouble=_log_trouble, folding=folding)


def _log_trouble(trouble: str | None) -> None:
    if trouble is not None:
        log.warning("league: %s", trouble)
