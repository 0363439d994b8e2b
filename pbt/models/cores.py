"""The recurrent cores by their names in the config."""

import torch

from pbt.config.learning import ModelConfig
from pbt.models.gru import MaskedGru
from pbt.models.lstm import MaskedLstm
from pbt.models.recurrent import RecurrentCore

CORES: dict[str, type[RecurrentCore]] = {"gru": MaskedGru, "lstm": MaskedLstm}


def new_core(config: ModelConfig, inputs: int, dtype: torch.dtype) -> RecurrentCore | None:
    """The core of a network, with weights to be set; None for one without memory.

    inputs  features of a row
    dtype   of the matrix products
    """
    if config.core == "none":
        return None
    return CORES[config.core](inputs, config.memory_size, dtype)
