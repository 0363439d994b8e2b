"""The configuration, whole. Every default stands here; every name carries its unit. Defaults suit
light board games.

Doom's defaults (Petrenko et al. 2020, tables A.4 and A.5) stand in their own config files.
"""

from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

Probability = Annotated[float, Field(ge=0.0, le=1.0)]
# What JSON and SQLite can say of whole numbers.
_LARGEST = 2**53
PositiveInt = Annotated[int, Field(ge=1, le=_LARGEST)]
Count = Annotated[int, Field(ge=0, le=_LARGEST)]
PositiveFloat = Annotated[float, Field(gt=0.0)]
# Beyond what any machine holds: whoever writes more has mistyped, and should not learn it from a
# machine without memory.
Members = Annotated[int, Field(ge=1, le=1000)]
Tables = Annotated[int, Field(ge=1, le=100_000)]
Width = Annotated[int, Field(ge=1, le=65_536)]
Processes = Annotated[int, Field(ge=1, le=1024)]
Plies = Annotated[int, Field(ge=0, le=1000)]
LAYERS = 100
Device = Annotated[str, Field(pattern=r"^(auto|cpu|cuda:\d+)$")]


PastMode = Literal["uniform", "latest", "pfsp_hard", "pfsp_variance", "elo_gaussian"]
Opponents = Literal["all", "common"]


class Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class EnvConfig(Section):
    """The game: a registered name, or (command line only) "./file.py:function" returning a
    PettingZoo or Gymnasium environment.

    max_decisions: of all seats in one game; a longer one is taken for endless and voided.
    timeout_s: for one call of the game's own code (reset, step, outcome, a start of its engine); a
    longer one is taken for hung and its process is restarted. Only where games run in processes of
    their own, so not in the placement "serial".
    """

    name: str = Field(min_length=1)
    options: dict[str, Any] = {}
    max_decisions: PositiveInt = 100_000
    timeout_s: PositiveFloat = 5.0


MemberName = Annotated[str, Field(pattern=r"^m(0|[1-9][0-9]{0,3})$")]


class Joined(Section):
    """A member that came while the others trained. weights: what it began with: "" its own first
    ones, a member ("m0": its learner as it stood then, and its hyperparameters), or a snapshot's
    id.
    """

    role: str = Field(min_length=1)
    weights: Annotated[str, Field(pattern=r"^(|m[0-9]{1,4}|[0-9a-f]{64})$")] = ""


class PopulationConfig(Section):
    """members: how many per role to begin with; a number, or a table role -> number for games whose
    roles differ. They are called m0, m1, ...

    joined  those that came later, by name: numbers go on, and none is used twice;  left: those that
            learn no more; neither is taken back
    """

    members: Members | dict[str, Members] = 4
    joined: dict[MemberName, Joined] = {}
    left: tuple[MemberName, ...] = ()


class ConvLayer(Section):
    channels: Width
    kernel: Width
    stride: Width = 1
    padding: Annotated[int, Field(ge=0, le=65_536)] = 0


class ModelConfig(Section):
    """encoder "auto": conv for leaves of rank 3 when `conv` is given, else MLP. core "gru" adds
    memory.

    normalize_observations: by running mean and deviation, of every number and every pixel for
    itself. policy_gain: scale of the policy head's first weights. Small: all actions are almost
    equally likely at first. 1: the layers below are trained for the policy from the first update
    on, which pays where updates are few (images).
    """

    encoder: Literal["auto", "mlp", "conv"] = "auto"
    conv: Annotated[tuple[ConvLayer, ...], Field(max_length=LAYERS)] = ()
    channels_last_input: bool = True
    hidden: Annotated[tuple[Width, ...], Field(max_length=LAYERS)] = (256, 256)
    activation: Literal["relu", "elu", "tanh"] = "relu"
    core: Literal["none", "gru"] = "none"
    gru_size: Width = 128
    normalize_observations: bool = False
    policy_gain: PositiveFloat = 0.01


class SamplingConfig(Section):
    """environments: tables played at the same time; rollout_steps: T, the rows of a slot.

    environments "auto": 128 for every rollout worker. Written into the stored config when a
    population starts, since seeds belong to tables. opening_plies: a training game begins with 0 to
    this many uniformly random decisions, how many is drawn for each game; nobody learns from them.
    seat_block: so many neighbouring tables draw the same players for games of the same count, which
    makes the batches of inference larger.
    """

    environments: Tables | Literal["auto"] = 64
    rollout_steps: Annotated[int, Field(ge=2, le=100_000)] = 16
    opening_plies: Plies = 0
    seat_block: Tables = 1


