"""What one member computes and learns from: the sections [model], [sampling] and [learning].

Every default stands here, and every name carries its unit. The defaults are for games without
values of their own; `python -m bench.defaults` measures how well they learn some. Tuned values, and
Doom's (Petrenko et al. 2020, tables A.4 and A.5), stand in config files.
"""

import math
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field
from pydantic_core import PydanticKnownError

from pbt.config.mutable import HyperparamSpec, Mutable, marked, table
from pbt.config.values import (
    LAYERS,
    Coefficient,
    HundredOrLess,
    LearningRate,
    OneOrLess,
    Plies,
    PositiveInt,
    Probability,
    Ratio,
    RewardScale,
    RewardWeight,
    Seconds,
    Section,
    Tables,
    Width,
)


class ConvLayer(Section):
    """One convolution of the encoder.

    channels  number of output channels
    kernel    height and width of the kernel, in pixels
    stride    pixels from one place of the kernel to the next
    padding   rows and columns of zeros on every side
    """

    channels: Width
    kernel: Width
    stride: Width = 1
    padding: Annotated[int, Field(ge=0, le=65_536)] = 0


class ModelConfig(Section):
    """The network of a member.

    encoder                 "mlp": none goes through convolutions. "conv": every leaf of rank 3
                            does. "images": every image does: bytes, or floats between bounds, with
                            24 pixels or more to a side. "auto": as "conv" where `conv` has layers,
                            as "images" where it is "auto"
    conv                    the convolutions, first to last. "auto": for images, those that fit
                            their size; else none. The layers are written into the stored config
                            when a population starts
    channels_last_input     leaves of rank 3 come as [height, width, channels]; false: [channels,
                            height, width]. With "images" it matters only where a shape can be read
                            both ways
    hidden                  widths of the hidden layers, first to last
    measurement_hidden      widths of the layers for measurements: all that is seen beside an image.
                            Their outputs join those of `hidden`, in front of the memory. Empty:
                            measurements join the image's features, in front of `hidden`
    activation              the function behind every layer. "auto": relu where a game's images go
                            through convolutions, else tanh, whose values for numbers that were
                            seldom seen stay near those for numbers that were. It is written into
                            the stored config when a population starts
    core                    "gru" or "lstm" adds memory over time
    gru_size                outputs of a GRU, which are its memory
    lstm_size               outputs of an LSTM, which remembers twice as many numbers
    normalize_observations  subtract the running mean and divide by the running deviation, of every
                            number and every pixel by itself
    policy_gain             scale of the policy head's first weights. A small one makes all actions
                            almost equally likely at first. With 1 the layers below are trained for
                            the policy from the first update on, which pays where updates are few
                            (images)
    """

    encoder: Literal["auto", "mlp", "conv", "images"] = "auto"
    conv: Annotated[tuple[ConvLayer, ...], Field(max_length=LAYERS)] | Literal["auto"] = "auto"
    channels_last_input: bool = True
    hidden: Annotated[tuple[Width, ...], Field(max_length=LAYERS)] = (256, 256)
    measurement_hidden: Annotated[tuple[Width, ...], Field(max_length=LAYERS)] = ()
    activation: Literal["auto", "relu", "elu", "tanh"] = "auto"
    core: Literal["none", "gru", "lstm"] = "none"
    gru_size: Width = 128
    lstm_size: Width = 128
    normalize_observations: bool = False
    policy_gain: Annotated[float, Field(gt=0.0, le=1000.0)] = 0.01

    @property
    def memory_size(self) -> int:
        """The outputs of the core, 0 without memory."""
        return {"none": 0, "gru": self.gru_size, "lstm": self.lstm_size}[self.core]

    @property
    def state_size(self) -> int:
        """The numbers that a seat keeps from one step to the next, 0 without memory."""
        return 2 * self.memory_size if self.core == "lstm" else self.memory_size


class SamplingConfig(Section):
    """How games are played to be learned from.

    environments         tables that play at the same time. "auto": 128 for every rollout worker;
                         the number is written into the stored config when a population starts,
                         since seeds belong to tables
    rollout_steps        T, the rows of a slot. By default a batch is one slot of each table
    opening_plies        a training game begins with 0 to this many uniformly random decisions; the
                         number is drawn for each game, and no member learns from them
    decorrelation_steps  before its first game a table makes 0 to this many uniformly random moves,
                         once; the number is drawn for each table. Where games end on the way others
                         begin; no member learns from these moves, and the game that they end in is
                         not scored. So tables that begin together do not end their games together
    seat_block           this many neighbouring tables draw the same players for games of the same
                         count, which makes the batches of inference larger
    """

    environments: Tables | Literal["auto"] = 16
    rollout_steps: Annotated[int, Field(ge=2, le=100_000)] = 128
    opening_plies: Plies = 0
    decorrelation_steps: Annotated[int, Field(ge=0, le=100_000)] = 0
    seat_block: Tables = 1


# Steps of a minibatch by default.
_PART_STEPS = 256


