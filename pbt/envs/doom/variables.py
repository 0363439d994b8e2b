"""Scales Doom's game variables to numbers that a network can take."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

# A variable's ordinary range, by which it is divided so that the network sees numbers around 1.
# Variables not named here count single things.
_UNITS = {
    "HEALTH": 100.0,
    "ARMOR": 100.0,
    "DAMAGECOUNT": 100.0,
    "FRAGCOUNT": 10.0,
    "KILLCOUNT": 10.0,
    "HITCOUNT": 10.0,
}
_UNITS |= dict.fromkeys(("SELECTED_WEAPON_AMMO", *(f"AMMO{index}" for index in range(10))), 50.0)
_UNITS |= {
    "POSITION_X": 1000.0,
    "POSITION_Y": 1000.0,
    "POSITION_Z": 1000.0,
    "ANGLE": 180.0,
    "PITCH": 90.0,
    "ROLL": 180.0,
}
# Health is -999900 after a telefrag.
LARGEST = 10.0


def scales(names: Sequence[str]) -> NDArray[np.float64]:
    """[n], the factors that the values are multiplied by."""
    return np.array([1.0 / _UNITS.get(name, 1.0) for name in names])


def scaled(values: NDArray[np.float64], by: NDArray[np.float64]) -> NDArray[np.float32]:
    """The scaled values, between -LARGEST and LARGEST, a new array."""
    result: NDArray[np.float32] = np.minimum(np.maximum(values * by, -LARGEST), LARGEST).astype(
        np.float32
    )
    return result
