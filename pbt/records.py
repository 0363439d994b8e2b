"""Facts that leave the engine: frozen, plain, without torch. Rows and JSON are converted from
these by hand, each in one place.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

GameKind = Literal["training", "evaluation"]

_VOIDED = "voided"


def is_voided(end_reason: str) -> bool:
    """True for a game that was broken off by a fault ("voided: ..."). Such a game is never
    scored.
    """
    return end_reason.startswith(_VOIDED)


@dataclass(frozen=True, slots=True)
class PlayerRef:
    """Who sat in a seat: a live member (name "m2"), a frozen snapshot (content id), a scripted
    player ("random", "oneply") or a program that plays along (its call and the beginning of a hash
    of its file).
    """

    kind: Literal["member", "snapshot", "scripted", "guest"]
    name: str


@dataclass(frozen=True, slots=True)
class SeatRecord:
    """One seat of one finished game.

    generation, version_start, version_end  of a live member: copies before the game began; learner
    versions of its first and last action (else 0)
    place    0 = best, ties share the smaller number
    returns  unshaped sum of rewards
    points   the game's own count, None where it keeps none
    """

    player: PlayerRef
    generation: int
    version_start: int
    version_end: int
    place: int
    returns: float
    points: float | None = None


@dataclass(frozen=True, slots=True)
class GameRecord:
    """One finished game. (environment, count) is unique within an incarnation; `number` is the
    population's own running number.

    steps            decisions of all seats;  frames: tics covered by them, summed over all seats,
                     learning or not, opening plies included
    trajectory_hash  of every (seat, action) in order, so equal games can be counted once
    actions          evaluation games only: packed by `pack_actions`, enough to replay the game from
                     seed and seats
    opening_plies    how many of the first actions were drawn from the game's seed instead of from
                     the players
    end_reason       the game's word, or "voided: ..." (such a game is never scored)
    """

    number: int
    environment: int
    count: int
    kind: GameKind
    seed: int
    seats: tuple[SeatRecord, ...]
    steps: int
    frames: int
    end_reason: str
    trajectory_hash: str
    actions: bytes | None = None
    opening_plies: int = 0
    greedy: bool = False
    pair: int | None = None


@dataclass(frozen=True, slots=True)
class SnapshotRecord:
    """Frozen weights of a member. `snapshot_id` is the SHA-256 of the weight file; `reason`:
    initial, schedule, round, final, manual.
    """

    snapshot_id: str
    member: str
    role: str
    generation: int
    version: int
    frames: int
    reason: str
    parent_id: str | None
    size_bytes: int


@dataclass(frozen=True, slots=True)
class Against:
    """Games of one member against one opponent. opponent: as `pbt.population.scores.opponent_of`
    names it;  points: their sum.
    """

    opponent: str
    games: int
    points: float


@dataclass(frozen=True, slots=True)
class MemberScore:
    """What a round knew of one member: training games `first_game`..`last_game` (numbers,
    inclusive) in which it met others.

    games    those counted;  objective: mean over them of (win 1, else 0), or the mean return in
             single-agent games
    squares  sum of squared distances from that mean, None where no rule asks for it
    against  the same games by opponent, ordered by their names; empty where members are not
             compared on common opponents
    """

    member: str
    games: int
    objective: float
    first_game: int
    last_game: int
    squares: float | None = None
    against: tuple[Against, ...] = ()


@dataclass(frozen=True, slots=True)
class Directive:
    """What a round asks of one member; idempotent by (member, round).

    copy_from    the winning member whose snapshot `copy_snapshot` replaces weights, moments,
                 hyperparameters and normaliser; None: keep one's own
    hyperparams  the full set after copying and mutating;  mutated: the names that changed by
                 mutation
    """

    member: str
    round: int
    copy_from: str | None
    copy_snapshot: str | None
    hyperparams: Mapping[str, float]
    mutated: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RoundRecord:
    """One PBT decision with everything it was computed from: `pbt.population.decide` on these
    inputs gives `directive` again.
    """

    member: str
    round: int
    frames: int
    scores: tuple[MemberScore, ...]
    hyperparams: Mapping[str, Mapping[str, float]]
    rules: Mapping[str, float | int | str | bool | list[str]]
    seed: int
    verdict: str
    directive: Directive


@dataclass(frozen=True, slots=True)
class Event:
    """Something a person should be able to read later: kind in {"copy", "mutate", "edit",
    "checkpoint", "resume", "warning", ...}.
    """

    kind: str
    member: str | None
    frames: int
    text: str
