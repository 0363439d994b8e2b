"""Which edits a population that has started can take.

A key that is not listed here changes shapes, clocks or random streams, and its edit is refused.
"""

from collections.abc import Mapping
from typing import Any

from pbt.config.learning import HYPERPARAMS, rows_of
from pbt.config.mutable import SHAPING
from pbt.config.schema import RunConfig
from pbt.config.start_values import start_problems
from pbt.objective import ObjectiveKind

HYPERPARAMETERS = tuple(row.key for row in (*HYPERPARAMS.values(), SHAPING))
"""Editable. Once training started they belong to the members: an edit sets them for every member
that has them, and PBT goes on from there.
"""


def hyperparameter_of(key: str) -> str | None:
    """The flat name of the hyperparameter that a dotted key sets, None for any other key."""
    return key.partition(".")[2] if key.startswith(HYPERPARAMETERS) else None


def hyperparameter_keys(config: RunConfig) -> list[str]:
    """The dotted keys of the hyperparameters that members of a population have.

    Those of its algorithms, in the order of the table, then the weights of reward terms that the
    config names.
    """
    rows = {row.key for algorithm in config.algorithms for row in rows_of(algorithm)}
    terms = [f"{SHAPING.key}.{term}" for term in config.learning.shaping]
    return [row.key for row in HYPERPARAMS.values() if row.key in rows] + terms


_EDITABLE_LEARNING = (
    "scale_with_batch",
    "minibatches",
    "epochs",
    "adam_beta2",
    "adam_eps",
    "rmsprop_decay",
    "rmsprop_eps",
    "gamma",
    "gae_lambda",
    "vtrace",
    "vtrace_rho",
    "vtrace_c",
    "ppo_clip",
    "ratio_clip",
    "value_coef",
    "value_clip",
    "magnet_coef",
    "magnet_decay",
    "max_grad_norm",
    "reward_scale",
    "anneal_to",
    "not_annealed",
    "normalize_advantages",
    "max_lag",
    "timeout_s",
)
_EDITABLE_DQN = (
    "least_rows",
    "batch_rows",
    "training_intensity",
    "target_steps",
    "double",
    "epsilon_start",
    "epsilon_frames",
    "epsilon_spread",
)
EDITABLE = (
    "description",
    "stop_at_frames",
    "population.joined",
    "population.left",
    "env.max_decisions",
    "env.objective",
    "env.timeout_s",
    "pbt",
    *(
        f"matchmaking.{name}"
        for name in ("past_share", "past_mode", "pfsp_power", "elo_sigma", "resident")
    ),
    "evaluation",
    "snapshots",
    "checkpoints",
    "runtime",
    *HYPERPARAMETERS,
    *(f"learning.{name}" for name in _EDITABLE_LEARNING),
    *(f"dqn.{name}" for name in _EDITABLE_DQN),
)
"""Dotted keys that a population takes on resume; a section stands for all its keys."""
FIXED = ("pbt.spread_start",)
"""Keys of those sections that it does not take: members have begun by them."""


MEMBERSHIP = ("population.joined", "population.left")
"""Which members learn: the members named come or go, and no other member changes."""
LIVE = ("stop_at_frames", "pbt.period_frames", "snapshots", "evaluation.share", *MEMBERSHIP)
"""Dotted keys that a trainer takes while it trains, at its next pause.

Where members come or go, it starts new processes around the same weights.
"""

OBJECTIVE = "env.objective"
"""Its edit ends the score window of every member: the games before it were counted otherwise."""


def changes(old: RunConfig, new: RunConfig) -> dict[str, tuple[Any, Any]]:
    """Dotted key -> (old, new) of every value that differs.

    None stands where one side has no such key, or an empty list.
    """
    before, after = flat_values(old.model_dump()), flat_values(new.model_dump())
    return {
        key: (before.get(key), after.get(key))
        for key in sorted(before.keys() | after.keys())
        if before.get(key) != after.get(key)
    }


def with_objective(config: RunConfig, objective: ObjectiveKind) -> RunConfig:
    """The config with this objective."""
    return config.model_copy(update={"env": config.env.model_copy(update={"objective": objective})})


def as_it_began(config: RunConfig, seats: int) -> RunConfig:
    """A stored config with the objective that it had before objectives could be chosen.

    That was the win, and in games of one seat, where any gap of `pbt.copy_gap` was enough to copy,
    the return. A config that names its objective stays as it is.

    seats  of one game
    """
    if config.env.objective is not None:
        return config
    if seats > 1:
        return with_objective(config, "win")
    significance = 1.0 if config.pbt.copy_significance is None else config.pbt.copy_significance
    pbt = config.pbt.model_copy(update={"copy_significance": significance})
    return with_objective(config, "return").model_copy(update={"pbt": pbt})