def minibatches_by_size(values: Mapping[str, Any]) -> int:
    """The default of `minibatches`: parts of 256 steps, a power of two of them.

    The parts are whole multiples of 256 steps, so that slots of 2, 4, ..., 256 rows divide them.

    values  the section's keys that were read before
    """
    batch, parts = values.get("batch_steps", 1), 1
    while batch % (2 * parts * _PART_STEPS) == 0:
        parts *= 2
    return parts


def first_moment_decay(values: Mapping[str, Any]) -> float:
    """The default of `adam_beta1`.

    values  the section's keys that were read before
    """
    return 0.0 if values.get("optimizer") == "rmsprop" else 0.9


AlgorithmName = Literal["appo", "dqn"]
# Those that learn only games in which an action is one choice.
OF_ONE_CHOICE: tuple[AlgorithmName, ...] = ("dqn",)
# Those that train on steps of a replay, which one process keeps for a member.
REPLAYING: tuple[AlgorithmName, ...] = ("dqn",)


def _annealed() -> list[str]:
    """The names of the hyperparameters that are annealed."""
    return [row.name for row in HYPERPARAMS.values() if row.mark.annealed]


def _annealed_name(name: str) -> str:
    if name not in _annealed():
        raise PydanticKnownError("enum", {"expected": ", ".join(_annealed())})
    return name


AnnealedName = Annotated[
    str,
    AfterValidator(_annealed_name),
    Field(json_schema_extra=lambda schema: schema.update(enum=[*_annealed()])),
]


class LearningConfig(Section):
    """The update. What is said of policies, V-trace and PPO is of APPO alone (docs/algorithms.md).

    algorithm             "appo": an actor-critic with PPO's clip and V-trace, each with a switch.
                          "dqn": Q-learning from replayed steps, with the values of [dqn]
    batch_steps           steps of one member in a batch
    minibatches           parts into which a batch is split; each gives one step of the optimiser.
                          By default as many as have 256 steps or more each: 8 of 2048
    shuffle               what the parts are drawn from, anew for every pass. "slots": whole slots,
                          with targets by the present weights. "rows": single steps, so a part has
                          steps of many games; their targets are computed once a batch, by GAE from
                          the values predicted in acting. It needs vtrace = false and no memory
    epochs                passes over a batch
    optimizer             what turns gradients into steps
    learning_rate         the optimiser's step size; PBT mutates it
    scale_with_batch      a base batch, in steps: the optimiser takes learning_rate times the square
                          root of batch_steps / scale_with_batch. The batch of one update counts,
                          whatever its minibatches, epochs and shards. PBT mutates, copies and shows
                          the rate at the base batch. 0: the rate is taken as it is
    entropy_coef          weight of the entropy bonus; PBT mutates it
    magnet_coef           weight of KL(policy || magnet), where the magnet is an average of the
                          member's own weights: in games without a best move it keeps members from
                          chasing each other in circles. 0: there is none
    magnet_decay          after every step of the optimiser the magnet is this times itself, and
                          the rest the present weights
    adam_beta1            Adam's decay of the first moment; PBT mutates it. 0 with "rmsprop", which
                          has none
    adam_beta2            Adam's decay of the second moment
    adam_eps              Adam's epsilon
    rmsprop_decay         RMSProp's decay of the mean square
    rmsprop_eps           RMSProp's epsilon
    rmsprop_eps_inside    epsilon is added to the mean square inside the root, as by Lasagne and
                          TensorFlow; false: to the root, as by torch
    gamma                 discount per step
    gae_lambda            shortens the traces; 1.0 is plain V-trace
    vtrace                correct for the lag between acting and learning
    vtrace_rho            largest importance weight of a temporal difference
    vtrace_c              largest importance weight in the product of a trace
    ppo_clip              clip the policy ratio
    ratio_clip            r: the policy ratio is clipped to [1/r, r]
    value_coef            weight of the value loss
    value_clip            a value that has moved further than this from what it was when acting is
                          not moved further, in the unit of the value head: that of the rewards,
                          or, with normalize_returns, of their size; None: no limit
    max_grad_norm         a longer gradient is shortened to this norm
    reward_scale          all rewards are multiplied by this
    anneal_to             learning rate and entropy coefficient shrink linearly, from full at frame
                          0 to this fraction at stop_at_frames; PBT mutates the full values. 1:
                          constant
    not_annealed          names of those that `anneal_to` leaves constant all the same
    normalize_advantages  scale advantages to mean 0 and deviation 1
    normalize_returns     divide rewards by the size of the returns so far: value targets are then
                          around 1 whatever a game pays
    max_lag               slots with a row that was acted by weights more than this many versions
                          (batches) old are dropped; None: V-trace corrects all that come
    timeout_s             for one update. A longer one counts as hung, and its process is restarted;
                          not in the placement "serial"
    shaping               weight per reward term of the game, 1 where it is not named; PBT mutates
                          it
    """

    algorithm: AlgorithmName = "appo"
    batch_steps: Annotated[int, Field(ge=1, le=100_000_000)] = 2048
    minibatches: PositiveInt = Field(default_factory=minibatches_by_size)
    shuffle: Literal["slots", "rows"] = "slots"
    epochs: Annotated[int, Field(ge=1, le=1000)] = 10
    optimizer: Literal["adam", "rmsprop"] = "adam"
    learning_rate: Annotated[
        LearningRate, Mutable((1e-6, 1e-1), within=OneOrLess, annealed=True)
    ] = 5e-4
    scale_with_batch: Annotated[int, Field(ge=0, le=100_000_000)] = 0
    entropy_coef: Annotated[
        Coefficient,
        Mutable((1e-6, 1.0), within=HundredOrLess, annealed=True, algorithm="appo"),
    ] = 0.001
    magnet_coef: Coefficient = 0.0
    magnet_decay: Probability = 0.999
    adam_beta1: Annotated[
        float,
        Field(ge=0.0, lt=1.0),
        Mutable((1e-3, 0.5), within=OneOrLess, distance_to_one=True, optimizer="adam", told=False),
    ] = Field(default_factory=first_moment_decay)
    adam_beta2: Annotated[float, Field(ge=0.0, lt=1.0)] = 0.999
    adam_eps: OneOrLess = 1e-6
    rmsprop_decay: Annotated[float, Field(ge=0.0, lt=1.0)] = 0.99
    rmsprop_eps: OneOrLess = 1e-5
    rmsprop_eps_inside: bool = False
    gamma: Probability = 0.99
    gae_lambda: Probability = 0.95
    vtrace: bool = True
    vtrace_rho: Ratio = 1.0
    vtrace_c: Ratio = 1.0
    ppo_clip: bool = True
    ratio_clip: Annotated[float, Field(gt=1.0, le=1e6)] = 1.2
    value_coef: Coefficient = 0.5
    value_clip: Ratio | None = None
    max_grad_norm: Annotated[float, Field(gt=0.0, le=1e9)] = 0.5
    reward_scale: RewardScale = 1.0
    anneal_to: Probability = 1.0
    not_annealed: tuple[AnnealedName, ...] = ()
    normalize_advantages: bool = True
    normalize_returns: bool = True
    max_lag: PositiveInt | None = None
    timeout_s: Seconds = 300.0
    shaping: dict[str, RewardWeight] = {}

    @property
    def batch_factors(self) -> dict[str, float]:
        """By what hyperparameters are multiplied for the size of the batch, by name.

        The square root is the rule of Stooke & Abbeel 2018, "Accelerated methods for deep
        reinforcement learning", section 5.3, where A2C has 7e-4 at 80 steps.
        """
        base = self.scale_with_batch
        return {"learning_rate": math.sqrt(self.batch_steps / base)} if base else {}