class LearningConfig(Section):
    """APPO: PPO's clip and V-trace, each with a switch. batch_steps are steps of one member; epochs
    pass over them in `minibatches` parts.

    ratio_clip r clips the policy ratio to [1/r, r]. gae_lambda shortens the traces (1.0 = plain
    V-trace). shaping: weight per reward term of the game, 1 where not named; mutable by PBT.
    anneal_to: learning rate and entropy coefficient shrink linearly, from full at frame 0 to this
    share of it at stop_at_frames; 1: constant PBT mutates the full values. max_lag: slots with a
    row acted by weights more than so many versions (batches) old are dropped; None: V-trace
    corrects whatever comes. timeout_s: for one update; a longer one is taken for hung and its
    process is restarted. Not in the placement "serial".
    """

    batch_steps: Annotated[int, Field(ge=1, le=100_000_000)] = 2048
    minibatches: PositiveInt = 1
    epochs: PositiveInt = 1
    learning_rate: Annotated[float, Field(ge=0.0)] = 1e-3
    adam_beta1: Annotated[float, Field(ge=0.0, lt=1.0)] = 0.9
    adam_beta2: Annotated[float, Field(ge=0.0, lt=1.0)] = 0.999
    adam_eps: PositiveFloat = 1e-6
    gamma: Probability = 0.99
    gae_lambda: Probability = 0.95
    vtrace: bool = True
    vtrace_rho: PositiveFloat = 1.0
    vtrace_c: PositiveFloat = 1.0
    ppo_clip: bool = True
    ratio_clip: Annotated[float, Field(gt=1.0)] = 1.2
    value_coef: Annotated[float, Field(ge=0.0)] = 0.5
    entropy_coef: Annotated[float, Field(ge=0.0)] = 0.01
    max_grad_norm: PositiveFloat = 4.0
    reward_scale: PositiveFloat = 1.0
    anneal_to: Probability = 1.0
    normalize_advantages: bool = True
    max_lag: PositiveInt | None = None
    timeout_s: PositiveFloat = 300.0
    shaping: dict[str, float] = {}


class ScheduleStep(Section):
    """at_frames: of the member's own clock, from which on the values named hold; the others stay
    as they are.
    """

    at_frames: Count
    learning_rate: Annotated[float, Field(ge=0.0)] | None = None
    entropy_coef: Annotated[float, Field(ge=0.0)] | None = None
    adam_beta1: Annotated[float, Field(ge=0.0, lt=1.0)] | None = None
    shaping: dict[str, float] = {}


class MemberOverride(Section):
    """Starting values of single members, by name ("m0"): PBT goes on from there; or, without PBT,
    what they are over the whole training.

    schedule: in the order of frames; `arena lineage PLAYER --export-schedule FILE` writes that of a
    policy's ancestry.
    """

    learning_rate: Annotated[float, Field(ge=0.0)] | None = None
    entropy_coef: Annotated[float, Field(ge=0.0)] | None = None
    adam_beta1: Annotated[float, Field(ge=0.0, lt=1.0)] | None = None
    shaping: dict[str, float] = {}
    schedule: tuple[ScheduleStep, ...] = ()


class PbtConfig(Section):
    """Population-based training (Jaderberg et al. 2017; Petrenko et al. 2020, section A.3.1).

    period_frames, warmup_frames  on a member's own clock; the first round comes at the first
                                  multiple of the period at or after the warm-up
    copy_gap     objective distance from which a loser takes a winner's weights; None: 0.35 in
                 self-play, 0 in single-agent games
    score_games  a member's objective is taken over its newest games since its last copy, at most
                 this many
    opponents    "common": two members are compared on opponents that both met; "all": by their win
                 rates against whomever they met
    copy_significance  a copy also needs a gap that chance makes with at most this probability
                       (one-sided); None: whatever the gap
    """

    enabled: bool = True
    period_frames: PositiveInt = 5_000_000
    warmup_frames: Count = 20_000_000
    top_share: Probability = 0.3
    copy_gap: Annotated[float, Field(ge=0.0)] | None = None
    min_games: PositiveInt = 50
    score_games: PositiveInt = 2000
    opponents: Opponents = "common"
    copy_significance: Annotated[float, Field(gt=0.0, lt=0.5)] | None = None
    mutation_probability: Probability = 0.15
    mutation_factor: Annotated[float, Field(gt=1.0)] = 1.2
    learning_rate_bounds: tuple[PositiveFloat, PositiveFloat] = (1e-6, 1e-1)
    entropy_coef_bounds: tuple[PositiveFloat, PositiveFloat] = (1e-6, 1.0)
    one_minus_adam_beta1_bounds: tuple[PositiveFloat, PositiveFloat] = (1e-3, 0.5)
    shaping_bounds: tuple[PositiveFloat, PositiveFloat] = (1e-4, 1e4)


