"""The serial engine's own order of copying, discarding and refusing.

Every row that it trains on is compared with what really happened.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
import torch
from gymnasium import spaces

from pbt.algorithms.batch import Batch
from pbt.config.schema import RunConfig
from pbt.envs.contract import EnvSpec, Outcome, Role, SeatTurn
from pbt.runtime.local_learner import LocalLearner
from pbt.transport.messages import SlotFull
from tests.pbt.models.memories import memory
from tests.pbt.runtime.checking import CheckedEngine

TINY: dict[str, Any] = {
    "seed": 3,
    "stop_at_frames": 450,
    "population": {"members": 3},
    "sampling": {"environments": 12, "rollout_steps": 4, "opening_plies": 3},
    "model": {**memory("gru", 8), "hidden": [8]},
    "learning": {"batch_steps": 32, "epochs": 2, "minibatches": 2},
    "pbt": {
        "period_frames": 100,
        "warmup_frames": 100,
        "min_games": 3,
        "score_games": 50,
        "copy_gap": 0.0,
    },
    "matchmaking": {"past_share": 0.3, "past_window": 3},
    "snapshots": {"every_frames": 200},
    "evaluation": {"share": 0.2, "final_games": 2},
}


def config(game: str, **changes: Any) -> RunConfig:
    return RunConfig.model_validate(TINY | {"env": {"name": game}} | changes)


@pytest.mark.parametrize(("game", "changes"), [
    ("tictactoe", {}),
    ("rock_paper_scissors", {}),
    ("tictactoe", {"model": {**memory("lstm", 8), "hidden": [8]}}),
    pytest.param("hide_and_seek", {"stop_at_frames": 400}, marks=pytest.mark.slow),
])  # fmt: skip
def test_every_row_the_engine_trains_on_is_its_members_own_and_of_its_present_generation(
    game: str, changes: dict[str, Any]
) -> None:
    checked = CheckedEngine(config(game, **changes))
    checked.finish()
    members, dropped = checked.population.controller.members, checked.engine.dropped()
    assert min(checked.batches.values()) >= 10
    assert len(checked.trained) == checked.engine.rows_trained
    # The run met what the checks are about.
    assert (
        sum(member.copies for member in members.values()) >= 2
        and dropped["generation"] > 0
        and dropped["finished"] > 0
    )
    training = [record for record in checked.sink.games if record.kind == "training"]
    assert sum(seat.player.kind == "snapshot" for record in training for seat in record.seats) > 50
    assert any(record.opening_plies for record in training)


def test_trap_finished_members_are_seated_as_frozen_opponents() -> None:
    """Every batch is checked for rows of theirs, and every plan for how it seats them."""
    checked = CheckedEngine(
        config(
            "tictactoe",
            stop_at_frames=600,
            population={"members": 4},
            pbt={"enabled": False},
            snapshots={},
        )
    )
    checked.finish()
    first = next(event.member for event in checked.sink.events if event.kind == "finish")
    assert first is not None and checked.seated_finished[first] > 5
    (final,) = (
        record
        for record in checked.sink.snapshots
        if record.member == first and record.reason == "final"
    )
    local = next(local for local in checked.population.learners if local.name == first)
    assert local.learner.version == final.version and local.learner.frames == final.frames
    played_on = [
        seat
        for record in checked.sink.games
        if record.kind == "training"
        for seat in record.seats
        if seat.player.name == first and seat.version_start == final.version
    ]
    assert played_on and all(seat.version_end == final.version for seat in played_on)


class TwoTerms:
    """Four steps in which the action itself is the reward.

    Half of it is the reward towards the goal, a tenth of it and one that for style.
    """

    roles = (Role("player", spaces.Box(0.0, 4.0, (1,), np.float32), spaces.Discrete(3)),)
    seat_names, seat_roles, reward_terms = ("player",), (0,), ("goal", "style")

    def reset(self, seed: int) -> list[SeatTurn]:
        self._step = 0
        return [SeatTurn(0, np.zeros(1, np.float32), None, (0.0, 0.0), tics=0)]

    def step(self, actions: Mapping[int, tuple[int, ...]]) -> list[SeatTurn]:
        self._step += 1
        action = actions[0][0]
        return [
            SeatTurn(
                0,
                np.full(1, self._step, np.float32),
                None,
                (action / 2, 1 + action / 8),
                terminated=self._step == 4,
            )
        ]

    def outcome(self) -> Outcome:
        return Outcome((0,))

    def close(self) -> None:
        pass


class WeighedTerms(CheckedEngine):
    """Checks the raw rewards of every batch, and each member's value loss.

    With lag zero and gamma 0 the target of the value is the shaped reward.
    """

    def check_batch(self, local: LocalLearner, batch: Batch, taken: list[SlotFull]) -> None:
        super().check_batch(local, batch, taken)
        action = batch.actions[..., 0]
        assert torch.equal(batch.rewards, torch.stack([action / 2, 1 + action / 8], dim=-1)), (
            "the slab holds what the game said, unweighted"
        )
        shaping = local.learner.hyperparams.shaping
        target = (
            batch.rewards @ torch.tensor([shaping["goal"], shaping["style"]])
        ) * self.config.learning.reward_scale
        error = target - batch.acted["value"]
        self.expected.append((local.name, float(error.square().mean())))


def test_trap_workers_write_unweighted_reward_terms() -> None:
    """Members with different weights read the same slabs; each learner applies its own."""
    spec = EnvSpec("two_terms", TwoTerms, chance=False, replayable=True, winners="none")
    learning = {
        "batch_steps": 32,
        "learning_rate": 0.0,
        "gamma": 0.0,
        "reward_scale": 0.5,
        "normalize_returns": False,
        "shaping": {"goal": 10.0, "style": -2.0},
    }
    changes = {
        "learning": learning,
        "members": {"m1": {"shaping": {"goal": 0.5}}},
        "pbt": {"enabled": False},
        "stop_at_frames": 200,
    }
    checked = WeighedTerms(config("two_terms", **changes), spec)
    checked.finish()
    assert (
        len({local.learner.hyperparams.shaping["goal"] for local in checked.population.learners})
        == 2
    )
    assert [name for name, _ in checked.expected] == [name for name, _, _ in checked.sink.points]
    for (_, expected), (_, _, values) in zip(checked.expected, checked.sink.points, strict=True):
        assert values["value_loss"] == pytest.approx(expected, rel=1e-4)
