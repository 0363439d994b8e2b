"""Partitions of tables and slots: each table and each slot belongs to exactly one."""

from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from pbt.config.schema import RunConfig
from pbt.envs import registry
from pbt.errors import EngineError
from pbt.models.policy_model import PolicyModel, build_model
from pbt.runtime.assembly import acting_model, acting_weights, frozen_model
from pbt.runtime.blueprint import Blueprint, blueprint_of, equal_shares
from pbt.snapshots import FileSnapshotStore


def blueprint(game: str, **sampling: Any) -> Blueprint:
    config = {
        "env": {"name": game},
        "population": {"members": 3},
        "learning": {"batch_steps": 64},
        "model": {"hidden": [8]},
        "sampling": {"rollout_steps": 16, **sampling},
    }
    return blueprint_of(RunConfig.model_validate(config), registry.spec(game))


@settings(max_examples=50, deadline=None)
@given(
    tables=st.integers(1, 70),
    block=st.integers(1, 5),
    shares=st.integers(1, 8),
    game=st.sampled_from(["tictactoe", "hide_and_seek"]),
)
def test_every_table_and_slot_is_in_one_share_and_blocks_stay_together(
    tables: int, block: int, shares: int, game: str
) -> None:
    plan = blueprint(game, environments=tables, seat_block=block)
    if -(-tables // block) < shares:
        with pytest.raises(EngineError, match="some would be empty; raise sampling.environments"):
            equal_shares(plan, shares)
        return
    parts = equal_shares(plan, shares)
    assert [table for part in parts for table in part.tables] == list(range(tables))
    assert all(
        len({table // block for table in part.tables} & {table // block for table in other.tables})
        == 0
        for part in parts
        for other in parts
        if part is not other
    )
    sizes = [len({table // block for table in part.tables}) for part in parts]
    assert max(sizes) - min(sizes) <= 1
    for role in range(len(plan.roles)):
        slots = [slot for part in parts for slot in part.slots[role]]
        assert slots == list(range(len(slots)))
        for part in parts:
            seats = len(part.tables) * plan.seats_per_role[role]
            assert len(part.slots[role]) >= seats * (plan.role_members(role) + 3)


def test_a_blueprint_says_who_plays_what() -> None:
    plan = blueprint("hide_and_seek", environments=4, rollout_steps=16)
    assert [plan.roles[member.role] for member in plan.members] == [
        role for role in plan.roles for _ in range(3)
    ]
    assert [member.policy for member in plan.members] == list(
        range(6)
    ) and plan.policy_slots == 6 + plan.frozen_slots
    assert sum(plan.seats_per_role) == len(plan.facts.seat_roles) and plan.batch_slots == 4


def test_a_number_of_tables_still_to_be_chosen_is_refused() -> None:
    with pytest.raises(EngineError, match=r'sampling.environments = "auto" must be resolved'):
        blueprint("tictactoe", environments="auto")


def test_weights_that_are_replaced_at_once_are_not_drawn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Drawing the weights of a Doom network takes 0.2 s, twice as long as all the rest.

    A table waits for its opponent meanwhile.
    """
    plan, store = blueprint("connect_four"), FileSnapshotStore(tmp_path)
    drawn = build_model(plan.layouts[0], plan.config.model, 5)
    snapshot_id, _ = store.put(acting_weights(drawn), {})
    monkeypatch.setattr(PolicyModel, "initialize", lambda self, seed: pytest.fail("drawn"))
    frozen = frozen_model(plan.layouts[0], plan.config, store, snapshot_id)
    assert all(
        torch.equal(value, drawn.state_dict()[name]) for name, value in frozen.state_dict().items()
    )
    assert acting_model(plan, plan.members[0]).state_dict().keys() == drawn.state_dict().keys()
