"""Wiring certificates: the parts of a run say what they work with, and here it is compared.

A certificate belongs to a member and covers the time from one PBT round of the member to the next,
or from one snapshot to the next where PBT is off. The first one begins with the member's first
update after a start. At its beginning the learner is asked to attest its weights and values for
some updates; games say all the time which weights answered for their seats.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain

from torch import Tensor

from pbt.errors import SnapshotError
from pbt.learning.attesting import Attestation
from pbt.learning.optimizer import OPTIMIZER_PREFIXES
from pbt.learning.return_scale import RETURNS
from pbt.models.digests import ActingForms, digest, scripted_digest
from pbt.models.weights import MODEL_PREFIX
from pbt.population.certificates import OpenCertificate, sample_problem, values_problem
from pbt.population.interfaces import RunSink, SnapshotStore
from pbt.population.ledger import Known, Ledger, LiveAnswer, Stored
from pbt.population.members import Member
from pbt.records import Event, PlayerRef, SnapshotRecord
from pbt.transport.messages import GameEnd, GamesOver
from pbt.transport.weights import PublishedWeights

# So many publications after a round are attested.
PUBLICATIONS = 4


class Certifier:
    """Makes the certificates of one start of a population.

    faults  every problem found so far, in words
    """

    def __init__(
        self, forms: ActingForms, reward_scale: float, sink: RunSink, store: SnapshotStore
    ) -> None:
        """forms: how the networks act; reward_scale: by which learners multiply shaping weights."""
        self._forms, self._reward_scale = forms, reward_scale
        self._sink, self._store = sink, store
        self._open: dict[str, OpenCertificate] = {}
        self._ledgers: defaultdict[str, Ledger] = defaultdict(Ledger)
        # Digest of every frozen player that was met, by name and role; None: its weights are gone.
        self._frozen: dict[tuple[str, str], int | None] = {}
        self.faults: list[str] = []

    # --- beginning and end ------------------------------------------------------------------------

    def began(self, name: str) -> bool:
        """Whether the member has a certificate."""
        return name in self._open

    def begin(self, member: Member, frames: int, *, copies: bool = False) -> None:
        """Finish the member's certificate and begin the next, with its present round.

        copies: the round has the member copy another one. The learner is to be asked afterwards.
        """
        self._finish(member.name)
        generation = member.generation + copies
        self._open[member.name] = OpenCertificate(member.name, member.round, frames, generation)
        self.ask(member.name)

    def _finish(self, name: str) -> None:
        if (done := self._open.pop(name, None)) is not None:
            self._sink.certificate(done.finished())

    def finish(self) -> None:
        """Record every certificate as it stands, at the end of a run."""
        for name in list(self._open):
            self._finish(name)

    def ask(self, name: str, publications: int = PUBLICATIONS) -> None:
        """Have the member's learner asked to attest its weights, and publications from now on."""
        ledger = self._ledgers[name]
        ledger.asked = max(publications, ledger.asked or 0)

    def asked(self, name: str) -> int | None:
        """Publications to ask the learner for now, None where nothing is to be asked.

        The caller asks `Attestor.begin`, after everything that the learner was told before.
        """
        ledger = self._ledgers[name]
        publications, ledger.asked = ledger.asked, None
        return publications

    # --- what learners say ------------------------------------------------------------------------

    def attested(
        self, member: Member, attestation: Attestation, published: PublishedWeights
    ) -> None:
        """Take a learner's attestation. published: what readers find now."""
        name, ledger = member.name, self._ledgers[member.name]
        certificate = self._open.get(name)
        generation = member.generation if certificate is None else certificate.generation
        ledger.attested(attestation.version, Known(generation, attestation.weights))
        self._compare_published(member, attestation, published)
        if attestation.values:
            problem = values_problem(
                attestation.values, member.hyperparams, attestation.factors, self._reward_scale
            )
            self._add(name, "values", problem, len(attestation.values))
        self._compare_rows(name, attestation, ledger.copied_at)
        self._compare_stored(name, ledger, attestation.version)
        self._compare_answers((name,))

    def _compare_published(
        self, member: Member, attestation: Attestation, published: PublishedWeights
    ) -> None:
        version, state = published.version, published.read(MODEL_PREFIX)
        weights = self._forms.digest(state, member.role)
        if max(version, published.version) > attestation.version:
            return  # the learner has published again meanwhile
        same = (version, weights) == (attestation.version, attestation.weights)
        problem = (
            f"readers find weights {weights:016x} as version {version}; its learner has "
            f"{attestation.weights:016x} as version {attestation.version}"
        )
        self._add(member.name, "published", None if same else problem)

    def _compare_rows(self, name: str, attestation: Attestation, copied_at: int) -> None:
        """Compare the rows of the learner's last update."""
        if attestation.oldest is not None:
            problem = (
                f"its learner trained on rows of version {attestation.oldest}, older than the "
                f"weights that it copied at version {copied_at}"
            )
            self._add(name, "generation", problem if attestation.oldest < copied_at else None)
        for of, sample in (("actor", attestation.actor), ("learner", attestation.trained)):
            if sample is not None:
                problem_of_sample = sample_problem(sample, of)
                self._add(name, f"{of}_log_prob", problem_of_sample, sample.rows, sample.largest)

    def updated(self, name: str) -> None:
        """Count an update of the member's learner."""
        self._ledgers[name].updates += 1
        self._compare_answers((name,))

    def lost(self, name: str, version: int) -> None:
        """Note that a process of the learner died, which stood at this version at the most."""
        self._ledgers[name].lost = version

    # --- copies and snapshots ---------------------------------------------------------------------

    def copied(
        self, name: str, version: int, snapshot_id: str, state: Mapping[str, Tensor]
    ) -> None:
        """Compare a learner's state after a copy with the snapshot.

        version: of its weights, at which its new generation begins
        """
        self._ledgers[name].copied_at = version
        try:
            donor = self._store.load(snapshot_id)
        except SnapshotError:
            return
        parts = {"weights": (MODEL_PREFIX,), "optimiser moments": OPTIMIZER_PREFIXES}
        if RETURNS in state:
            parts["scale of returns"] = (RETURNS,)
        for what, prefixes in parts.items():
            mine, theirs = (
                digest({key: one for key, one in tensors.items() if key.startswith(prefixes)})
                for tensors in (state, donor)
            )
            problem = f"its {what} after the copy are not those of snapshot {snapshot_id[:12]}"
            self._add(name, "copy", problem if mine != theirs else None)

    def stored(self, record: SnapshotRecord) -> None:
        """Note a new snapshot, and have the learner asked for the weights of its version."""
        weights = self._forms.digest(self._store.load(record.snapshot_id), record.role)
        self._frozen[record.snapshot_id, record.role] = weights
        snapshot = Stored(record.snapshot_id, record.generation, record.version, weights)
        self._ledgers[record.member].stored.append(snapshot)
        self.ask(record.member, 0)

    def _compare_stored(self, name: str, ledger: Ledger, version: int) -> None:
        for snapshot in ledger.take_stored(version):
            same = snapshot.weights in ledger.of(snapshot)
            problem = (
                f"snapshot {snapshot.snapshot_id[:12]} does not hold the learner's weights of "
                f"version {snapshot.version}"
            )
            self._add(name, "snapshots", None if same else problem)

    # --- what games say ---------------------------------------------------------------------------

    def game(self, end: GameEnd, number: int) -> None:
        """Compare the weights that answered for every seat with the player of its row.

        number: of the game in its population
        """
        players = [seat.player for seat in end.seats]
        for index, (seat, answers) in enumerate(zip(end.seats, end.answers, strict=False)):
            for answer in answers:
                self._answered(number, players, index, seat.generation, answer)
        self._compare_answers(one.name for one in players if one.kind == "member")

    def games(self, games: GamesOver, first: int) -> None:
        """Compare as `game` does. first: number of the first game in its population."""
        lineups = [[seat.player for seat in lineup] for lineup in games.lineups]
        # Games that end together were mostly answered for by the same weights.
        alike = defaultdict[tuple[int, int, int, int, int], list[int]](list)
        for entry, version, weights in games.answers:
            at, index = divmod(entry, games.seats)
            key = games.lineup[at], index, games.generations[entry], version, weights
            alike[key].append(first + at)
        for (lineup, index, generation, *answer), numbers in alike.items():
            self._answered(numbers[0], lineups[lineup], index, generation, answer, len(numbers))
        seated = chain.from_iterable(lineups)
        self._compare_answers(one.name for one in seated if one.kind == "member")

    def _answered(
        self,
        number: int,
        players: Sequence[PlayerRef],
        index: int,
        generation: int,
        answer: Sequence[int],
        games: int = 1,
    ) -> None:
        """Compare the weights that answered for a seat; those of a member wait for the comparison.

        number      of the game, the first of `games` in which all of this is the same
        players     by seat; index: the seat
        generation  of the player when the game began
        answer      (version, digest)
        """
        player, (version, weights) = players[index], answer
        if player.kind == "member":
            ledger = self._ledgers[player.name]
            known = number, generation, version, weights, ledger.updates, games
            ledger.answers.append(LiveAnswer(*known))
            return
        live = [one.name for one in players if one.kind == "member"]
        problem = self._frozen_problem(player, index, weights, number)
        # In games of frozen players alone, a problem shows in the certificates of all members.
        for name in dict.fromkeys(live or self._open):
            self._add(name, "opponents", problem, games)

    def _compare_answers(self, names: Iterable[str]) -> None:
        """Compare what waits of these members."""
        for name in dict.fromkeys(names):
            for answer, problem in self._ledgers[name].take_answers():
                self._add(name, "acting", problem, answer.seats)

    def _frozen_problem(
        self, player: PlayerRef, index: int, weights: int, number: int
    ) -> str | None:
        role = self._forms.seat_roles[index] if self._forms.seat_roles else ""
        expected = self._digest_of(player, role)
        if expected is None or expected == weights:
            return None
        return (
            f"{player.kind} {player.name[:12]} sits in seat {index} of game {number}, but weights "
            f"{weights:016x} answered, not {expected:016x}"
        )

    def _digest_of(self, player: PlayerRef, role: str) -> int | None:
        """The digest of a frozen player, None where its weights are gone."""
        if player.kind == "scripted":
            return scripted_digest(player.name)
        key = player.name, role
        if key not in self._frozen:
            try:
                self._frozen[key] = self._forms.digest(self._store.load(player.name), role)
            except SnapshotError:
                self._frozen[key] = None
        return self._frozen[key]

    # --- problems ---------------------------------------------------------------------------------

    @property
    def summary(self) -> str | None:
        """All faults in one line, None without any."""
        if not self.faults:
            return None
        others = len(self.faults) - 1
        return self.faults[0] + f" (and {others} more)" * bool(others)

    def _add(
        self,
        name: str,
        check: str,
        problem: str | None,
        compared: int = 1,
        largest: float | None = None,
    ) -> None:
        """Count comparisons in the member's certificate; a check's first problem is told at once.

        largest: the largest difference, where the check allows one
        """
        certificate = self._open.get(name)
        if certificate is not None and certificate.add(check, problem, compared, largest):
            text = f"wiring of {name}, round {certificate.round}: {problem}"
            self.faults.append(text)
            self._sink.event(Event("warning", name, certificate.frames, text))
