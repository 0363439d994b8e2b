"""Rewards for holding a loaded weapon, instead of changing it all the time.

After the rewards that Petrenko et al. 2020 describe (section A.3) and the code released with the
paper pays: a weapon that has been in the hand for five steps and has ammunition.
"""

from collections.abc import Sequence

from pbt.envs.doom.terms import RewardTerm

HELD_STEPS = 5
HELD_VARIABLES = ("SELECTED_WEAPON", "SELECTED_WEAPON_AMMO")
_NO_WEAPON = -1.0


class HeldWeapon:
    """One player's weapon, and for how many steps it has been the same.

    paid  whether any term pays for holding
    """

    def __init__(self, terms: Sequence[RewardTerm]) -> None:
        self._rates = [term.held for term in terms]
        self.paid = any(self._rates)
        self.drop()

    def drop(self) -> None:
        """The player begins, or is dead: it has held no weapon."""
        self._slot, self._steps = _NO_WEAPON, 0

    def worth(self, slot: float, ammunition: float) -> list[float]:
        """What a step is worth by term, 0 for terms that pay for something else.

        slot        of the weapon that is held after the step, less than 1 for none
        ammunition  that this weapon has
        """
        self._steps = self._steps + 1 if slot == self._slot else 1
        self._slot = slot
        pays = slot >= 1 and ammunition > 0 and self._steps >= HELD_STEPS
        place = int(slot) - 1
        return [rates[place] if pays and place < len(rates) else 0.0 for rates in self._rates]
