"""What a step of a match was worth to each seat: a function of the variables before and after it."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from pbt.envs.doom.match_options import MatchOptions

# Taken from the dead and given to the reborn: no merit of theirs.
_BELONGINGS = ("HEALTH", "ARMOR", "AMMO", "WEAPON", "SELECTED_WEAPON", "SELECTED_WEAPON_AMMO", "ATTACK_READY", "ALTATTACK_READY")
# Of one step. Who appears where somebody stands does a million.
_MOST = {"DAMAGECOUNT": 200.0, "DAMAGE_TAKEN": 200.0}
_OWN = ("FRAGCOUNT", "DEATHCOUNT", "DEAD", "HEALTH", "PLAYER_NUMBER", "PLAYER_COUNT")


class MatchRewards:
    """names: the game variables to be measured, in the order of the columns of what is measured. Most count on from game to game: only changes say
    something.
    """

    def __init__(self, options: MatchOptions) -> None:
        variables = [term.variable for term in options.terms]
        self.names = tuple(dict.fromkeys((*options.seen, *_OWN, *options.score_names, *variables)))
        self.column = {name: column for column, name in enumerate(self.names)}
        self.scores = self.columns(options.score_names)
        self._shaping = self.columns(variables)
        self._gains = np.array([term.gain for term in options.terms])
        self._losses = np.array([term.loss for term in options.terms])
        self._most = np.array([_MOST.get(name, np.inf) for name in variables])
        self._belongings = np.array([name.rstrip("0123456789") in _BELONGINGS for name in variables], np.bool_)
        self._lead, self._others = options.reward == "lead", options.players + options.bots - 1

    def columns(self, names: Sequence[str]) -> list[int]:
        return [self.column[name] for name in names]

    def rewards(self, now: NDArray[np.float64], before: NDArray[np.float64]) -> NDArray[np.float64]:
        """now, before: [seats, variables] -> [seats, 1 + terms]: the game's own reward, then the terms, unweighted."""
        changes = now - before
        own = changes[:, self.column["FRAGCOUNT"]]
        if self._lead:
            own = own - (changes[0, self.scores].sum() - own) / self._others
        shaping = np.clip(changes[:, self._shaping], -self._most, self._most)
        shaping[np.ix_(self._reborn(now, before), self._belongings)] = 0.0
        worth = np.where(shaping > 0, shaping * self._gains, -shaping * self._losses)
        return np.concatenate([own[:, None], worth], axis=1)

    def _reborn(self, now: NDArray[np.float64], before: NDArray[np.float64]) -> NDArray[np.bool_]:
        """[seats], who lives again, perhaps after dying within the step."""
        dead, deaths = self.column["DEAD"], self.column["DEATHCOUNT"]
        reborn: NDArray[np.bool_] = ((before[:, dead] > 0) | (now[:, deaths] > before[:, deaths])) & (now[:, dead] == 0)
        return reborn
