"""The controller of a population: it scores games, takes snapshots and holds the members' rounds.

It acts on counts of frames and games, never on time, so that equal runs decide equally. It reads
learners through `MemberLearner`, seats opponents through `Matchmaker` and reports to the `RunSink`.
`pbt.population.pbt_decision` decides a round; the engine has the learner put what it says in force.
"""

from collections.abc import Mapping, Sequence

from pbt.config.schema import RunConfig
from pbt.errors import EngineError
from pbt.learning.statistics import UpdateStats
from pbt.matchmaking.roster import SnapshotEntry
from pbt.models.weights import policy_tensors
from pbt.population.certifier import Certifier
from pbt.population.curves import TrainingCurves, ranked_curve
from pbt.population.interfaces import Matchmaker, MemberLearner, RunSink, SnapshotStore
from pbt.population.members import Member
from pbt.population.mutation import changes
from pbt.population.payoff_reports import PayoffReports
from pbt.population.pbt_decision import decide, next_due
from pbt.population.pbt_rules import PbtRules
from pbt.population.scores import ScoreWindow, margin_problem
from pbt.records import Directive, Event, RoundRecord, SnapshotRecord, is_voided
from pbt.saved import SavedController
from pbt.transport.messages import GameEnd, GamesOver

# What becomes of a member that learns no more.
FROZEN = "sits as a frozen opponent from now on"


