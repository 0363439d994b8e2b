"""The plainest update, for tests that follow single steps."""

from typing import Any

from pbt.config.learning import LearningConfig


def one_pass(**changes: Any) -> LearningConfig:
    """One pass over a batch as a whole, returns as they are; with changes."""
    plain = {"epochs": 1, "minibatches": 1, "learning_rate": 1e-3, "normalize_returns": False}
    return LearningConfig(**(plain | changes))
