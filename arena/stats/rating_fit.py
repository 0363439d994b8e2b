"""Ratings of players that met in games of two seats, with intervals of their differences."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Generic

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from arena.stats.bradley_terry import ELO_PER_NAT, P, rated_group
from arena.stats.chances import Chances
from arena.stats.fitted import Fitted, most_likely
from arena.stats.meetings import Meetings, seated_cells, unseated_cells
from arena.stats.seat_advantage import SeatWorth, worth_at


@dataclass(frozen=True, slots=True)
class SeatAdvantage:
    """The advantage of the first seat, in Elo: gamma0 + gamma1 * strength.

    at_zero  gamma0, between two players whose mean rating is 0
    slope    gamma1, by which it grows with the mean rating of the two; None where its 95 %
             interval holds 0, and ratings are fitted without it
    overall  the advantage in the mean over the games, which is gamma0; None where there is a slope
    at_best  the advantage between two players as strong as the one with the highest rating. It is
             that of the model with gamma1 also where ratings are fitted without: the doubt about
             gamma1 is part of its interval. None where gamma1 cannot be fitted
    """

    at_zero: float
    slope: float | None
    overall: SeatWorth | None
    at_best: SeatWorth | None

    def at(self, strength: float) -> float:
        """The advantage between two players whose mean rating this is, in Elo."""
        return self.at_zero + (self.slope or 0.0) * strength


@dataclass(frozen=True, slots=True)
class RatingDifference(Generic[P]):
    """How far a player is above a reference, in Elo.

    player    the player
    elo       rating of the player less that of the reference
    low       lower end of the 95 % interval; None where the games give no lower end
    high      upper end, None likewise
    why_open  why an end is None
    """

    player: P
    elo: float
    low: float | None
    high: float | None
    why_open: str | None


@dataclass(frozen=True)
class RatingFit(Generic[P]):
    """The ratings of all players that games connect.

    players      [n] the rated players
    elo          [n] their ratings
    games        games of every player, also of those without a rating
    anchor       the player whose rating is 0; None: the mean is 0
    seat         the advantage of the first seat, None where it is left out
    why_no_seat  why it is left out
    tie          nu of Davidson 1970: two equals tie with probability nu / (2 + nu); None where no
                 game was tied
    tie_error    standard error of log nu
    fitted       the fit behind them
    """

    players: tuple[P, ...]
    elo: NDArray[np.float64]
    games: Mapping[P, float]
    anchor: P | None
    seat: SeatAdvantage | None
    why_no_seat: str | None
    tie: float | None
    tie_error: float | None
    fitted: Fitted

    @cached_property
    def covariance(self) -> NDArray[np.float64]:
        """[n, n] sandwich covariance of the ratings, in Elo squared."""
        return self.fitted.covariance(self._index(self.anchor)) * ELO_PER_NAT**2

    def differences(self, reference: P | None) -> list[RatingDifference[P]]:
        """Every rated player's difference to a reference, in the order of `players`.

        reference  a rated player; None: the mean of all rated players
        Raises: ValueError when the reference is not rated; EngineError when the end of an interval
        is not found.
        """
        bounded = self.fitted.bounded(self._index(reference))
        return [self._difference(player, reference, bounded) for player in self.players]

    def difference(self, player: P, reference: P | None) -> RatingDifference[P]:
        """The difference of one rated player; otherwise as `differences`."""
        return self._difference(player, reference, self.fitted.bounded(self._index(reference)))

    def _difference(
        self,
        player: P,
        reference: P | None,
        bounded: tuple[NDArray[np.bool_], NDArray[np.bool_]],
    ) -> RatingDifference[P]:
        at = self.players.index(player)
        low, elo, high = self._interval(at, self._index(reference))
        above, below = (bool(ends[at]) for ends in bounded)
        name = "the other players" if reference is None else str(reference)
        return RatingDifference(
            player,
            elo,
            low if below else None,
            high if above else None,
            _why_open(str(player), name, above=above, below=below),
        )

    def score(self, difference: NDArray[np.float64]) -> NDArray[np.float64]:
        """[k] expected scores in even seats of players that are this much stronger, [k] Elo."""
        log_nu = -math.inf if self.tie is None else math.log(self.tie)
        win, tie, _ = Chances.of(difference / ELO_PER_NAT, log_nu).p
        score: NDArray[np.float64] = win + tie / 2
        return score

    def _index(self, reference: P | None) -> int | None:
        return None if reference is None else self.players.index(reference)

    def _interval(self, at: int, to: int | None) -> tuple[float, float, float]:
        """(low, difference, high)."""
        elo = float(self.elo[at] - (self.elo.mean() if to is None else self.elo[to]))
        low, high = self.fitted.interval(at, to)
        return low * ELO_PER_NAT, elo, high * ELO_PER_NAT


def _why_open(player: str, reference: str, *, above: bool, below: bool) -> str | None:
    """Why a player is not bounded from above, or from below, by a reference."""
    if above and below:
        return None
    if not above and not below:
        return f"no chain of wins or draws connects {player} and {reference}, either way"
    ends = (player, reference) if above else (reference, player)
    return f"no chain of wins or draws leads from {ends[0]} to {ends[1]}"


def fit_meetings(
    players: Sequence[P],
    meetings: Meetings,
    anchor: P | None,
    *,
    seated: bool = True,
    penalised: bool = True,
) -> RatingFit[P] | None:
    """The ratings of players from their games.

    players    the players that the indices of the meetings mean
    anchor     the player whose rating is 0; None: the largest group of players that games connect
               is rated, and its mean is 0
    seated     False: the order of seats is not known
    penalised  False: plain maximum likelihood, which fails where a rating would be infinite
    Returns None when nothing can be rated: no players, or an anchor that is none of them.
    Raises: EngineError when the fit does not converge.
    """
    if not players or (anchor is not None and anchor not in players):
        return None
    inside = _connected(meetings, len(players), None if anchor is None else players.index(anchor))
    rated = tuple(player for player, kept in zip(players, inside, strict=True) if kept)
    to = None if anchor is None else rated.index(anchor)
    cells = (seated_cells if seated else unseated_cells)(meetings.among(inside), len(rated))
    fitted = most_likely(cells, to or 0, seated=seated, penalised=penalised)
    strengths = fitted.best.beta[: len(rated)]
    offset = float(strengths.mean()) if to is None else 0.0
    tie, tie_error = _tie(fitted)
    return RatingFit(
        rated,
        (strengths - offset) * ELO_PER_NAT,
        _played(players, meetings),
        anchor,
        _seat_advantage(fitted, offset),
        None if fitted.best.layout.seat else _why_no_seat(seated=seated),
        tie,
        tie_error,
        fitted,
    )


def _played(players: Sequence[P], meetings: Meetings) -> dict[P, float]:
    """How many games every player played."""
    games = np.bincount(meetings.first, meetings.games, len(players))
    games += np.bincount(meetings.second, meetings.games, len(players))
    return dict(zip(players, games.tolist(), strict=True))


def _connected(meetings: Meetings, players: int, anchor: int | None) -> NDArray[np.bool_]:
    """[players] whether a player is rated."""
    met = np.flatnonzero(meetings.games)
    graph = coo_array(
        (np.ones(len(met)), (meetings.first[met], meetings.second[met])), shape=(players, players)
    )
    return rated_group(connected_components(graph, directed=False)[1], anchor)


def _why_no_seat(*, seated: bool) -> str:
    return (
        "the games hold one order of seats only, so the first seat's advantage is in the ratings"
        if seated
        else "the order of seats is not known"
    )


def _tie(fitted: Fitted) -> tuple[float | None, float | None]:
    """(nu, standard error of log nu), None where no game was tied."""
    best = fitted.best
    if not best.layout.ties:
        return None, None
    contrast = np.zeros(best.layout.size)
    contrast[-1] = 1.0
    ratio = fitted.sandwich.of_ties(contrast).ratio
    return math.exp(best.beta[-1]), math.sqrt(ratio * best.covariance[-1, -1])


def _seat_advantage(fitted: Fitted, offset: float) -> SeatAdvantage | None:
    """The advantage, where the strength `offset` becomes the rating 0."""
    best, layout, players = fitted.best, fitted.best.layout, fitted.players
    if not layout.seat:
        return None
    slope = float(best.beta[players + 1]) if layout.slope else 0.0
    top = int(np.argmax(best.beta[:players]))
    return SeatAdvantage(
        (float(best.beta[players]) + slope * offset) * ELO_PER_NAT,
        slope if layout.slope else None,
        None if layout.slope else worth_at(best, top).times(ELO_PER_NAT),
        None if fitted.sloped is None else worth_at(fitted.sloped, top).times(ELO_PER_NAT),
    )
