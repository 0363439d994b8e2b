"""Records for scripts and notebooks: frozen dataclasses whose fields are numbers, texts and tuples.

A list of them is a table: `pandas.DataFrame(records)` takes it, and `dataclasses.asdict` makes a
dictionary of each. Times are seconds since the epoch.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from arena.league.game_rows import StoredGame
from arena.league.match_standings import MatchStanding
from arena.league.matches import FRESH_KEY, Match
from arena.league.round_cards import Did, what_it_did
from arena.league.stored_snapshots import StoredSnapshot
from arena.league.summaries import MemberSummary
from pbt.objective import ObjectiveKind
from pbt.population.told_verdict import read_verdict
from pbt.records import GameKind, GameRecord, PlayerRef, RoundRecord

Labels = Mapping[str, str]
"""Id of a snapshot -> its name for people, such as "demo/m2@1.2M"."""


@dataclass(frozen=True, slots=True)
class FlatGame:
    """A finished game. Tuples have an entry for each seat, in the order of the seats.

    population  that played it; None in a match
    match       number of the match that it belongs to; None in a population, and where the match
                was not recorded
    number      running number in the population, or in the match
    kind        "training" or "evaluation"; games of matches are evaluation games
    players     names: of a live member "m2", of a snapshot "demo/m2@1.2M"
    places      0 is the best; ties share the smaller number
    returns     unshaped sums of rewards
    winner      the player that alone came first; None for a draw, and in games of one seat
    steps       decisions of all seats
    frames      that they covered, as the population counts them
    seed        of the game
    end_reason  the game's word, or "voided: ..." (such a game is never scored)
    greedy      players took their most likely action
    pair        number of the pair of games that it belongs to; None: of no pair
    """

    population: str | None
    match: int | None
    number: int
    kind: GameKind
    players: tuple[str, ...]
    places: tuple[int, ...]
    returns: tuple[float, ...]
    winner: str | None
    steps: int
    frames: int
    seed: int
    end_reason: str
    greedy: bool
    pair: int | None


@dataclass(frozen=True, slots=True)
class FlatMember:
    """A member of a population, as its newest snapshot and its rounds tell.

    role             that it learns
    frames           of its clock at its newest snapshot; 0 before the first
    generation       how often it had copied another member then
    version          how many updates its weights had taken then
    snapshots        how many of its snapshots have their weights
    newest_snapshot  id of its newest snapshot; None before the first
    rounds           how many PBT rounds it had
    """

    population: str
    member: str
    role: str
    frames: int
    generation: int
    version: int
    snapshots: int
    newest_snapshot: str | None
    rounds: int


@dataclass(frozen=True, slots=True)
class FlatSnapshot:
    """Frozen weights of a member.

    name             by which it can be named as a player: "demo/m2@1.2M"
    snapshot_id      the SHA-256 of the weight file
    frames           of its member's clock
    generation       how often the member had copied another one
    version          how many updates the weights had taken
    reason           "initial", "schedule", "round", "final" or "manual"
    parent_id        the snapshot that its member copied last or began with; None before any
    size_bytes       of the weight file
    is_anchor        its weights always stay
    weights_removed  it plays no more
    """

    population: str
    member: str
    role: str
    name: str
    snapshot_id: str
    frames: int
    generation: int
    version: int
    reason: str
    parent_id: str | None
    size_bytes: int
    is_anchor: bool
    weights_removed: bool
    created_at: float


@dataclass(frozen=True, slots=True)
class FlatRound:
    """A member's PBT round.

    round        number of the round, from 1
    frames       of the member's clock
    did          "copied", "mutated", "kept", "unchanged" or "unranked"
    copied_from  the member that it copied; None without a copy
    mutated      names of the hyperparameters that mutated
    objective    mean of what PBT ranks over the member's games: a win rate in [0, 1], a margin or a
                 return a game; None where none counted
    games        number of training games that it is taken over
    verdict      the reasons, in words
    """

    population: str
    member: str
    round: int
    frames: int
    did: Did
    copied_from: str | None
    mutated: tuple[str, ...]
    objective: float | None
    games: int
    verdict: str


@dataclass(frozen=True, slots=True)
class FlatValue:
    """A hyperparameter that is in force for a member from a round on.

    round   number of the round; 0 for the value that it began with
    frames  of the member's clock
    name    of the hyperparameter
    value   in force from then on
    """

    population: str
    member: str
    round: int
    frames: int
    name: str
    value: float


@dataclass(frozen=True, slots=True)
class FlatMatch:
    """A match; wins, draws, losses and score are those of its first player.

    match        number of the match
    env          the game
    players      names, in the order requested
    games        games planned
    played       games played so far
    wins         games in which the first player alone was first; None before any game
    draws        games in which it was first together with another seat
    losses       games in which another was before it
    score        (wins + draws / 2) / played, in [0, 1]; None before any game
    seed         of the match
    objective    what decides between the players
    greedy       players took their most likely action
    fresh        its games count in no rating
    failed       the error that ended it; None for any other match
    finished_at  None before its last game
    """

    match: int
    env: str
    players: tuple[str, ...]
    games: int
    played: int
    wins: int | None
    draws: int | None
    losses: int | None
    score: float | None
    seed: int
    objective: ObjectiveKind
    greedy: bool
    fresh: bool
    failed: str | None
    created_at: float
    finished_at: float | None


def flat_game(
    record: GameRecord, labels: Labels, *, population: str | None = None, match: int | None = None
) -> FlatGame:
    """The record of a game of a population or of a match."""
    players = tuple(name_of(seat.player, labels) for seat in record.seats)
    first = [place for place, seat in enumerate(record.seats) if seat.place == 0]
    return FlatGame(
        population=population,
        match=match,
        number=record.number,
        kind=record.kind,
        players=players,
        places=tuple(seat.place for seat in record.seats),
        returns=tuple(seat.returns for seat in record.seats),
        winner=players[first[0]] if len(first) == 1 < len(players) else None,
        steps=record.steps,
        frames=record.frames,
        seed=record.seed,
        end_reason=record.end_reason,
        greedy=record.greedy,
        pair=record.pair,
    )


def name_of(player: PlayerRef, labels: Labels) -> str:
    """The name of a player for people."""
    return labels.get(player.name, player.name) if player.kind == "snapshot" else player.name


def flat_stored_game(stored: StoredGame, labels: Labels, population: str | None) -> FlatGame:
    """The record of a game in the league."""
    return flat_game(stored.record, labels, population=population, match=stored.match_id)


def flat_member(population: str, member: MemberSummary) -> FlatMember:
    return FlatMember(
        population,
        member.name,
        member.role,
        member.frames,
        member.generation,
        member.version,
        member.snapshots,
        member.newest_snapshot,
        member.rounds,
    )


def flat_snapshot(stored: StoredSnapshot) -> FlatSnapshot:
    record = stored.record
    return FlatSnapshot(
        population=stored.population,
        member=record.member,
        role=record.role,
        name=stored.label,
        snapshot_id=record.snapshot_id,
        frames=record.frames,
        generation=record.generation,
        version=record.version,
        reason=record.reason,
        parent_id=record.parent_id,
        size_bytes=record.size_bytes,
        is_anchor=stored.is_anchor,
        weights_removed=stored.weights_removed,
        created_at=stored.created_at,
    )


def flat_round(population: str, record: RoundRecord) -> FlatRound:
    directive = record.directive
    own = next((score for score in record.scores if score.member == record.member), None)
    games = 0 if own is None else own.games
    return FlatRound(
        population,
        record.member,
        record.round,
        record.frames,
        what_it_did(directive, read_verdict(record.verdict)),
        directive.copy_from,
        directive.mutated,
        own.objective if own is not None and games else None,
        games,
        record.verdict,
    )


def flat_match(match: Match, standings: tuple[MatchStanding, ...], labels: Labels) -> FlatMatch:
    """standings: of its players, () before any game"""
    first = standings[0] if standings else None
    return FlatMatch(
        match=match.id,
        env=match.env_name,
        players=tuple(name_of(player, labels) for player in match.players),
        games=match.games,
        played=0 if first is None else first.games,
        wins=None if first is None else first.wins,
        draws=None if first is None else first.draws,
        losses=None if first is None else first.losses,
        score=None if first is None else (first.wins + first.draws / 2) / first.games,
        seed=match.seed,
        objective=match.objective,
        greedy=bool(match.settings.get("greedy")),
        fresh=bool(match.settings.get(FRESH_KEY)),
        failed=match.failed,
        created_at=match.created_at,
        finished_at=match.finished_at,
    )
