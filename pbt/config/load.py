"""Reads a config: from a file, a shipped name or a stored table to one checked RunConfig.

Every problem is listed at once. `load_config("demo", ["learning.gamma=0.98"])` is all that most
callers need; `read_config` also says where each value came from.
"""

import copy
import json
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from pydantic import BaseModel, ValidationError

from pbt.config.float32 import nonzero_float
from pbt.config.learning import HYPERPARAMS
from pbt.config.problems import did_you_mean, field_problems
from pbt.config.schema import RunConfig
from pbt.config.start_values import check_start_values
from pbt.errors import ConfigError
from pbt.user_folders import expanded

Table = dict[str, Any]
SUFFIX = ".toml"
# (section, key, value) of each rule that became a choice, and of each key that came later: without
# it a stored config would not be known as one that names every value of its time.
HELD_BEFORE: tuple[tuple[str, str, Any], ...] = (
    ("pbt", "opponents", "all"),
    ("pbt", "spread_start", 1.0),
    ("pbt", "copy_ratio", 0.0),
    ("pbt", "copy_significance_per", "comparison"),
    ("learning", "normalize_returns", False),
    ("learning", "optimizer", "adam"),
    ("learning", "rmsprop_decay", 0.99),
    ("learning", "rmsprop_eps", 1e-5),
    ("learning", "rmsprop_eps_inside", False),
    ("runtime", "sync", "async"),
    ("learning", "value_clip", None),
    ("learning", "magnet_coef", 0.0),
    ("learning", "not_annealed", []),
    ("learning", "magnet_decay", 0.999),
    ("model", "lstm_size", 128),
    ("model", "measurement_hidden", []),
    ("population", "began", {}),
    ("learning", "algorithm", "appo"),
    ("learning", "scale_with_batch", 0),
    ("sampling", "decorrelation_steps", 0),
