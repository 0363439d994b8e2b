"""The facts of a report: plain records, which the pages are drawn from."""

from collections.abc import Mapping
from dataclasses import dataclass

from arena.assessment.answer import Assessment
from arena.assessment.records import StrengthHistory
from arena.league.lineage import Histories, Lineage
from pbt.config.difference import ValueDifference


@dataclass(frozen=True, slots=True)
class MetPoint:
    """The result of one snapshot against one opponent.

    member  that made it
    frames  the member's clock when it was made
    value   the score, (wins + draws / 2) / games; where margins count, the mean margin a game
    low     lower end of the 95 % interval; None where games give none
    high    upper end of that interval; None where games give none
    games   number of games; where margins count, of units
    """

    member: str
    frames: int
    value: float
    low: float | None
    high: float | None
    games: int


@dataclass(frozen=True, slots=True)
class FixedOpponent:
    """The results of a population's snapshots against a player that does not learn.

    player  its label
    points  one for each snapshot that met it, by frames
    """

    player: str
    points: tuple[MetPoint, ...]


@dataclass(frozen=True, slots=True)
class MatrixFacts:
    """Results of players against each other, the strongest first.

    players  [n] labels
    cells    (row, column) -> result of the row's player; absent where the two never met
    left_out number of members that are weaker than those shown
    """

    players: tuple[str, ...]
    cells: Mapping[tuple[int, int], MetPoint]
    left_out: int


@dataclass(frozen=True, slots=True)
class ConfigFacts:
    """The config in force.

    beside       the shipped config of the same game that it is nearest to; None where there is
                 none, and the defaults stand for it
    differences  from that one
    toml         all of it
    """

    beside: str | None
    differences: tuple[ValueDifference, ...]
    toml: str


@dataclass(frozen=True, slots=True)
class ProofFacts:
    """The chain of digests over the population's rows.

    records  its length
    head     hexadecimal
    checked  whether the rows were compared with it
    problems what differs, one line each; empty where nothing does
    """

    records: int
    head: str
    checked: bool
    problems: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PopulationReport:
    """All that a report of a population shows. Times are seconds since the epoch.

    assessment    what may be said of it
    strengths     of its snapshots; None where they cannot be read
    opponents     results against players that do not learn
    matrix        results among its members' newest snapshots; None where no player beats another
    histories     rounds, copies and values of its members
    ways          (label, how it came to be) of the best snapshot of each role that has one
    config        in force
    proof         of its rows
    created_at    when the population was made
    made_at       when the report was made
    ran_s         seconds that its trainers ran; None where not known
    placement     of its newest training; "" where not known
    versions      of the packages when the population was made
    versions_now  of the packages that made the report
    machine       that made the report: what -> value, in words
    """

    assessment: Assessment
    strengths: StrengthHistory | None
    opponents: tuple[FixedOpponent, ...]
    matrix: MatrixFacts | None
    histories: Histories
    ways: tuple[tuple[str, Lineage], ...]
    config: ConfigFacts
    proof: ProofFacts
    created_at: float
    made_at: float
    ran_s: float | None
    placement: str
    versions: Mapping[str, str]
    versions_now: Mapping[str, str]
    machine: Mapping[str, str]