def diff_shapes(old: RunConfig, new: RunConfig) -> list[str]:
    """One line for every edit that a started population cannot take."""
    edited = changes(old, new)
    outside = [
        problem
        for key, problem in start_problems(new).items()
        if key in edited or "pbt.enabled" in edited
    ]
    return (
        _taken_back(old, new)
        + outside
        + [fixed(key, *edited[key]) for key in edited if not is_editable(key)]
        + [fixed(key, *edited[key], why) for key, why in _unremembered(old, new).items()]
    )


def fixed(key: str, before: object, after: object, why: str = "") -> str:
    """The line on an edit that a population cannot take. why: the reason, where it is not plain."""
    reason = f", since {why}" if why else ""
    return (
        f"{key} = {shown(after)}: fixed at {shown(before)} when the population started{reason}; "
        "leave it, or train a new population under another name"
    )


def _unremembered(old: RunConfig, new: RunConfig) -> dict[str, str]:
    """Key -> why it cannot change, of editable ones that switch a memory of the learners on or off.

    With the memory the value itself may change.
    """
    before, after = old.learning, new.learning
    reasons = {}
    if (before.magnet_coef > 0.0) != (after.magnet_coef > 0.0):
        reasons["learning.magnet_coef"] = (
            "learners keep the magnet, an average of their weights from the first step on, where "
            "this is above 0, and only there"
        )
    clipped = (before.value_clip is not None, after.value_clip is not None)
    if before.normalize_returns and clipped[0] != clipped[1]:
        reasons["learning.value_clip"] = (
            "with learning.normalize_returns learners keep the scales of their newest value heads "
            "where values are clipped, and only there"
        )
    return reasons


def is_editable(key: str) -> bool:
    """Whether a population that has started takes an edit of this dotted key."""
    return key not in FIXED and any(
        key == allowed or key.startswith(f"{allowed}.") for allowed in EDITABLE
    )


def _taken_back(old: RunConfig, new: RunConfig) -> list[str]:
    """Members that joined or left stay in the config, since games and snapshots name them."""
    before, after = old.population, new.population
    problems = [
        f"population.joined.{name}: has joined already; it can only leave"
        for name, one in before.joined.items()
        if after.joined.get(name) != one
    ]
    advice = "a new member can begin with the weights of its last snapshot"
    return problems + [
        f"population.left: {name} has left for good; {advice}"
        for name in before.left
        if name not in after.left
    ]


def changes_members(old: RunConfig, new: RunConfig) -> bool:
    """Whether a member joins or leaves."""
    return (old.population.joined, old.population.left) != (
        new.population.joined,
        new.population.left,
    )


def is_live(key: str) -> bool:
    """Whether a running population can take an edit of this dotted key or section."""
    return any(key == allowed or key.startswith(f"{allowed}.") for allowed in LIVE)


def takes_live(old: RunConfig, new: RunConfig) -> bool:
    """Whether a running population can take this edit.

    Where values are annealed, learners know the end of the training, so they must start anew with
    another end.
    """
    keys = changes(old, new).keys()
    return all(is_live(key) for key in keys) and not (
        "stop_at_frames" in keys and old.learning.anneal_to < 1.0
    )


def with_live(config: RunConfig, edited: RunConfig) -> RunConfig:
    """`config` (as resolved for this machine) with the live values of `edited`."""
    pbt = config.pbt.model_copy(update={"period_frames": edited.pbt.period_frames})
    evaluation = config.evaluation.model_copy(update={"share": edited.evaluation.share})
    live = {
        "stop_at_frames": edited.stop_at_frames,
        "pbt": pbt,
        "snapshots": edited.snapshots,
        "evaluation": evaluation,
    }
    return config.model_copy(update=live)


def flat_values(table: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Dotted key -> value of a config as a table, but for empty tuples."""
    flat: dict[str, Any] = {}
    for name, value in table.items():
        if isinstance(value, Mapping):
            flat |= flat_values(value, f"{prefix}{name}.")
        elif value != ():
            flat[f"{prefix}{name}"] = value
    return flat


def shown(value: Any) -> str:
    """A value of a config, as messages say it."""
    if value is None:
        return "nothing"
    if isinstance(value, str):
        return f'"{value}"'
    return str(list(value) if isinstance(value, tuple) else value)
