"""What a step of a match was worth to each seat: a function of the variables before and after
it.
"""

from collections.abc import Sequence
from math import inf

from pbt.envs.doom.match_options import MatchOptions

# Taken from the dead and given to the reborn: no merit of theirs.
_BELONGINGS = (
    "HEALTH",
    "ARMOR",
    "AMMO",
    "WEAPON",
    "SELECTED_WEAPON",
    "SELECTED_WEAPON_AMMO",
    "ATTACK_READY",
    "ALTATTACK_READY",
)
# Of one step. Who appears where somebody stands does a million.
_MOST = {"DAMAGECOUNT": 200.0, "DAMAGE_TAKEN": 200.0}
_OWN = ("FRAGCOUNT", "DEATHCOUNT", "DEAD", "HEALTH", "PLAYER_NUMBER", "PLAYER_COUNT")


class MatchRewards:
    """names: the game variables to be measured, in the order of the columns of what is measured.
    Most count on from game to game: only changes say something.
    """

    def __init__(self, options: MatchOptions) -> None:
        variables = [term.variable for term in options.terms]
        self.names = tuple(dict.fromkeys((*options.seen, *_OWN, *options.score_names, *variables)))
        self.column = {name: column for column, name in enumerate(self.names)}
        self.scores = self.columns(options.score_names)
        self._terms = [
            (
                self.column[term.variable],
                term.gain,
                term.loss,
                _MOST.get(term.variable, inf),
                term.variable.rstrip("0123456789") in _BELONGINGS,
            )
            for term in options.terms
        ]
        self._frags, self._dead, self._deaths = self.columns(("FRAGCOUNT", "DEAD", "DEATHCOUNT"))
        self._lead, self._others = options.reward == "lead", options.players + options.bots - 1

    def columns(self, names: Sequence[str]) -> list[int]:
        return [self.column[name] for name in names]

    def rewards(
        self, now: Sequence[Sequence[float]], before: Sequence[Sequence[float]]
    ) -> list[list[float]]:
        """now, before: by seat, the variables in order -> by seat, the game's own reward and the
        terms, unweighted. Plain numbers: they are few.
        """
        everybody = (
            sum(now[0][column] - before[0][column] for column in self.scores) if self._lead else 0.0
        )
        return [
            self._of_seat(after, earlier, everybody)
            for after, earlier in zip(now, before, strict=True)
        ]

    def _of_seat(
        self, now: Sequence[float], before: Sequence[float], everybody: float
    ) -> list[float]:
        own = now[self._frags] - before[self._frags]
        # Perhaps within the step.
        died = before[self._dead] or now[self._deaths] > before[self._deaths]
        reborn = died and not now[self._dead]
        worth = [own - (everybody - own) / self._others if self._lead else own]
        for column, gain, loss, most, belonging in self._terms:
            change = (
                0.0 if reborn and belonging else max(-most, min(most, now[column] - before[column]))
            )
            worth.append(change * gain if change > 0 else -change * loss)
        return worth