class MatchmakingConfig(Section):
    """Who sits opposite a learning member: live members, or the past (docs/matchmaking.md).

    past_share   probability that an opponent's seat is taken by a frozen snapshot, drawn from the
                 newest `past_window` of the seat's role
    past_mode    which of them: "uniform"; "latest": the newest of each member, whatever the window;
                 "pfsp_hard": those it loses to, (1 - p)^k;
                 "pfsp_variance": those it is even with, p (1 - p); "elo_gaussian": those of a
                 similar rating
    pfsp_power   k of "pfsp_hard";  elo_sigma: width of "elo_gaussian", in expected score
    resident     frozen players whose weights one process keeps; a table waits where more would have
                 to play at once. "auto": room for all there are
    """

    past_share: Probability = 0.2
    past_window: PositiveInt = 10
    past_mode: PastMode = "uniform"
    pfsp_power: PositiveFloat = 2.0
    elo_sigma: PositiveFloat = 1 / 6
    resident: PositiveInt | Literal["auto"] = "auto"


class SnapshotConfig(Section):
    """every_frames on a member's own clock. Kept: the newest, every thinned_every-th of the
    older, the best, and those marked as anchors.
    """

    every_frames: PositiveInt = 1_000_000
    keep_newest: PositiveInt = 20
    thinned_every: PositiveInt = 5


class EvaluationConfig(Section):
    """share of all games played between frozen snapshots, apart from training; final_games per
    member when training ends.

    opening_plies: evaluation games and matches of games of turns without chance begin with so many
    random moves, of all others with none.
    record_share   of the evaluation games so many are filmed, in games whose players see an image;
                   needs the extra `video`
    record_films, record_mb  so many films are kept at most, of so many megabytes together: the
                             newest
    """

    share: Probability = 0.05
    final_games: Count = 40
    opening_plies: Plies = 2
    record_share: Probability = 0.0
    record_films: PositiveInt = 50
    record_mb: PositiveInt = 500


class CheckpointConfig(Section):
    every_s: PositiveFloat = 60.0
    keep: PositiveInt = 2


class RuntimeConfig(Section):
    """Which process does what, on which device, and what is done about a process that dies. Nothing
    here changes what is learned from which game.

    placement   "serial": one process, reproducible bit for bit; "inline": workers that act and
                learn themselves; "central": workers, policy
                servers and learners apart. "auto": central where there is a CUDA device, else
                inline
    workers     processes that play games; "auto": one per usable core (affinity and cgroup quota),
                in "central" one less
    servers     (central) processes that act;  learners: (central) processes that train, 0: the
                servers' processes do
    groups      (central) sets of tables per worker: while one waits for its actions the next is
                stepped
    inference_device, learner_device  "auto" (CUDA where there is one, else the CPU), "cpu",
                                      "cuda:N"
    queues      between workers and servers: "auto" (faster-fifo where it is installed),
                "faster_fifo", "sockets"
    precision   of the networks' matrix products: "float32", "bfloat16", or "auto": bfloat16 for
                images where the CPU computes with it, else float32
    torch_threads  per process; more than one makes processes fight for the same cores
    pin_workers  (inline) where there are as many workers as cores, each stays on its own, and so do
                 the engines of its games
    waiting_batches  workers hold while any member has so many batches waiting for its learner
    silent_after_s  a process that shows no sign of life for so long is killed and restarted
    inference_delay_s  (central) every answer comes so much later: to measure what hides it
    max_restarts    in a row without an update in between; then the members of a learner fail, and a
                    sampling plane ends the run
    """

    placement: Literal["auto", "serial", "inline", "central"] = "auto"
    workers: Processes | Literal["auto"] = "auto"
    servers: Processes = 1
    learners: Annotated[int, Field(ge=0, le=1024)] = 1
    groups: Processes = 2
    inference_device: Device = "auto"
    learner_device: Device = "auto"
    queues: Literal["auto", "faster_fifo", "sockets"] = "auto"
    precision: Literal["auto", "float32", "bfloat16"] = "auto"
    torch_threads: PositiveInt = 1
    pin_workers: bool = True
    waiting_batches: PositiveInt = 2
    silent_after_s: PositiveFloat = 5.0
    inference_delay_s: Annotated[float, Field(ge=0.0)] = 0.0
    max_restarts: Count = 5


