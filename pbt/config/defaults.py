"""The values that a config leaves to the defaults, of those that decide how fast a game is learned.

They suit games without values of their own, and a training says what it took.
"""

from collections.abc import Mapping
from typing import Any

from pbt.config.dump import toml_value
from pbt.config.learning import AlgorithmName, rows_of
from pbt.config.schema import RunConfig

_Keys = Mapping[str, tuple[str, ...]]
_OF_ALL: _Keys = {"model": ("hidden", "activation"), "sampling": ("environments", "rollout_steps")}
_OF_ALGORITHM: Mapping[AlgorithmName, _Keys] = {
    "appo": {
        "learning": (
            "batch_steps",
            "epochs",
            "minibatches",
            "gamma",
            "gae_lambda",
            "normalize_returns",
        ),
    },
    "dqn": {
        "learning": ("batch_steps", "gamma"),
        "dqn": (
            "replay_rows",
            "batch_rows",
            "training_intensity",
            "target_steps",
            "epsilon_frames",
        ),
    },
}


def left_to_defaults(read: RunConfig, decided: RunConfig) -> dict[str, Any]:
    """Dotted key -> value of those that neither the file nor --set names.

    read     as it was read; a stored config names every value
    decided  the same with "auto" decided; the values are those of this one
    """
    parts = [_OF_ALL, *(_OF_ALGORITHM[name] for name in decided.algorithms)]
    told = [(section, key) for part in parts for section, keys in part.items() for key in keys]
    for name in decided.algorithms:
        told += [(row.section, row.name) for row in rows_of(name) if row.mark.told]
    return {
        f"{section}.{key}": getattr(getattr(decided, section), key)
        for section, key in told
        if key not in getattr(read, section).model_fields_set
    }


def defaults_line(chosen: Mapping[str, Any]) -> str:
    """One sentence on what was left to the defaults, and what changes it."""
    values = ", ".join(f"{key} = {toml_value(value)}" for key, value in chosen.items())
    return f"by default {values}; a key in the config file, or --set, changes each"
