"""The configuration that repeats a lineage, as plain data."""

import pytest

from arena.league.lineage import Lineage, LineageStep
from arena.training.schedule_config import schedule_config
from pbt.config.schema import RunConfig

VALUES = {"learning_rate": 0.004, "entropy_coef": 0.02, "adam_beta1": 0.9}
LINEAGE = Lineage((LineageStep(0, "m1", 0, "start", VALUES),), 700_416)


@pytest.mark.parametrize(
    ("anneal_to", "stop", "counterpart"),
    [
        (1.0, 700_416, "; its last snapshot is the counterpart"),
        (0.05, 1_600_000, "; its snapshot at 701k (it trains on, annealed towards its stop) is"),
    ],
)
def test_it_says_which_snapshot_is_the_policy_again(
    anneal_to: float, stop: int, counterpart: str
) -> None:
    config = RunConfig.model_validate(
        {
            "env": {"name": "connect_four"},
            "stop_at_frames": 1_600_000,
            "learning": {"anneal_to": anneal_to},
        }
    )
    found = schedule_config(config, LINEAGE, "c4/m1@701k", {"m0": "player", "m1": "player"})
    assert found.stop_at_frames == stop and counterpart in found.description


def test_it_learns_by_the_algorithm_of_the_member_and_has_its_values() -> None:
    config = RunConfig.model_validate(
        {"env": {"name": "connect_four"}, "members": {"m1": {"algorithm": "dqn"}}}
    )
    values = {"learning_rate": 0.004, "adam_beta1": 0.9, "epsilon_end": 0.07}
    lineage = Lineage((LineageStep(0, "m1", 0, "start", values),), 500)
    found = schedule_config(config, lineage, "c4/m1", {"m0": "player", "m1": "player"})
    assert found.algorithm_of("m0") == "dqn"
    assert found.members["m0"].schedule[0].epsilon_end == 0.07
