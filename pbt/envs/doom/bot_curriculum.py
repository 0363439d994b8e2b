"""The curriculum of a match's bots: how good they are, by how the table's games went before.

The rules are those of the code released with Petrenko et al. 2020: a level begins at 20, and each
bot of a game has a skill of its own, drawn around the level.
"""

from collections.abc import Sequence

from pbt.seeding import generator

FIRST_LEVEL, STEP = 20.0, 10.0
EASIEST, HARDEST = 10, 100
DEVIATION = 10.0


def drawn_skills(seed: int, level: float, bots: int) -> list[int]:
    """The skill of each bot of a game, in tens from EASIEST to HARDEST.

    seed  of the game, which decides them together with the level
    """
    drawn = generator(seed, "bot skills").normal(level, DEVIATION, bots)
    return [min(max(10 * round(skill / 10.0), EASIEST), HARDEST) for skill in drawn.tolist()]


def level_after(level: float, own: float, others: Sequence[float]) -> float:
    """The level after a game at `level`.

    It rises when the player has come before everybody, and falls when it is the last or the last
    but one; with one other it falls when the player has lost.

    own     frags of the player
    others  frags of the bots
    """
    before = sum(frags > own for frags in others)
    if own > max(others):
        level += STEP
    elif before and before >= len(others) - 1:
        level -= STEP
    return min(max(level, float(EASIEST)), float(HARDEST))
