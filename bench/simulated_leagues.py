"""Leagues of known strengths, for `bench.rating_coverage` and `bench.seat_advantage`."""

import math
from dataclasses import dataclass
from itertools import combinations, pairwise

import numpy as np
from numpy.typing import NDArray

from arena.stats.bradley_terry import ELO_PER_NAT
from arena.stats.chances import Chances
from arena.stats.meetings import Meetings

LADDER = tuple(100.0 * rung for rung in range(8))


@dataclass(frozen=True, slots=True)
class Cell:
    """A kind of league.

    name      what it is called
    strength  [players] true ratings in Elo, the anchor's first; 0 for the anchor
    met       (i, j) players that meet, i < j
    pairs     seed pairs of each two that meet
    singles   single games of each two; a coin decides the seats
    seat      advantage of the first seat between players of mean rating 0, in Elo
    slope     how much it grows with the mean rating
    ties      chance that two equals tie, where no seat has an advantage
    shared    how much the two games of a seed pair depend on each other, in [-1, 1]: above 0 the
              same player is favoured in both, below 0 the same seat
    """

    name: str
    strength: tuple[float, ...]
    met: tuple[tuple[int, int], ...]
    pairs: int
    singles: int
    seat: float = 0.0
    slope: float = 0.0
    ties: float = 0.0
    shared: float = 0.0

    @property
    def dense(self) -> bool:
        return self.name.endswith("dense")

    @property
    def strong(self) -> bool:
        return self.name.startswith("strong")


def cells() -> list[Cell]:
    """All cells, in the order of their seeds."""
    everybody = tuple(combinations(range(len(LADDER)), 2))
    circle = tuple(pair for pair in everybody if (pair[1] - pair[0]) % 8 in (1, 2, 6, 7))
    found = []
    for met, pairs, singles, kind in ((everybody, 20, 10, "dense"), (circle, 4, 2, "sparse")):
        for ties in (0.0, 0.5):
            seats = ((0.0, 0.0), (100.0, 0.0), (300.0, 0.0), (0.0, 300.0 / LADDER[-1]))
            for seat, slope in seats:
                name = f"{'rising' if slope else int(seat)}-{ties:g}-{kind}"
                found.append(Cell(name, LADDER, met, pairs, singles, seat, slope, ties))
    for name, shared in (("luck", -0.5), ("matchup", 0.5)):
        found.append(Cell(f"shared-{name}", LADDER, everybody, 20, 10, 100, shared=shared))
    for top, rungs, alone in ((1000.0, 4, 1000), (1300.0, 5, 6000)):
        steps = tuple(top * rung / rungs for rung in range(rungs + 1))
        climbed = {*pairwise(range(rungs + 1)), *((0, rung) for rung in range(1, rungs + 1))}
        for ties in (0.0, 0.5):
            name = f"strong-{top:.0f}-{ties:g}"
            found.append(
                Cell(f"{name}-ladder", steps, tuple(sorted(climbed)), 20, 10, 100, 0, ties)
            )
            found.append(Cell(f"{name}-alone", (0.0, top), ((0, 1),), alone, 0, 100, 0, ties))
    return found


def chances(cell: Cell) -> NDArray[np.float64]:
    """[met, 2, 3] P(i wins, ties, loses) where i has the first seat, and where j has it."""
    i, j = np.array(cell.met).T
    strength = np.array(cell.strength)
    seat = cell.seat + cell.slope * (strength[i] + strength[j]) / 2
    log_nu = math.log(2 * cell.ties / (1 - cell.ties)) if cell.ties else -math.inf
    d = (strength[i] - strength[j]) / ELO_PER_NAT
    first, second = (Chances.of(d + side * seat / ELO_PER_NAT, log_nu).p.T for side in (1.0, -1.0))
    return np.stack([first, second], axis=1)


def together(p: NDArray[np.float64], q: NDArray[np.float64], shared: float) -> NDArray[np.float64]:
    """[3, 3] chances of both outcomes of a seed pair, with p and q [3] those of each game."""
    # The outcomes of both games from one uniform number, of the same or of the opposite side.
    ordered = q if shared > 0 else q[::-1]
    ends = np.minimum(np.cumsum(p)[:, None], np.cumsum(ordered)[None, :])
    coupled = np.diff(np.diff(ends, axis=0, prepend=0.0), axis=1, prepend=0.0)
    coupled = np.maximum(coupled if shared > 0 else coupled[:, ::-1], 0.0)
    mixed = (1 - abs(shared)) * np.outer(p, q) + abs(shared) * coupled
    return np.asarray(mixed / mixed.sum())


def drawn(cell: Cell, rng: np.random.Generator) -> Meetings:
    """The games of one league."""
    p = chances(cell)
    joint = np.stack([together(one, other, cell.shared) for one, other in p])
    paired = rng.multinomial(cell.pairs, joint.reshape(-1, 9)).reshape(-1, 3, 3)
    first = rng.binomial(cell.singles, 0.5, len(p))
    single = rng.multinomial(np.stack([first, cell.singles - first], axis=1), p)
    i, j = np.array(cell.met, dtype=np.intp).T
    return Meetings(i, j, paired.astype(float), single.astype(float))


def losses(cell: Cell) -> float:
    """How many games the strongest player is expected to lose."""
    top, lost = len(cell.strength) - 1, 0.0
    for (_, j), (one, other) in zip(cell.met, chances(cell), strict=True):
        if j == top:
            lost += cell.pairs * (one[0] + other[0]) + cell.singles * (one[0] + other[0]) / 2
    return float(lost)