class DqnConfig(Section):
    """Deep Q-learning, where [learning] or a member names "dqn" (docs/algorithms.md).

    The steps of `learning.batch_steps` go into the replay at once; then the learner trains. Of
    [learning] it takes the optimiser, the rates, gamma and the rewards, and leaves the rest.

    replay_rows         newest steps that are kept and drawn from, all alike
    least_rows          as many must be there before it trains
    batch_rows          steps that each step of the optimiser is computed from
    training_intensity  steps that it trains on for each step that was played
    target_steps        steps of the optimiser from one copy of the weights into the target network
                        to the next
    double              the present weights choose the action that a target is computed for; false:
                        those of the target network
    epsilon_start       share of actions taken at random at frame 0
    epsilon_end         the same from `epsilon_frames` on; PBT mutates it
    epsilon_frames      frames in which the share falls in a line
    epsilon_spread      a seat explores with epsilon^(1 + epsilon_spread * u) in a game, where u is
                        drawn between 0 and 1 for each; 0: all alike. Frozen players explore with
                        0.01
    """

    replay_rows: Annotated[int, Field(ge=2, le=1_000_000_000)] = 50_000
    least_rows: PositiveInt = 1_000
    batch_rows: PositiveInt = 128
    training_intensity: Annotated[float, Field(gt=0.0, le=10_000.0)] = 8.0
    target_steps: PositiveInt = 200
    double: bool = True
    epsilon_start: Probability = 1.0
    epsilon_end: Annotated[Probability, Mutable((1e-3, 0.5), within=OneOrLess, algorithm="dqn")] = (
        0.05
    )
    epsilon_frames: PositiveInt = 20_000
    epsilon_spread: Annotated[float, Field(ge=0.0, le=100.0)] = 0.0


HYPERPARAMS: dict[str, HyperparamSpec] = table(
    marked("learning", LearningConfig), marked("dqn", DqnConfig)
)
"""The table of hyperparameters by name, but for the weights of reward terms (`mutable.SHAPING`)."""


def rows_of(algorithm: AlgorithmName) -> tuple[HyperparamSpec, ...]:
    """The rows of the table that a member of an algorithm has."""
    return tuple(row for row in HYPERPARAMS.values() if row.mark.algorithm in (None, algorithm))
