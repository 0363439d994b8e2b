"""A row is answered alike in any company; where it is not, rounds are refused."""

import pytest
import torch
from torch import Tensor

from pbt.envs import registry
from pbt.errors import EngineError
from pbt.models.policy_model import PolicyModel, build_model
from pbt.models.row_independence import odd_count
from pbt.runtime.blueprint import blueprint_of
from pbt.runtime.build import check_rows
from tests.pbt.runtime.placing import placed


@pytest.mark.parametrize("activation", ["relu", "tanh", "elu"])
@pytest.mark.parametrize("core", ["none", "gru", "lstm"])
@pytest.mark.parametrize("width", [5, 8, 24, 64, 100])
def test_rows_are_answered_alike(activation: str, core: str, width: int) -> None:
    torch.set_num_threads(1)
    model = {"activation": activation, "core": core, "hidden": [width]}
    memory = {"gru_size": width, "lstm_size": width}
    config = placed("serial", "tictactoe", 100, model={**model, **memory})
    layout = blueprint_of(config, registry.spec("tictactoe")).layouts[0]
    made = build_model(layout, config.model, 1)
    made.fix_dtype()
    made.pack()
    assert odd_count(made, layout) is None


def test_where_they_are_not_rounds_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    def as_they_are(self: PolicyModel, rows: Tensor) -> Tensor:
        return rows

    config = placed("serial", "tictactoe", 100, model={"core": "none", "hidden": [256, 256]})
    blueprint = blueprint_of(config, registry.spec("tictactoe"))
    check_rows(blueprint)
    monkeypatch.setattr(PolicyModel, "_padded", as_they_are)
    with pytest.raises(EngineError, match="answers one of 1 rows otherwise"):
        check_rows(blueprint)
