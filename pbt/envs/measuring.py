"""Measures whether a game has chance and can be replayed, where that follows from a user's files.

Such files are a game of the user's own, and content that a registered game is given by a path, for
example a scenario of Doom.
"""

from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import replace
from typing import Any, NamedTuple

from pbt.envs.contract import EnvSpec, Game
from pbt.envs.testing.check import table_problems, varies_with_seed
from pbt.envs.testing.playthrough import Referee, play
from pbt.errors import EnvError

PROBE_SEEDS = 5
PROBE_STEPS = 500
# Engines are slow, and a registered game keeps the rest of its contract by itself.
CONTENT_SEEDS = 4
CONTENT_STEPS = 150


class Measured(NamedTuple):
    """What a few games showed.

    replayable  the same seeds and actions gave the same games, at a table that had played others
                and at a fresh one
    chance      equal actions gave different games under different seeds
    """

    replayable: bool
    chance: bool


def measure(make: Callable[[], Game], name: str) -> Measured:
    """Measure the first steps of a few seeds of a user's game.

    Raises: EnvError where the game raises or breaks its contract.
    """
    with closing(make()) as first, closing(make()) as second:
        problems = table_problems(first)
        if problems:
            raise EnvError(f"env {name!r}: {'; '.join(problems)}")
        referee = Referee(first)
        replayable = _agree(referee, Referee(second), name, PROBE_SEEDS, PROBE_STEPS)
        return Measured(replayable, varies_with_seed(referee, name, PROBE_SEEDS, PROBE_STEPS))


def as_played(env: EnvSpec, options: Mapping[str, Any]) -> EnvSpec:
    """The game with these options: whether it can be replayed is measured where files decide it.

    env      a game, whose options may name the user's files
    Raises: EnvError where the game raises.
    """
    if not (env.replayable and env.paths(options)):
        return env
    with closing(env.make(**options)) as first, closing(env.make(**options)) as second:
        agree = _agree(Referee(first), Referee(second), env.name, CONTENT_SEEDS, CONTENT_STEPS)
    return replace(env, replayable=agree)


def _agree(first: Referee, second: Referee, name: str, seeds: int, steps: int) -> bool:
    """Whether two tables play the same games, one of them in reverse order and then once more.

    The order differs because a table that keeps something of its last game would come to the same
    games in the same order.

    Raises: EnvError where the game raises.
    """
    digests: dict[int, set[str]] = {seed: set() for seed in range(seeds)}
    upwards, downwards = range(seeds), range(seeds - 1, -1, -1)
    for referee, order in ((first, upwards), (second, downwards), (second, upwards)):
        for seed in order:
            game = play(referee, name, seed, seed, steps)
            if game.error is not None:
                raise game.error
            digests[seed].add(game.digest)
    return all(len(found) == 1 for found in digests.values())
