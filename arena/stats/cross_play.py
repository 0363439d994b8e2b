"""Self-play and cross-play: returns of players with themselves and with partners they never met.

y_ij is the mean return of player i's seats in games with player j. Self-play is the mean of y_ii,
cross-play the mean of y_ij over i other than j, and their gap shows how far players rely on habits
that strangers do not share (Hu, Lerer, Peysakhovich and Foerster 2020, "Other-Play for zero-shot
coordination"). Intervals are Student's t over blocks of games: they say what other seeds of the
game would give for these players, not what other trainings would.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from arena.stats.seat_means import Mean, SeatValues, averaged, block_means, lead, mean_of
from pbt.errors import EngineError

Pairing = tuple[int, int]
"""(the player of a seat, the player of the other seats), by number."""


@dataclass(frozen=True, slots=True)
class PlayerReturns:
    """One player's returns.

    self_play   with itself in all seats
    cross_play  with each of the other players, all of them counting the same
    gap         self_play - cross_play, block by block
    with_each   y_ij by number of the other player; at its own number, self_play
    """

    self_play: Mean
    cross_play: Mean
    gap: Mean
    with_each: tuple[Mean, ...]


@dataclass(frozen=True, slots=True)
class CrossPlay:
    """The returns of all players.

    players     in the order of their numbers
    self_play   mean of y_ii
    cross_play  mean of y_ij over all ordered pairs of different players
    gap         self_play - cross_play, block by block
    leads       of every two players i < j: (i, j, how much more i got with itself than j with
                itself)
    blocks      number of blocks
    """

    players: tuple[PlayerReturns, ...]
    self_play: Mean
    cross_play: Mean
    gap: Mean
    leads: tuple[tuple[int, int, Mean], ...]
    blocks: int


def cross_play(games: Sequence[SeatValues[Pairing]], players: int) -> CrossPlay:
    """The returns of players, from whole blocks of games. players: how many there are.

    Raises: EngineError when a pair of players has no game.
    """
    y = block_means(games)
    everyone = range(players)
    if missing := [(i, j) for i in everyone for j in everyone if (i, j) not in y]:
        raise EngineError(f"players {missing[0]} of {players} have no game; expected whole blocks")
    selves = [y[i, i] for i in everyone]
    crossed = [averaged([y[i, j] for j in everyone if j != i]) for i in everyone]
    all_selves, all_crossed = averaged(selves), averaged(crossed)
    return CrossPlay(
        tuple(
            PlayerReturns(
                mean_of(selves[i]),
                mean_of(crossed[i]),
                _known(lead(selves[i], crossed[i])),
                tuple(mean_of(y[i, j]) for j in everyone),
            )
            for i in everyone
        ),
        mean_of(all_selves),
        mean_of(all_crossed),
        _known(lead(all_selves, all_crossed)),
        tuple(
            (i, j, _known(lead(selves[i], selves[j]))) for i in everyone for j in everyone if i < j
        ),
        len(all_selves),
    )


def _known(mean: Mean | None) -> Mean:
    """The mean; whole blocks have games of every pair."""
    if mean is None:
        raise EngineError("no block has games of all players; expected whole blocks")
    return mean
