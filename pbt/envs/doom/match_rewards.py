"""The rewards of a match: what a step was worth to each seat.

They are a function of the variables before and after the step, and of the steps for which a weapon
has been held.
"""

from collections.abc import Sequence
from math import inf

from pbt.envs.doom.held_weapon import HELD_VARIABLES, HeldWeapon
from pbt.envs.doom.match_options import MatchOptions

# The dead lose these and the reborn get them, which is no merit of theirs.
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
# Most that counts in one step. A player that appears where another one stands does a million of
# damage.
_MOST = {"DAMAGECOUNT": 200.0, "DAMAGE_TAKEN": 200.0}
_OWN = ("FRAGCOUNT", "DEATHCOUNT", "DEAD", "HEALTH", "PLAYER_NUMBER", "PLAYER_COUNT")


class MatchRewards:
    """Computes rewards from game variables.

    Most variables count on from game to game, so only their changes are rewarded.

    names   the game variables to be measured, in the order of the columns of what is measured
    column  name -> column
    scores  columns of the frags of all players and bots
    """

    def __init__(self, options: MatchOptions) -> None:
        variables = [term.variable for term in options.terms]
        self._weapons = [HeldWeapon(options.terms) for _ in range(options.players)]
        self._holding = self._weapons[0].paid
        variables += HELD_VARIABLES if self._holding else ()
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

    def begin(self) -> None:
        """A game begins: no player has held a weapon."""
        for weapon in self._weapons:
            weapon.drop()

    def columns(self, names: Sequence[str]) -> list[int]:
        return [self.column[name] for name in names]

    def rewards(
        self, now: Sequence[Sequence[float]], before: Sequence[Sequence[float]]
    ) -> list[list[float]]:
        """By seat, the game's own reward and the terms, unweighted.

        They are plain numbers, since they are few.

        now     by seat, the variables in order, after the step
        before  the same before it
        """
        all_frags = (
            sum(now[0][column] - before[0][column] for column in self.scores) if self._lead else 0.0
        )
        rewards = [
            self._of_seat(after, earlier, all_frags)
            for after, earlier in zip(now, before, strict=True)
        ]
        if self._holding:
            self._pay_holding(rewards, now, before)
        return rewards

    def _pay_holding(
        self,
        rewards: list[list[float]],
        now: Sequence[Sequence[float]],
        before: Sequence[Sequence[float]],
    ) -> None:
        """Add what the weapons in the players' hands are worth. See `rewards`."""
        slot, ammunition = self.columns(HELD_VARIABLES)
        for weapon, worth, after, earlier in zip(self._weapons, rewards, now, before, strict=True):
            if after[self._dead] or after[self._deaths] > earlier[self._deaths]:
                weapon.drop()
                continue
            for place, value in enumerate(weapon.worth(after[slot], after[ammunition]), start=1):
                worth[place] += value

    def _of_seat(
        self, now: Sequence[float], before: Sequence[float], all_frags: float
    ) -> list[float]:
        """The game's own reward and the terms of one seat.

        all_frags  the change of the frags of all players and bots
        """
        own = now[self._frags] - before[self._frags]
        # The death may have come within the step.
        died = before[self._dead] or now[self._deaths] > before[self._deaths]
        reborn = died and not now[self._dead]
        worth = [own - (all_frags - own) / self._others if self._lead else own]
        for column, gain, loss, most, belonging in self._terms:
            change = (
                0.0 if reborn and belonging else max(-most, min(most, now[column] - before[column]))
            )
            worth.append(change * gain if change > 0 else -change * loss)
        return worth
