"""Games that no config was made for are learned by the defaults."""

import pytest

from bench.defaults import PASSES_AT, UNKNOWN_GAMES, one_seed


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_cartpole_is_balanced_by_defaults() -> None:
    assert one_seed(UNKNOWN_GAMES["cartpole"], 3, before=False)["return"] >= PASSES_AT


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_leduc_is_learned_by_defaults() -> None:
    """The finished member wins chips from its own third, and more of them from random play."""
    found = one_seed(UNKNOWN_GAMES["leduc"], 2, before=False)
    assert found["third"][1] > 0.0
    assert found["random"][0] > found["third"][0]
