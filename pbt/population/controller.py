"""The controller: counts every member's frames, scores its games, and at each period asks `decide`
what happens to it.

Driven by counts, never by clocks. What it does to a learner goes through `MemberLearner`; what the
outside should know goes into the `RunSink`.
"""

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict

from torch import Tensor

from pbt.config.schema import RunConfig
from pbt.errors import EngineError
from pbt.hyperparams import scheduled_hyperparams
from pbt.learning.statistics import UpdateStats
from pbt.matchmaking.payoffs import payoff_source
from pbt.matchmaking.seats import SnapshotEntry
from pbt.models.weights import MODEL_PREFIX
from pbt.population.decide import Decision, PbtRules, decide, next_due
from pbt.population.members import Member
from pbt.population.ports import Matchmaker, MemberLearner, RunSink, SnapshotStore
from pbt.population.scores import ScoreWindow
from pbt.records import Directive, Event, RoundRecord, SnapshotRecord, is_voided
from pbt.transport.messages import GameEnd, JsonState

# So often is the matchmaker told what members may expect of the past, in games that tell something
# of it.
PAYOFFS_EVERY_GAMES = 100


class Controller:
    """Owns the members' clocks, scores and rounds."""

    def __init__(
        self,
        config: RunConfig,
        rules: PbtRules,
        members: Sequence[Member],
        learners: Mapping[str, MemberLearner],
        matchmaker: Matchmaker,
        sink: RunSink,
        store: SnapshotStore,
    ) -> None:
        self._config, self._rules = config, rules
        self._learners, self._matchmaker, self._sink, self._store = (
            learners,
            matchmaker,
            sink,
            store,
        )
        self.members = {member.name: member for member in members}
        self.window = ScoreWindow(rules.objective, config.pbt.score_games, rules.detail)
        self._payoffs, self._untold = payoff_source(config.matchmaking), 0
        self.games = 0
        # since the member's last update, for its curves
        self._returns, self._points = (
            defaultdict[str, list[float]](list),
            defaultdict[str, list[float]](list),
        )
        self._set_due()

    # --- what happens -----------------------------------------------------------------------------

    def start(self) -> None:
        """Before the first frame: every member's untrained weights are its first snapshot."""
        for member in self.members.values():
            self._snapshot(member, "initial")

    def on_game(self, end: GameEnd) -> None:
        """A game ended: number it, score it, record it."""
        record = end.record(self.games)
        self.games += 1
        self.window.add(record)
        if self._payoffs is not None and self._payoffs.add(record):
            self._untold += 1
            self._tell_payoffs(PAYOFFS_EVERY_GAMES)
        voided = is_voided(end.reason)
        if record.kind == "training" and not voided:
            for seat in record.seats:
                if seat.player.kind == "member":
                    self._returns[seat.player.name].append(seat.returns)
                    if seat.points is not None:
                        self._points[seat.player.name].append(seat.points)
        self._sink.game(record)
        if voided:
            self._sink.event(
                Event(
                    "warning",
                    None,
                    max(learner.frames for learner in self._learners.values()),
                    end.reason,
                )
            )

    def on_update(self, name: str, stats: UpdateStats) -> Directive | None:
        """A learner finished an update: curves, snapshots on schedule, and its round when one is
        due. The directive is for the caller to apply.
        """
        member, learner = self.members[name], self._learners[name]
        if member.failed:
            return None
        self._sink.series(name, learner.frames, self._curves(member, stats))
        if learner.frames >= self._next_snapshot[name]:
            self._next_snapshot[name] = next_due(
                learner.frames, self._config.snapshots.every_frames
            )
            self._snapshot(member, "schedule")
        if not member.finished and learner.frames >= self._config.stop_at_frames:
            self._finish(member)
            return None
        if directive := self._scheduled(member, learner.frames):
            return directive
        if self._config.pbt.enabled and learner.frames >= self._next_round[name]:
            self._next_round[name] = self._round_due(learner.frames)
            return self._round(member)
        return None

    def _tell_payoffs(self, least: int = 0) -> None:
        """Unless fewer games than `least` were added since the last time."""
        if self._payoffs is not None and self._untold >= least:
            self._untold = 0
            self._matchmaker.set_win_rates(self._payoffs.win_rates())

    def _scheduled(self, member: Member, frames: int) -> Directive | None:
        """What the member's schedule asks for now, unless it is in force already."""
        override = self._config.members.get(member.name)
        if override is None or not override.schedule:
            return None
        wanted = scheduled_hyperparams(
            self._config, member.name, tuple(member.typed_hyperparams.shaping), frames
        ).flat()
        changed = tuple(name for name, value in wanted.items() if value != member.hyperparams[name])
        if not changed:
            return None
        moves = (f"{name} {member.hyperparams[name]:.6g} -> {wanted[name]:.6g}" for name in changed)
        member.last_event = f"schedule: {', '.join(moves)}"
        self._sink.event(Event("schedule", member.name, frames, member.last_event))
        return Directive(member.name, member.round, None, None, wanted, changed)

    def _round_due(self, frames: int) -> int:
        return next_due(frames, self._config.pbt.period_frames, self._config.pbt.warmup_frames)

    def _set_due(self) -> None:
        """What is due next follows from the clocks and the configuration in force, so a period
        edited at a resume holds from there on.
        """
        frames = {name: learner.frames for name, learner in self._learners.items()}
        self._next_round = {name: self._round_due(count) for name, count in frames.items()}
        self._next_snapshot = {
            name: next_due(count, self._config.snapshots.every_frames)
            for name, count in frames.items()
        }

    def _curves(self, member: Member, stats: UpdateStats) -> dict[str, float]:
        """What the update, the games since the last one, and the member's hyperparameters say."""
        curves = {**asdict(stats), **member.hyperparams}
        # The clock is the row's own key.
        del curves["frames"]
        score = self.window.score(member.name)
        if score.games and self._rules.objective == "wins":
            curves["win_rate"] = score.objective
        for name, by_member in (("return", self._returns), ("points", self._points)):
            if values := by_member.pop(member.name, []):
                curves[name] = math.fsum(values) / len(values)
        return curves

    def applied(self, directive: Directive) -> None:
        """The caller applied a directive: weights, moments and hyperparameters are in force."""
        member = self.members[directive.member]
        member.hyperparams = dict(directive.hyperparams)
        if directive.copy_from is not None:
            member.generation += 1
            member.copies += 1
            member.newest_snapshot = directive.copy_snapshot
            self.window.restart(member.name, member.generation)
            self._matchmaker.set_generation(member.name, member.generation)
            if self._payoffs is not None:
                self._payoffs.copied(member.name, directive.copy_from, member.generation)
                self._tell_payoffs()

    def edit_hyperparams(self, values: Mapping[str, float]) -> None:
        """A person sets values for every member; PBT goes on from there."""
        for member in self.members.values():
            member.hyperparams = {
                **member.hyperparams,
                **{name: value for name, value in values.items() if name in member.hyperparams},
            }

    def edit(self, config: RunConfig) -> None:
        """What a person edited while training goes on (`pbt.config.resume.LIVE`); one that had
        reached an earlier stop learns again. Only at rest.
        """
        self._config = config
        self._set_due()
        self._matchmaker.set_evaluation_share(config.evaluation.share)
        for member in self.members.values():
            if member.finished:
                self._resume(member)

    def welcome(self, name: str, donor: str | None, text: str) -> None:
        """A member that joined is known to everybody. Before `run`, behind `load`. donor: the
        member whose weights it has;  text: how it came.
        """
        member = self.members[name]
        member.last_event = "joined"
        self._matchmaker.set_learning(name, True)
        if self._payoffs is not None and donor is not None:
            self._payoffs.copied(name, donor, member.generation)
        self._snapshot(member, "initial")
        self._sink.event(Event("join", name, self._learners[name].frames, text))

    def fail(self, name: str, text: str) -> None:
        """The member's learner is lost for good: it sits as a frozen opponent, is ranked no
        more, and the others go on. text: why.
        """
        member = self.members[name]
        if not member.learning:
            return
        member.failed = True
        member.last_event = "failed"
        self._matchmaker.set_learning(name, False)
        self._sink.event(
            Event(
                "failed",
                name,
                self._learners[name].frames,
                f"{text}; sits as a frozen opponent from now on",
            )
        )

    @property
    def finished(self) -> bool:
        """Nobody learns any more."""
        return not any(member.learning for member in self.members.values())

    # --- rounds and snapshots ---------------------------------------------------------------------

    def _round(self, member: Member) -> Directive | None:
        """Decide one round and record it with everything it was decided from. Returns what is to
        be applied, if anything changes.
        """
        peers = [
            peer for peer in self.members.values() if peer.role == member.role and not peer.failed
        ]
        scores = tuple(self.window.score(peer.name) for peer in peers)
        hyperparams = {peer.name: dict(peer.hyperparams) for peer in peers}
        frames, number = self._learners[member.name].frames, member.round + 1
        decision = decide(
            member.name, number, frames, scores, hyperparams, self._rules, self._config.seed
        )
        donor_snapshot = (
            self._donor_snapshot(self.members[decision.copy_from])
            if decision.copy_from is not None
            else None
        )
        directive = decision.directive(member.name, number, donor_snapshot)
        member.round = number
        rules = self._rules.to_mapping()
        self._sink.round(
            RoundRecord(
                member.name,
                number,
                frames,
                scores,
                hyperparams,
                rules,
                self._config.seed,
                decision.verdict,
                directive,
            )
        )
        self._announce(member, number, decision, frames)
        return directive if decision.copy_from or decision.mutated else None

    def _announce(self, member: Member, number: int, decision: Decision, frames: int) -> None:
        if decision.copy_from:
            member.last_event = f"round {number}: copied {decision.copy_from}"
            self._sink.event(Event("copy", member.name, frames, decision.verdict))
        elif decision.mutated:
            member.last_event = f"round {number}: mutated {', '.join(decision.mutated)}"
            self._sink.event(Event("mutate", member.name, frames, decision.verdict))
        else:
            member.last_event = f"round {number}: kept"

    def _snapshot(self, member: Member, reason: str) -> None:
        """Freeze what acts of a member, for others to play against. Unchanged weights are the
        same snapshot, recorded once.
        """
        state = self._learners[member.name].state()
        record = self._store_snapshot(
            member,
            reason,
            {name: tensor for name, tensor in state.items() if name.startswith(MODEL_PREFIX)},
        )
        if record.snapshot_id != member.newest_snapshot:
            member.newest_snapshot = record.snapshot_id
            self.add_opponent(record)

    def add_opponent(self, record: SnapshotRecord) -> None:
        """There is a new snapshot, which others may meet from now on."""
        self._sink.snapshot(record)
        entry = SnapshotEntry(record.snapshot_id, record.member, record.role)
        self._matchmaker.add_snapshot(entry)
        if self._payoffs is not None:
            self._payoffs.add_snapshot(entry)
            self._tell_payoffs()

    def _donor_snapshot(self, donor: Member) -> str:
        """Freeze a winner with its optimiser moments, for a loser to copy; it is not seated, its
        weights alone play under their own id.
        """
        record = self._store_snapshot(donor, "round", self._learners[donor.name].state())
        self._sink.snapshot(record)
        return record.snapshot_id

    def _store_snapshot(
        self, member: Member, reason: str, tensors: Mapping[str, Tensor]
    ) -> SnapshotRecord:
        learner = self._learners[member.name]
        snapshot_id, size = self._store.put(
            tensors, member.snapshot_metadata(learner.frames, learner.version)
        )
        clock = (member.generation, learner.version, learner.frames)
        return SnapshotRecord(
            snapshot_id, member.name, member.role, *clock, reason, member.newest_snapshot, size
        )

    def _finish(self, member: Member) -> None:
        member.finished = True
        self._snapshot(member, "final")
        self._matchmaker.set_learning(member.name, False)
        frames = self._learners[member.name].frames
        self._sink.event(
            Event(
                "finish",
                member.name,
                frames,
                f"reached {frames} frames; sits as a frozen opponent from now on",
            )
        )

    # --- resume -----------------------------------------------------------------------------------

    def state(self) -> JsonState:
        members = [member.state() for member in self.members.values()]
        waiting = {"returns": dict(self._returns), "points": dict(self._points)}
        payoffs = (
            None
            if self._payoffs is None
            else {
                "kind": self._payoffs.kind,
                "untold": self._untold,
                "source": self._payoffs.state(),
            }
        )
        return {
            "games": self.games,
            "members": members,
            "window": self.window.state(),
            "payoffs": payoffs,
            **waiting,
        }

    def load(self, state: JsonState) -> None:
        """Take over a checkpoint; a member that had reached an earlier stop goes on when the
        stop was moved, one that had failed tries again.
        """
        self.games = state["games"]
        self.window.load(state["window"])
        self._returns = defaultdict(
            list, {member: list(returns) for member, returns in state["returns"].items()}
        )
        # Older checkpoints know of no points.
        self._points = defaultdict(
            list, {member: list(points) for member, points in state.get("points", {}).items()}
        )
        self._load_payoffs(state.get("payoffs"))
        self._set_due()
        stored = {entry["name"]: Member.load(entry) for entry in state["members"]}
        if set(stored) != set(self.members):
            raise EngineError(
                f"the checkpoint holds members {sorted(stored)}; the configuration has "
                f"{sorted(self.members)}"
            )
        self.members = stored
        for member in self.members.values():
            self._resume(member)

    def _load_payoffs(self, stored: JsonState | None) -> None:
        """Older checkpoints have none, and those of another mode none of this kind: then
        everything is unknown again.
        """
        if self._payoffs is None:
            return
        if stored is not None and stored["kind"] == self._payoffs.kind:
            self._untold = stored["untold"]
            self._payoffs.load(stored["source"])
        else:
            self._matchmaker.set_win_rates({})

    def _resume(self, member: Member) -> None:
        frames = self._learners[member.name].frames
        if member.failed:
            member.failed, member.last_event = False, ""
            self._sink.event(Event("resume", member.name, frames, "had failed; tries again"))
        elif not member.finished:
            return
        member.finished = member.finished and frames >= self._config.stop_at_frames
        if not member.finished:
            self._matchmaker.set_learning(member.name, True)