class RunConfig(Section):
    """One training run. stop_at_frames: each member's own clock; a member that reached it sits
    as a frozen opponent until all have.
    """

    description: str = ""
    seed: Annotated[int, Field(ge=0, lt=2**31)] = 1
    stop_at_frames: PositiveInt = 100_000_000
    env: EnvConfig
    population: PopulationConfig = PopulationConfig()
    members: dict[str, MemberOverride] = {}
    model: ModelConfig = ModelConfig()
    sampling: SamplingConfig = SamplingConfig()
    learning: LearningConfig = LearningConfig()
    pbt: PbtConfig = PbtConfig()
    matchmaking: MatchmakingConfig = MatchmakingConfig()
    evaluation: EvaluationConfig = EvaluationConfig()
    snapshots: SnapshotConfig = SnapshotConfig()
    checkpoints: CheckpointConfig = CheckpointConfig()
    runtime: RuntimeConfig = RuntimeConfig()

    @model_validator(mode="after")
    def _no_contradictions(self) -> Self:
        problems = list(self._contradictions())
        if problems:
            raise ValueError("\n".join(problems))
        return self

    def _contradictions(self) -> list[str]:
        """Cross-field problems, each ``place = found: expected; what to do``."""
        found = []
        steps, batch, parts = (
            self.sampling.rollout_steps,
            self.learning.batch_steps,
            self.learning.minibatches,
        )
        if batch % steps:
            fits = max(1, round(batch / steps)) * steps
            found.append(
                f"learning.batch_steps = {batch}: must be a multiple of "
                f"sampling.rollout_steps = {steps}; try {fits}"
            )
        elif (batch // steps) % parts:
            found.append(
                f"learning.minibatches = {parts}: must divide the {batch // steps} slots of "
                "a batch; try 1"
            )
        if self.model.encoder == "mlp" and self.model.conv:
            found.append(
                'model.conv: has layers, but encoder = "mlp" uses none; remove them, or set '
                'encoder = "auto"'
            )
        if self.model.encoder == "conv" and not self.model.conv:
            found.append(
                'model.conv = []: encoder "conv" needs at least one layer; add { channels = '
                "32, kernel = 3 }"
            )
        for name in ("learning_rate", "entropy_coef", "one_minus_adam_beta1", "shaping"):
            low, high = getattr(self.pbt, f"{name}_bounds")
            if low >= high:
                found.append(
                    f"pbt.{name}_bounds = [{low:g}, {high:g}]: the first must be smaller "
                    "than the second; swap them"
                )
        found += [
            problem
            for name, override in self.members.items()
            for problem in self._schedule_problems(name, override.schedule)
        ]
        if self.pbt.enabled and self.pbt.min_games > self.pbt.score_games:
            found.append(
                f"pbt.min_games = {self.pbt.min_games}: more than pbt.score_games = "
                f"{self.pbt.score_games}, so no member is ever ranked"
            )
        return found

    def _schedule_problems(self, member: str, schedule: tuple[ScheduleStep, ...]) -> list[str]:
        found, frames = [], [step.at_frames for step in schedule]
        if frames != sorted(set(frames)):
            found.append(
                f"members.{member}.schedule: at_frames {frames}; each must be greater than "
                "the one before; sort the steps"
            )
        if schedule and self.pbt.enabled:
            found.append(
                f"members.{member}.schedule: PBT would change the same values; set "
                "pbt.enabled = false, or remove the schedule"
            )
        return found