class Controller:
    """Decides what happens to the members of one population, and when.

    members    by name
    window     the members' scores over their newest games
    games      games that ended so far; a game's number is the count before it
    certifier  compares what the parts of the run work with
    """

    def __init__(
        self,
        config: RunConfig,
        rules: PbtRules,
        members: Sequence[Member],
        learners: Mapping[str, MemberLearner],
        matchmaker: Matchmaker,
        sink: RunSink,
        store: SnapshotStore,
        certifier: Certifier,
    ) -> None:
        self._config, self._rules = config, rules
        self.certifier = certifier
        self._learners, self._matchmaker = learners, matchmaker
        self._sink, self._store = sink, store
        self.members = {member.name: member for member in members}
        self.window = ScoreWindow(rules.objective, config.pbt.score_games, rules.detail)
        self._payoffs = PayoffReports(config.matchmaking, matchmaker)
        self._curves = TrainingCurves()
        # Only the first game without a margin is told of.
        self._watches_margins = rules.objective == "margin"
        self.games = 0
        self._set_due()

    # --- what happens -----------------------------------------------------------------------------

    def start(self) -> None:
        """Take every member's first snapshot, of its untrained weights, before the first frame."""
        for member in self.members.values():
            self._begin(member)

    def on_games(self, games: GamesOver) -> None:
        """Number, score and record training games that ended well."""
        first = self.games
        self.games += len(games.tables)
        self.window.add_games(games, first)
        self._payoffs.add_games(games, first)
        self.certifier.games(games, first)
        self._curves.add(games)
        if self._watches_margins and (problem := margin_problem(games, first)):
            self._watches_margins = False
            self.warn(problem)
        self._sink.training_games(games, first)

    def on_game(self, end: GameEnd) -> None:
        """Number and record any other game: an evaluation game, or one that was voided."""
        record = end.record(self.games)
        self.games += 1
        self.certifier.game(end, record.number)
        self._sink.game(record)
        if is_voided(end.reason):
            self.warn(end.reason)

    def warn(self, text: str) -> None:
        """Record what a person should know of the run's games."""
        furthest = max(learner.frames for learner in self._learners.values())
        self._sink.event(Event("warning", None, furthest, text))

    def _member_event(self, kind: str, member: Member, text: str) -> None:
        """Record an event of a member."""
        self._sink.event(Event(kind, member.name, self._learners[member.name].frames, text))

    def on_update(self, name: str, stats: UpdateStats) -> Directive | None:
        """Record an update of a member's learner, and do what its frame count has made due.

        A snapshot may be due, the member's end, a change of its schedule, or its round. Returns the
        directive for the caller to apply; `applied` is called when it is in force.
        """
        member, learner = self.members[name], self._learners[name]
        self.certifier.updated(name)
        if warning := member.count(stats):
            self._member_event("warning", member, warning)
        if member.failed:
            return None
        ranked = ranked_curve(self.window.mean(name), self._rules.objective)
        self._sink.series(name, learner.frames, self._curves.point(member, stats, ranked))
        snapshot_due = learner.frames >= self._next_snapshot[name]
        if snapshot_due:
            self._next_snapshot[name] = next_due(
                learner.frames, self._config.snapshots.every_frames
            )
            self._snapshot(member, "schedule")
        rounds = member.round
        directive = self._due(member, learner.frames)
        period_ends = member.round > rounds or (snapshot_due and not self._config.pbt.enabled)
        if period_ends or not self.certifier.began(name):
            copies = directive is not None and directive.copy_from is not None
            self.certifier.begin(member, learner.frames, copies=copies)
        elif directive is not None:
            self.certifier.ask(name)
        return directive

    def _due(self, member: Member, frames: int) -> Directive | None:
        """Return what the member's end, its schedule or its round asks for now."""
        if not member.finished and frames >= self._config.stop_at_frames:
            self._finish(member)
            return None
        if directive := member.scheduled(self._config, frames):
            steps = changes(member.hyperparams, directive.hyperparams, directive.mutated)
            member.last_event = f"schedule: {steps}"
            self._member_event("schedule", member, member.last_event)
            return directive
        if self._config.pbt.enabled and frames >= self._next_round[member.name]:
            self._next_round[member.name] = self._round_due(frames)
            return self._round(member)
        return None

    def _round_due(self, frames: int) -> int:
        return next_due(frames, self._config.pbt.period_frames, self._config.pbt.warmup_frames)

    def _set_due(self) -> None:
        """Set each member's next round and snapshot from its clock and the present configuration.

        A period that was edited while the run was stopped holds from then on.
        """
        frames = {name: learner.frames for name, learner in self._learners.items()}
        self._next_round = {name: self._round_due(count) for name, count in frames.items()}
        every = self._config.snapshots.every_frames
        self._next_snapshot = {name: next_due(count, every) for name, count in frames.items()}

    def applied(self, directive: Directive) -> None:
        """Note that a directive's weights, optimiser moments and hyperparameters are in force."""
        member = self.members[directive.member]
        member.hyperparams = dict(directive.hyperparams)
        donor, snapshot_id = directive.copy_from, directive.copy_snapshot
        if donor is None or snapshot_id is None:
            return
        member.generation += 1
        member.copies += 1
        member.newest_snapshot = snapshot_id
        self.window.restart(member.name, member.generation)
        roster = self._matchmaker.roster.with_generation(member.name, member.generation)
        self._matchmaker.roster = roster
        self._payoffs.copied(member.name, donor, member.generation)
        self._payoffs.report()
        learner = self._learners[member.name]
        self.certifier.copied(member.name, learner.version, snapshot_id, learner.state())

    def edit_hyperparams(self, values: Mapping[str, float]) -> None:
        """Set values that a person edited, for every member; PBT goes on from them."""
        for member in self.members.values():
            before = member.hyperparams
            member.hyperparams = {name: values.get(name, own) for name, own in before.items()}

    def edit(self, config: RunConfig) -> None:
        """Go on with another configuration, which differs in `pbt.config.resume.LIVE` alone.

        A member that had reached an earlier stop learns again. Call it only at rest.
        """
        self._config = config
        self._set_due()
        self._matchmaker.roster = self._matchmaker.roster.with_evaluation(config.evaluation.share)
        for member in self.members.values():
            if member.finished:
                self._resume(member)

    def welcome(self, name: str, donor: str | None, text: str) -> None:
        """Introduce a member that joined: seat it, take its snapshot, and record the event.

        Call it after `load` and before `run`. donor: the member whose weights it has, None for its
        own; text: how it came, for the event.
        """
        member = self.members[name]
        member.last_event = "joined"
        self._matchmaker.roster = self._matchmaker.roster.with_learning(name, True)
        if donor is not None:
            self._payoffs.copied(name, donor, member.generation)
        self._begin(member)
        self._member_event("join", member, text)

    def fail(self, name: str, text: str) -> None:
        """Give up a member whose learner is lost for good. text: why.

        It plays on as a frozen opponent and is no longer ranked; the other members go on.
        """
        member = self.members[name]
        if not member.learning:
            return
        member.failed, member.failure, member.last_event = True, text, "failed"
        self._matchmaker.roster = self._matchmaker.roster.with_learning(name, False)
        self._member_event("failed", member, f"{text}; {FROZEN}")

    @property
    def finished(self) -> bool:
        """Whether no member learns any more."""
        return not any(member.learning for member in self.members.values())

    # --- rounds and snapshots ---------------------------------------------------------------------

    def _round(self, member: Member) -> Directive | None:
        """Decide one round and record it with everything that the decision was computed from.

        Returns the directive to apply, None where the member keeps everything.
        """
        peers = [peer for peer in self.members.values() if self._ranked_with(member, peer)]
        scores = tuple(self.window.score(peer.name) for peer in peers)
        hyperparams = {peer.name: dict(peer.hyperparams) for peer in peers}
        name, seed, number = member.name, self._config.seed, member.round + 1
        frames, rules = self._learners[name].frames, self._rules.to_mapping()
        decision = decide(name, number, frames, scores, hyperparams, self._rules, seed)
        donor = decision.copy_from
        donor_snapshot = None
        if donor is not None:
            # It is never seated: opponents are snapshots of weights alone, with other ids.
            stored = self._store_snapshot(self.members[donor], "round", whole=True)
            self._sink.snapshot(stored)
            donor_snapshot = stored.snapshot_id
        directive = decision.directive(name, number, donor_snapshot)
        member.round = number
        known = scores, hyperparams, rules, seed
        self._sink.round(RoundRecord(name, number, frames, *known, decision.verdict, directive))
        member.last_event = decision.words(number)
        if donor is None and not decision.mutated:
            return None
        self._member_event("mutate" if donor is None else "copy", member, decision.verdict)
        return directive

    def _ranked_with(self, member: Member, peer: Member) -> bool:
        """Whether a peer plays the same role, learns by the same algorithm, and has not failed."""
        kinds = {self._config.algorithm_of(one.name) for one in (member, peer)}
        return peer.role == member.role and len(kinds) == 1 and not peer.failed

    def _begin(self, member: Member) -> None:
        """Take a member's first snapshot, and record values of its own that it was given."""
        self._snapshot(member, "initial")
        if self._config.pbt.spread_start > 1.0:
            values = ", ".join(f"{name} {value:.6g}" for name, value in member.hyperparams.items())
            self._member_event("start", member, f"starts with {values}")

    def _snapshot(self, member: Member, reason: str) -> None:
        """Freeze a member's policy as an opponent; unchanged weights are recorded only once."""
        record = self._store_snapshot(member, reason, whole=False)
        if record.snapshot_id != member.newest_snapshot:
            member.newest_snapshot = record.snapshot_id
            self.add_opponent(record)

    def add_opponent(self, record: SnapshotRecord) -> None:
        """Record a new snapshot, which the matchmaker may seat from now on."""
        self._sink.snapshot(record)
        entry = SnapshotEntry(record.snapshot_id, record.member, record.role)
        self._matchmaker.roster = self._matchmaker.roster.with_snapshot(entry)
        self._payoffs.add_snapshot(entry)

    def _store_snapshot(self, member: Member, reason: str, *, whole: bool) -> SnapshotRecord:
        """Store a member's weights. whole: with the optimiser's moments."""
        learner = self._learners[member.name]
        # The state is read before the clocks, which then are those of these weights.
        state = learner.state()
        tensors = state if whole else policy_tensors(state)
        clocks = {"frames": learner.frames, "version": learner.version}
        record = member.freeze(self._store, reason, tensors, **clocks)
        self.certifier.stored(record)
        return record

    def _finish(self, member: Member) -> None:
        member.finished = True
        self._snapshot(member, "final")
        self._matchmaker.roster = self._matchmaker.roster.with_learning(member.name, False)
        frames = self._learners[member.name].frames
        self._member_event("finish", member, f"reached {frames} frames; {FROZEN}")

    # --- resume -----------------------------------------------------------------------------------

    def state(self) -> SavedController:
        members = [member.state() for member in self.members.values()]
        curves, payoffs = self._curves.state(), self._payoffs.state()
        return SavedController(self.games, members, self.window.state(), curves, payoffs)

    def load(self, state: SavedController) -> None:
        """Take over a checkpoint's state.

        A member that had reached an earlier stop goes on if the stop was moved, and one that had
        failed tries again. Raises: EngineError when the checkpoint holds other members.
        """
        self.games = state.games
        self.window.load(state.window)
        self._curves.load(state.curves)
        self._payoffs.load(state.payoffs)
        self._set_due()
        stored = {saved.name: Member.load(saved) for saved in state.members}
        if set(stored) != set(self.members):
            held, known = sorted(stored), sorted(self.members)
            raise EngineError(f"the checkpoint holds members {held}; the configuration has {known}")
        for name, member in stored.items():
            # Hyperparameters that came later have the config's values; those that its algorithm
            # does not have, but that earlier versions stored, go.
            own = self.members[name].hyperparams
            member.hyperparams = {key: member.hyperparams.get(key, own[key]) for key in own}
            self._resume(member)
        self.members = stored

    def _resume(self, member: Member) -> None:
        frames = self._learners[member.name].frames
        if member.failed:
            member.failed, member.failure, member.last_event = False, "", ""
            self._member_event("resume", member, "had failed; tries again")
        elif not member.finished:
            return
        member.finished = member.finished and frames >= self._config.stop_at_frames
        if not member.finished:
            self._matchmaker.roster = self._matchmaker.roster.with_learning(member.name, True)
