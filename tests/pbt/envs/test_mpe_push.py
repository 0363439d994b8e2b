"""simple_push in plain numbers against mpe2's own: the same bits, also where the particles push each other."""

from typing import Any

import numpy as np
import pytest
from mpe2.simple_push_v3 import raw_env

from pbt.envs import mpe
from pbt.envs.mpe_push import Push, can_play

GAMES = 60


def towards(places: list[Any], seat: int, rng: np.random.Generator) -> int:
    """Mostly a push in the direction of the other."""
    away = places[1 - seat] - places[seat]
    axis = int(np.argmax(np.abs(away)))
    return 1 + 2 * axis + int(away[axis] > 0) if rng.random() < 0.9 else int(rng.integers(5))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("crowded", [False, True])
def test_a_game_gives_the_same_bits(crowded: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """crowded: both begin in a place smaller than they are, or in the very same."""
    if crowded:
        module_reset = type(raw_env().scenario).reset_world

        def reset_world(scenario: Any, world: Any, chance: np.random.Generator) -> None:
            module_reset(scenario, world, chance)
            world.agents[1].state.p_pos = world.agents[0].state.p_pos + chance.choice([0.0, 0.001, 0.05]) * chance.uniform(-1, 1, 2)

        monkeypatch.setattr(type(raw_env().scenario), "reset_world", reset_world)
    plain, theirs, touched = Push(raw_env()), mpe.AtOnce(raw := raw_env()), 0
    for seed in range(GAMES):
        rng = np.random.default_rng(seed)
        same(plain.reset(seed=seed)[0], theirs.reset(seed=seed)[0])
        while theirs.agents:
            places = [agent.state.p_pos for agent in raw.world.agents]
            touched += bool(np.linalg.norm(places[0] - places[1]) < 0.1)
            actions = {agent: towards(places, seat, rng) for seat, agent in enumerate(theirs.agents)}
            mine, other = plain.step(actions), theirs.step(actions)
            same(mine[0], other[0])
            same(mine[1], other[1])
            assert mine[2:] == other[2:] and plain.agents == theirs.agents
    assert touched > GAMES / 3, "they did not meet often enough to say anything about it"


def same(mine: dict[str, Any], other: dict[str, Any]) -> None:
    assert list(mine) == list(other)
    for agent, value in mine.items():
        assert np.asarray(value).dtype == np.asarray(other[agent]).dtype
        np.testing.assert_array_equal(value, other[agent])


def test_only_the_packages_own_game_is_played_in_plain_numbers() -> None:
    class Own(raw_env):  # type: ignore[misc]
        """Somebody's variant."""

    assert can_play(raw_env()) and can_play(raw_env(max_cycles=3))
    assert not can_play(Own()) and not can_play(raw_env(benchmark_data=True))
    own = raw_env()
    own.scenario = type("Other", (type(own.scenario),), {})()
    assert not can_play(own)
