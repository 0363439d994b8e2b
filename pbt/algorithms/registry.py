"""The algorithm that a configuration names."""

from pbt.algorithms.appo import Appo
from pbt.algorithms.base import Algorithm
from pbt.config.learning import LearningConfig


def new_algorithm(config: LearningConfig) -> Algorithm:
    """Return the algorithm of a [learning] section."""
    return Appo(config)
