"""Records: facts that leave the engine as frozen, plain values, without torch.

Database rows and JSON are converted from these by hand, each in one place.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

GameKind = Literal["training", "evaluation"]

_VOIDED = "voided"


def is_voided(end_reason: str) -> bool:
    """Whether a fault broke the game off ("voided: ...").

    Such a game is never scored.
    """
    return end_reason.startswith(_VOIDED)


@dataclass(frozen=True, slots=True)
class PlayerRef:
    """The player that sat in a seat.

    kind  "member", live; "snapshot", frozen weights; "scripted", without a network; or "guest", a
          program that plays along
    name  of a member "m2", of a snapshot its content id, of a scripted player "random" or "oneply",
          of a guest its call and the beginning of a hash of its file
    """

    kind: Literal["member", "snapshot", "scripted", "guest"]
    name: str


@dataclass(frozen=True, slots=True)
class SeatRecord:
    """One seat of one finished game.

    generation     of a live member: copies that it took before the game began; else 0
    version_start  of a live member: the learner's version at its first action, opening plies not
                   counted; None: unknown, because it never acted or the row is of an earlier
                   program, which did not always note it. Of others 0
    version_end    the same at its last action; 0 where it never acted
    place          0 is the best; ties share the smaller number
    returns        unshaped sum of rewards
    points         the game's own count; None where it keeps none
    """

    player: PlayerRef
    generation: int
    version_start: int | None
    version_end: int
    place: int
    returns: float
    points: float | None = None


@dataclass(frozen=True, slots=True)
class GameRecord:
    """One finished game.

    number           the population's own running number
    environment      the table; (environment, count) is unique within an incarnation
    count            the running number of the game at its table
    steps            decisions of all seats
    frames           tics covered by them, summed over all seats, learning or not, with opening
                     plies
    end_reason       the game's word, or "voided: ..." (such a game is never scored)
    trajectory_hash  hash of every (seat, action) in order, so that equal games can be counted once
    actions          evaluation games only: packed by `pack_actions`; with seed and seats they are
                     enough to replay the game
    opening_plies    how many of the first actions the game's seed decided instead of the players
    greedy           players took their most likely action
    pair             number of the pair of games that it belongs to; None: of no pair
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
    """Frozen weights of a member.

    snapshot_id  the SHA-256 of the weight file
    reason       "initial", "schedule", "round", "final" or "manual"
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
    """Games of one member against one opponent.

    opponent  as `pbt.population.scores.Seated.opponent` names it
    points    the sum of the games' points
    squares   sum of squared distances of the points from their mean; None where no rule asks for it
    """

    opponent: str
    games: int
    points: float
    squares: float | None = None


@dataclass(frozen=True, slots=True)
class MemberScore:
    """What a PBT round knew of one member.

    games       number of training games counted
    objective   mean of their points, as `pbt.population.scores.Seated.points` counts them
    first_game  number of the first game counted
    last_game   number of the last game counted
    squares     sum of squared distances from the mean; None where no rule asks for it
    against     the same games by opponent, ordered by the opponents' names; empty where members are
                not compared on common opponents
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
    """What a round asks of one member. Applying it twice is the same as once, by (member, round).

    copy_from      the member whose snapshot replaces weights, moments, hyperparameters and
                   normaliser; None: keep one's own
    copy_snapshot  that snapshot
    hyperparams    the full set after copying and mutating
    mutated        the names that changed by mutation
    """

    member: str
    round: int
    copy_from: str | None
    copy_snapshot: str | None
    hyperparams: Mapping[str, float]
    mutated: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RoundRecord:
    """One PBT decision with everything that it was computed from.

    `pbt.population.pbt_decision` on these inputs gives `directive` again.
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
class WiringCheck:
    """One comparison of a wiring certificate.

    name      a name of `pbt.population.certificates.CHECKS`
    compared  how many things were compared; 0: there was nothing to compare
    largest   the largest difference, where one is allowed for rounding; None elsewhere
    problem   the first difference that should not be, in words; None: there was none
    """

    name: str
    compared: int
    largest: float | None
    problem: str | None


@dataclass(frozen=True, slots=True)
class WiringCertificate:
    """What the parts of a run worked with, compared, from one round of a member to the next.

    round   the member's last round when it began; 0 before the first, and without PBT
    frames  the member's clock when it began
    """

    member: str
    round: int
    frames: int
    checks: tuple[WiringCheck, ...]

    @property
    def problems(self) -> tuple[str, ...]:
        """What differs, in words; empty where everything agrees."""
        return tuple(check.problem for check in self.checks if check.problem is not None)


@dataclass(frozen=True, slots=True)
class Event:
    """One line of a training's history, stored in the league.

    kind  "copy", "mutate", "edit", "defaults", "checkpoint", "resume", "warning" and others
    """

    kind: str
    member: str | None
    frames: int
    text: str
