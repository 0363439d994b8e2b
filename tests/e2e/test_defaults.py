"""A game that no config was made for is learned by the defaults; `bench.defaults` tries others."""

import pytest

from bench.defaults import PASSES_AT, UNKNOWN_GAMES, one_seed


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_cartpole_is_balanced_by_defaults() -> None:
    assert one_seed(UNKNOWN_GAMES["cartpole"], 3, before=False)["return"] >= PASSES_AT
