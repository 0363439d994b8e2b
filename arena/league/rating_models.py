"""The model behind a rating table: which one its objective asks for, and what it found.

win     games of two seats: Bradley-Terry with the first seat's advantage and Davidson's ties
        (`arena.stats.rating_fit`); larger tables: Plackett-Luce
margin  weighted least squares of mean margins (`arena.stats.margin_ratings`)
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from arena.league.results import Results
from arena.stats.bradley_terry import ELO_PER_NAT
from arena.stats.margin_ratings import MarginRatings, fit_margins
from arena.stats.margin_units import MarginResult
from arena.stats.plackett_luce import fit_jointly
from arena.stats.rating_fit import RatingFit, fit_meetings
from arena.stats.seat_advantage import SeatWorth
from pbt.objective import ObjectiveKind
from pbt.records import PlayerRef

ANCHOR = PlayerRef("scripted", "random")
NOT_SEEN = "the games show no seat advantage, because"


@dataclass(frozen=True, slots=True)
class RatedPlayer:
    """A player of a table. Its values are those of `arena.league.ratings.Standing`."""

    player: PlayerRef
    rating: float | None
    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True)
class Rated:
    """The players of a table with their ratings, and the model that gave them.

    players   all players
    unit      "Elo", or "a game" where ratings are margins
    model     the model in a few words
    notes     what the model found, one sentence each
    facts     the same as plain values
    joint     the ratings with their covariance; None where the model gives none
    expected  the score that a difference of ratings predicts in even seats; None where ratings
              predict no score
    above     the rated players by how far they are above the given one, with intervals of that;
              None where the model gives none
    """

    players: Sequence[RatedPlayer]
    unit: str
    model: str
    notes: tuple[str, ...]
    facts: Mapping[str, Any]
    joint: Callable[[], "JointRatings"] | None
    expected: Callable[[float], float] | None
    above: Callable[[PlayerRef], Mapping[PlayerRef, RatedPlayer]] | None = None


class JointRatings(NamedTuple):
    """Ratings with their joint uncertainty.

    players     [k] the rated players
    values      [k] their ratings
    covariance  [k, k] of the ratings, zeros in row and column of the anchor
    """

    players: tuple[PlayerRef, ...]
    values: NDArray[np.float64]
    covariance: NDArray[np.float64]


def rate(results: Results, objective: ObjectiveKind) -> Rated:
    """The ratings of a scope by its objective; `random` is 0, or where it never played, the mean.

    Raises: EngineError when a fit does not converge.
    """
    anchor = ANCHOR if ANCHOR in results.matrix.players else None
    if objective == "return":
        return Rated((), "a game", "returns", (), {}, None, None)
    if results.rankings:
        places = fit_jointly(results.rankings, anchor)
        players = [RatedPlayer(one.player, one.elo, one.low, one.high) for one in places.ratings]
        joint = JointRatings(places.players, places.values, places.covariance)
        return Rated(players, "Elo", "Plackett-Luce", (), {}, lambda: joint, _logistic)
    if objective == "margin":
        return _by_margins(results.margins, anchor)
    fit = fit_meetings(results.matrix.players, results.meetings, anchor)
    if fit is None:
        return Rated(_unrated(results.matrix.players), "Elo", "Bradley-Terry", (), {}, None, None)
    return _by_wins(fit)


def _logistic(difference: float) -> float:
    return float(1 / (1 + np.exp(-difference / ELO_PER_NAT)))


def _unrated(players: Iterable[PlayerRef]) -> list[RatedPlayer]:
    return [RatedPlayer(player, None, None, None) for player in players]


def _by_wins(fit: RatingFit[PlayerRef]) -> Rated:
    """The ratings of a fit. An end of an interval that the games do not give is None."""
    rated = [
        RatedPlayer(one.player, one.elo, one.low, one.high) for one in fit.differences(fit.anchor)
    ]
    notes, facts = _seat_facts(fit)
    return Rated(
        [*rated, *_unrated(player for player in fit.games if player not in set(fit.players))],
        "Elo",
        "Bradley-Terry with seat advantage" + (", Davidson's ties" if fit.tie else ""),
        notes,
        {**facts, "tie": fit.tie},
        lambda: JointRatings(fit.players, fit.elo, fit.covariance),
        lambda difference: float(fit.score(np.array([difference]))[0]),
        lambda reference: {
            one.player: RatedPlayer(one.player, one.elo, one.low, one.high)
            for one in fit.differences(reference)
        },
    )


def _seat_facts(fit: RatingFit[PlayerRef]) -> tuple[tuple[str, ...], dict[str, Any]]:
    """What the first seat is worth, in words and as values.

    Where the games show that it grows with strength, that is at the strength of the best player.
    Where they do not, it is first the mean over the games, and then the value at the strength of
    the best, if it may grow all the same.
    """
    if fit.seat is None:
        return (f"{NOT_SEEN} {fit.why_no_seat}",), {"seat_advantage": None}
    at_best, overall = fit.seat.at_best, fit.seat.overall
    there = "at the strength of the best"
    if overall is None:
        assert at_best is not None
        note = (
            f"the first seat is worth {_worth(at_best)} Elo {there}; "
            f"it grows by {fit.seat.slope:.2f} with each Elo"
        )
    else:
        note = f"the first seat is worth {_worth(overall)} Elo in the mean over the games; "
        note += (
            f"the games do not tell it {there}"
            if at_best is None
            else f"{there} {_worth(at_best)}, if it may grow with strength, which is not shown"
        )
    facts = {
        "at_best": None if at_best is None else at_best._asdict(),
        "overall": None if overall is None else overall._asdict(),
        "slope": fit.seat.slope,
    }
    return (note,), {"seat_advantage": facts}


def _worth(worth: SeatWorth) -> str:
    return f"{worth.value:+.0f} [{worth.low:+.0f}, {worth.high:+.0f}]"


def _explained(fit: MarginRatings[PlayerRef]) -> str:
    if fit.explained is None:
        return "what share of the margins ratings explain cannot be told"
    return f"ratings explain {fit.explained:.0%} of the margins"


def _by_margins(margins: Sequence[MarginResult[PlayerRef]], anchor: PlayerRef | None) -> Rated:
    """The ratings, or the margins against the panel where one number says too little."""
    fit = fit_margins(margins, anchor)
    rows = [
        RatedPlayer(one.player, shown.value, shown.low, shown.high)
        for one in fit.ratings
        for shown in [one.panel if fit.ranked_by == "panel" and one.panel is not None else one]
    ]
    misfit = "" if fit.misfit is None else f" (misfit p = {fit.misfit.p:.2g})"
    notes = [f"{_explained(fit)}{misfit}"]
    if fit.ranked_by == "panel":
        notes.append(
            "that is less than 80 %, and more than chance leaves, so the table shows mean margins "
            f"against the panel: all {len(fit.players) - 1} other rated players, equally weighted"
        )
    return Rated(
        rows,
        "a game",
        "mean margins" if fit.ranked_by == "panel" else "least squares of margins",
        tuple(notes),
        {
            "explained": fit.explained,
            "misfit": None if fit.misfit is None else asdict(fit.misfit),
            "tau": fit.tau,
            "deviations": {"pair": fit.deviations[0], "game": fit.deviations[1]},
            "ranked_by": fit.ranked_by,
        },
        None
        if fit.ranked_by == "panel"
        else lambda: JointRatings(fit.players, fit.values, fit.covariance),
        None,
        None if fit.ranked_by == "panel" else lambda reference: _above(margins, reference),
    )


def _above(
    margins: Sequence[MarginResult[PlayerRef]], reference: PlayerRef
) -> dict[PlayerRef, RatedPlayer]:
    """As `Rated.above`."""
    return {
        one.player: RatedPlayer(one.player, one.value, one.low, one.high)
        for one in fit_margins(margins, reference).ratings
        if one.value is not None
    }
