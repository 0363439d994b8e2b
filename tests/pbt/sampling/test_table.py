"""The moves of one table."""

from typing import cast

from pbt.envs.contract import Game
from pbt.sampling.table import Table, unpack_actions


def test_who_answers_first_shows_neither_in_the_game_nor_in_its_history() -> None:
    """Equal games have equal hashes, whatever the order in which policies were asked."""
    table = Table(0, cast("Game", None))
    for seats in ((1, 0), (1,), (0, 1)):
        for seat in seats:
            action = (seat + 5, seat + 7)
            table.actions[seat] = action
            table.history.extend((seat, *action))
        taken = table.take_actions()
        assert list(taken) == sorted(seats) and table.actions == {}
    assert [seat for seat, _ in unpack_actions(table.packed_history(), (2, 2))] == [0, 1, 1, 0, 1]
    assert all(
        action == (seat + 5, seat + 7)
        for seat, action in unpack_actions(table.packed_history(), (2, 2))
    )
