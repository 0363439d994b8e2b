from collections.abc import Iterator

import pytest

from pbt.envs.doom.game import DoomGame, make


@pytest.fixture
def basic() -> Iterator[DoomGame]:
    game = make(scenario="basic")
    yield game
    game.close()
