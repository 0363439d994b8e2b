"""Who met whom: results against players that do not learn, and among members."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Self

from arena.assessment.answer import Assessment
from arena.league.database import League
from arena.league.results import Results
from arena.league.stored_snapshots import StoredSnapshot, named_snapshots
from arena.report.records import FixedOpponent, MatrixFacts, MetPoint
from arena.stats.intervals import wilson_interval
from arena.stats.margin_cycles import pair_margins
from arena.stats.score import effective_games
from pbt.records import PlayerRef

MOST_PLAYERS = 24
"""More columns than this are no longer read on a page."""

Met = Mapping[tuple[PlayerRef, PlayerRef], tuple[float, float | None, float | None, int]]
"""(player, opponent) -> (value, low, high, games or units), from both sides."""


@dataclass(frozen=True, slots=True)
class Labels:
    """Which snapshots the players of a population's games are.

    own    player -> its snapshot of this population
    fixed  player that does not learn -> its label
    """

    own: Mapping[PlayerRef, StoredSnapshot]
    fixed: Mapping[PlayerRef, str]

    @classmethod
    def of(cls, league: League, population: str, players: Sequence[PlayerRef]) -> Self:
        ids = [player.name for player in players if player.kind == "snapshot"]
        named = named_snapshots(league, ids, population)
        found = {
            player: named[player.name]
            for player in players
            if player.kind == "snapshot" and player.name in named
        }
        own = {player: one for player, one in found.items() if one.population == population}
        fixed = {player: player.name for player in players if player.kind == "scripted"}
        anchors = {player: one.label for player, one in found.items() if one.is_anchor}
        return cls(own, fixed | anchors)


def scores_or_margins(results: Results, *, margins: bool) -> Met:
    """What each player made of each other. margins: as mean margins, else as scores."""
    if margins:
        pairs = pair_margins(results.margins)
        both = [one for pair in pairs for one in (pair, pair.turned())]
        return {(one.a, one.b): (one.mean, one.low, one.high, one.units) for one in both}
    found = {}
    for player, row in zip(results.matrix.players, results.matrix.rows(), strict=True):
        for other, tally in row.items():
            low, high = wilson_interval(tally.score, effective_games(tally))
            found[player, other] = (tally.score, low, high, tally.games)
    return found


def fixed_opponents(met: Met, labels: Labels) -> tuple[FixedOpponent, ...]:
    """The results of snapshots against each player that does not learn, `random` first."""
    made = []
    for opponent, label in labels.fixed.items():
        points = [
            MetPoint(one.record.member, one.record.frames, *met[player, opponent])
            for player, one in labels.own.items()
            if player != opponent and (player, opponent) in met
        ]
        if points:
            points.sort(key=lambda one: (one.frames, one.member))
            made.append(FixedOpponent(label, tuple(points)))
    return tuple(sorted(made, key=lambda one: (one.player != "random", one.player)))


def matrix_facts(met: Met, labels: Labels, assessment: Assessment) -> MatrixFacts | None:
    """The newest rated snapshot of each member against each other, and scripted players.

    The strongest members are kept, and players that met no other one are left out. None for fewer
    than two players.
    """
    by_label = {one.label: player for player, one in labels.own.items()}
    rated = [one.player for one in assessment.members if one.player in by_label]
    kept = [(by_label[label], label) for label in rated[:MOST_PLAYERS]]
    scripted = [(one, label) for one, label in labels.fixed.items() if one.kind == "scripted"]
    shown = [
        (player, label)
        for player, label in [*kept, *scripted]
        if any((player, other) in met for other, _ in [*kept, *scripted])
    ]
    if len(shown) < 2:
        return None
    cells = {}
    for row, (player, label) in enumerate(shown):
        for column, (other, _) in enumerate(shown):
            if (player, other) in met:
                cells[row, column] = MetPoint(label, 0, *met[player, other])
    return MatrixFacts(tuple(label for _, label in shown), cells, len(rated) - len(kept))
