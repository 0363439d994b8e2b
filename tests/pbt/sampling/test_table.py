"""The moves of one table."""

from typing import cast

from gymnasium import spaces

from pbt.envs.actions import ActionSpec, GamePacking
from pbt.envs.contract import Game
from pbt.sampling.table import Table


def test_who_answers_first_shows_neither_in_the_game_nor_in_its_history() -> None:
    """Equal games have equal hashes, whatever the order in which policies were asked."""
    packing = GamePacking([ActionSpec.of(spaces.MultiDiscrete([9, 9]))] * 2)
    table = Table(0, cast("Game", None), packing)
    for seats in ((1, 0), (1,), (0, 1)):
        for seat in seats:
            action = (seat + 5, seat + 7)
            table.actions[seat] = action
            table.history.extend((seat, *action))
        taken = table.take_actions()
        assert list(taken) == sorted(seats) and table.actions == {}
    unpacked = packing.unpack(table.packed_history())
    assert [seat for seat, _ in unpacked] == [0, 1, 1, 0, 1]
    assert all(action == (seat + 5, seat + 7) for seat, action in unpacked)
