"""The one-ply player against brute force.

Brute force plays every column on a copy of the real game and looks whether it won.
"""

import numpy as np
import pytest
from gymnasium import spaces
from pettingzoo.classic.connect_four.connect_four import raw_env

from pbt.envs.actions import ActionSpec
from pbt.envs.adapters.pettingzoo_aec import PettingZooAEC
from pbt.envs.classic.connect_four import TWIN, one_ply
from pbt.envs.contract import SeatTurn
from pbt.envs.scripted import pick


def positions(count: int) -> list[tuple[list[int], SeatTurn]]:
    """(board, turn to act) of random games; a board is 42 cells, 0 empty, 1 and 2 the players."""
    found = []
    game = TWIN()
    assert isinstance(game, PettingZooAEC)
    rng = np.random.default_rng(1)
    while len(found) < count:
        turn = game.reset(0)[-1]
        while not turn.over:
            found.append((list(game._env.board), turn))
            assert turn.mask is not None
            column = int(rng.choice(np.flatnonzero(turn.mask)))
            turn = game.step({turn.seat: (column,)})[-1]
    return found[:count]


def wins(board: list[int], column: int, seat: int) -> bool:
    """Does a piece of that seat in the column win at once: asked of the game's own rules."""
    env = raw_env()
    env.reset(seed=0)
    if seat:
        env.agent_selection = env._agent_selector.next()
    env.board = list(board)
    mover = env.agent_selection
    env.step(column)
    return bool(env.rewards[mover] > 0)


def test_one_ply_agrees_with_brute_force_and_is_uniform_over_equal_choices() -> None:
    cases = positions(600)
    kinds = {"win": 0, "block": 0, "free": 0}
    for board, turn in cases:
        assert turn.mask is not None
        legal = [int(c) for c in np.flatnonzero(turn.mask)]
        winning = [c for c in legal if wins(board, c, turn.seat)]
        blocking = [c for c in legal if wins(board, c, 1 - turn.seat)]
        expected = winning or blocking or legal
        kinds["win" if winning else "block" if blocking else "free"] += 1
        uniforms = (np.arange(420) + 0.5)[:, None] / 420
        rows = {"observation": np.repeat(turn.observation[None], 420, axis=0)}
        chosen = one_ply(rows, np.repeat(turn.mask[None], 420, axis=0), uniforms)
        assert chosen.shape == (420, 1)
        columns, counts = np.unique(chosen, return_counts=True)
        assert columns.tolist() == expected
        assert set(counts.tolist()) == {420 // len(expected)}
    assert min(kinds.values()) >= 30, kinds


def test_one_ply_judges_each_row_by_itself() -> None:
    turns = [turn for _, turn in positions(200)]
    observation = {"observation": np.stack([turn.observation for turn in turns])}
    mask = np.stack([turn.mask for turn in turns if turn.mask is not None])
    uniforms = np.random.default_rng(0).random((200, 1))
    together = one_ply(observation, mask, uniforms)
    alone = [
        one_ply(
            {"observation": observation["observation"][k : k + 1]},
            mask[k : k + 1],
            uniforms[k : k + 1],
        )[0]
        for k in range(200)
    ]
    np.testing.assert_array_equal(together, alone)


def test_one_ply_beats_random() -> None:
    game, rng = TWIN(), np.random.default_rng(0)
    act = ActionSpec.of(spaces.Discrete(7)).random_act
    score = 0.0
    for number in range(60):
        turn = game.reset(number)[-1]
        while not turn.over:
            player = one_ply if turn.seat == number % 2 else act
            assert turn.mask is not None
            turn = game.step(
                {
                    turn.seat: (
                        int(
                            player(
                                {"observation": turn.observation[None]},
                                turn.mask[None],
                                rng.random((1, 1)),
                            )[0, 0]
                        ),
                    )
                }
            )[-1]
        place, other = game.outcome().ranking[number % 2], game.outcome().ranking[1 - number % 2]
        score += 0.5 if place == other else float(place < other)
    assert score / 60 >= 0.75


def test_pick_is_uniform_over_candidates() -> None:
    candidates = np.array([[False, True, False, True]] * 4 + [[False] * 4])
    assert pick(candidates, np.array([0.0, 0.49, 0.5, 0.999999, 0.3])).tolist() == [1, 1, 3, 3, 0]


@pytest.mark.parametrize("heads", [(3,), (2, 4), (1, 1, 5)])
def test_random_plays_each_head_within_its_mask(heads: tuple[int, ...]) -> None:
    rng = np.random.default_rng(2)
    mask = rng.random((500, sum(heads))) < 0.6
    for stop, size in zip(np.cumsum(heads), heads, strict=True):
        mask[~mask[:, stop - size : stop].any(axis=1), stop - 1] = True
    act = ActionSpec.of(spaces.MultiDiscrete(heads)).random_act
    actions = act({}, mask, rng.random((500, len(heads))))
    starts = np.cumsum(heads) - heads
    assert actions.shape == (500, len(heads))
    assert np.take_along_axis(mask, actions + starts, axis=1).all()
    assert all(len(np.unique(actions[:, h])) == size for h, size in enumerate(heads))
