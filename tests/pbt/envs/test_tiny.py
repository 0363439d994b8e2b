"""The exact games are what their docstrings say: values by enumeration."""

import itertools

import numpy as np
import pytest

from pbt.envs.tiny import hide_and_seek, memory, rock_paper_scissors


def test_rock_paper_scissors_is_symmetric_with_value_zero() -> None:
    game = rock_paper_scissors.RockPaperScissors(rounds=1)
    pay = np.zeros((3, 3))
    for a, b in itertools.product(range(3), repeat=2):
        game.reset(0)
        turns = game.step({0: (a,), 1: (b,)})
        pay[a, b] = turns[0].rewards[0]
        assert turns[1].rewards[0] == -pay[a, b]
        assert [turn.observation for turn in turns] == [1 + b, 1 + a]
        assert game.outcome().ranking == {1.0: (0, 1), -1.0: (1, 0), 0.0: (0, 0)}[pay[a, b]]
    assert pay.tolist() == [[0, -1, 1], [1, 0, -1], [-1, 1, 0]]


def found(seed: int, hide: int, seek: int) -> tuple[bool, int]:
    game = hide_and_seek.HideAndSeek()
    (turn,) = game.reset(seed)
    locked = int(np.argmax(turn.observation))
    (turn,) = game.step({0: (hide,)})
    assert turn.seat == 1
    assert turn.observation == locked
    assert turn.mask is not None
    assert np.flatnonzero(~turn.mask).tolist() == [locked]
    hider, seeker = game.step({1: (seek,)})
    assert hider.rewards[0] == -seeker.rewards[0]
    assert game.outcome().ranking == ((1, 0) if seeker.rewards[0] > 0 else (0, 1))
    return bool(seeker.rewards[0] > 0), locked


def test_hide_and_seek_has_the_promised_values() -> None:
    seeds = {}
    for seed in range(60):
        seeds.setdefault(found(seed, 0, 3)[1], seed)
    assert sorted(seeds) == [0, 1, 2]
    for locked, seed in seeds.items():
        open_places = [place for place in range(3) if place != locked]
        legal = [*open_places, 3]
        caught = {(h, s): found(seed, h, s)[0] for h in range(3) for s in legal}
        assert all(np.mean([caught[h, s] for h in open_places]) <= 0.5 for s in legal)
        assert all(np.mean([caught[h, s] for s in open_places]) >= 0.5 for h in range(3))
        assert max(np.mean([caught[h, s] for h in range(3)]) for s in legal) == pytest.approx(2 / 3)
        assert min(np.mean([caught[h, s] for s in legal]) for h in range(3)) == pytest.approx(1 / 3)


@pytest.mark.parametrize(("cues", "delay"), [(3, 4), (2, 1), (5, 7)])
def test_memory_shows_the_cue_once_and_asks_for_it_later(cues: int, delay: int) -> None:
    game = memory.Memory(cues=cues, delay=delay)
    drawn = set()
    for seed in range(40):
        (turn,) = game.reset(seed)
        cue = int(np.argmax(turn.observation))
        drawn.add(cue)
        views, rewards = [], []
        while not turn.over:
            views.append(turn.observation)
            right = seed % 2 == 0
            (turn,) = game.step({0: (cue if right else (cue + 1) % cues,)})
            rewards.append(turn.rewards[0])
        assert len(rewards) == delay + 1
        assert rewards == [0.0] * delay + [float(right)]
        assert all(not view[:cues].any() for view in views[1:])
        assert [int(view[cues]) for view in views] == [0] * delay + [1]
    assert drawn == set(range(cues))
