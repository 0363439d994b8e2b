"""The tree search that comes as an example of a guest: it sees the right board, and it is no
weak player.
"""

import sys
from pathlib import Path

import numpy as np
import pyspiel
import pytest

from bench import mcts_bot
from pbt.envs.registry import spec
from pbt.seeding import generator
from tests.arena.guests.guest_match import play

BOT = f"exec:{sys.executable} {Path(mcts_bot.__file__)} --simulations 100"


def test_every_board_is_understood() -> None:
    """Against OpenSpiel's own game, played beside PettingZoo's."""
    rng, boards = generator(1, "boards"), 0
    game = spec("connect_four").make()
    for seed in range(60):
        (turn,), twin = game.reset(seed), pyspiel.load_game("connect_four").new_initial_state()
        while True:
            found = mcts_bot.state_of(turn.observation.tolist())
            assert str(found) == str(twin) and found.current_player() == twin.current_player()
            boards += 1
            assert turn.mask is not None
            action = int(rng.choice(np.flatnonzero(turn.mask)))
            twin.apply_action(action)
            turns = game.step({turn.seat: (action,)})
            if turns[0].over:
                break
            (turn,) = turns
    assert boards > 1000


def test_an_impossible_board_is_refused() -> None:
    board = np.zeros((6, 7, 2), int)
    board[5, 3, 0] = board[4, 3, 0] = 1
    with pytest.raises(ValueError, match="no game leads to"):
        mcts_bot.state_of(board.tolist())


def test_it_beats_the_one_ply_player() -> None:
    played = play(["oneply", BOT], 20)
    assert set(played.reasons) == {"rules"}
    points = [
        1.0 - end.seats[index % 2].place if end.seats[0].place != end.seats[1].place else 0.5
        for index, end in enumerate(played.ends)
    ]
    assert sum(points) < 6
