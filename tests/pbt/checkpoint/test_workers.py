"""A slab is restored whole, or refused in words."""

import pytest
from gymnasium import spaces

from pbt.checkpoint.workers import load_slab, save_slab
from pbt.envs.contract import Role
from pbt.errors import CheckpointError
from pbt.transport.slab import Slab, role_layout


def slab(places: int) -> Slab:
    return Slab(
        role_layout(
            Role("player", spaces.MultiDiscrete([places, 3]), spaces.Discrete(places)),
            ("reward",),
            4,
            0,
        ),
        3,
    )


def test_a_slab_comes_back_as_it_was() -> None:
    first, second = slab(5), slab(5)
    first.column["actions"][1, 2] = 4
    load_slab(second, save_slab(first, {0, 2}), {1: 1})
    assert second.column["actions"][1, 2] == 4


def test_rows_of_a_game_that_changed_since_are_refused_by_name() -> None:
    with pytest.raises(
        CheckpointError,
        match=(
            r'column "mask" of role "player" was saved as \[1, 5, 5\], the game now needs '
            r"\[1, 5, 6\]"
        ),
    ):
        load_slab(slab(6), save_slab(slab(5), {0, 2}), {1: 1})
