"""How a run is carried out: its game, what it keeps, and which process does what.

These are the sections [env], [evaluation], [snapshots], [checkpoints] and [runtime].
"""

from typing import Annotated, Any, Literal

from pydantic import Field, field_validator

from pbt.config.game_options import VIEW, game_options
from pbt.config.values import (
    Count,
    Device,
    Plies,
    PositiveInt,
    Probability,
    Processes,
    Seconds,
    Section,
    Side,
)
from pbt.objective import ObjectiveKind

OPTION_DEPTH = 3
"""So many lists and tables may stand within each other in an option of a game."""


def _no_option(value: Any) -> str | None:
    """Why a config cannot hold this value as an option; None: it can."""
    waiting = [(value, 0)]
    while waiting:
        part, depth = waiting.pop()
        if part is None:
            return "null, which TOML does not have; leave it out"
        if not isinstance(part, list | dict):
            continue
        if depth == OPTION_DEPTH:
            return f"more than {OPTION_DEPTH} levels of lists and tables; flatten it"
        inner = part if isinstance(part, list) else part.values()
        waiting += [(one, depth + 1) for one in inner]
    return None


class EnvConfig(Section):
    """The game that is played.

    name           a registered name, or (command line only) "./file.py:function", a function that
                   returns a PettingZoo or Gymnasium environment
    options        what the game itself takes: TOML values, with at most three levels of lists
                   and tables within an option
    resize         [height, width]: the size at which networks see the game's images, by the mean of
                   what a pixel covers; []: as the game gives them
    grey           networks see images in grey
    stack          of each image the networks see this many newest ones at the same time, along the
                   channels; at the start of a game the first one stands for those before it
    drop           leaves of the observation that networks do not see, by their names ("mission",
                   "sensors/0"): what no network takes, such as texts, or what would give too much
                   away
    objective      what results are worth to PBT, ratings and matches (docs/objectives.md): "win", a
                   win; "margin", how much is won, where what some gain the others lose; "return",
                   the return. None: as the game declares; without that "return" where it has one
                   seat, "win" where it has more
    max_decisions  of all seats in one game; a longer game counts as endless and is voided
    timeout_s      for one call of the game's own code (reset, step, outcome, a start of its
                   engine). A longer call counts as hung, and its process is restarted. Only where
                   games run in processes of their own, so not in the placement "serial"
    """

    name: str = Field(min_length=1)
    options: dict[str, Any] = {}
    resize: Annotated[tuple[Side, ...], Field(max_length=2)] = ()
    grey: bool = False
    stack: Annotated[int, Field(ge=1, le=32)] = 1
    drop: tuple[Annotated[str, Field(min_length=1)], ...] = ()
    objective: ObjectiveKind | None = None
    max_decisions: PositiveInt = 100_000
    timeout_s: Seconds = 5.0

    @field_validator("resize")
    @classmethod
    def _both_sides(cls, resize: tuple[int, ...]) -> tuple[int, ...]:
        if len(resize) == 1:
            raise ValueError(
                f"env.resize = [{resize[0]}]: one number; expected [height, width], or [] for the "
                f"game's own size; write [{resize[0]}, {resize[0]}]"
            )
        return resize

    @field_validator("options")
    @classmethod
    def _only_own(cls, options: dict[str, Any]) -> dict[str, Any]:
        if views := [name for name in options if name.startswith(VIEW)]:
            raise ValueError(
                "\n".join(
                    f'env.options."{name}": no option of a game; set {name} itself'
                    for name in views
                )
            )
        if problems := [
            f"env.options.{name}: {problem}"
            for name, value in options.items()
            if (problem := _no_option(value)) is not None
        ]:
            raise ValueError("\n".join(problems))
        return options

    @property
    def game_options(self) -> dict[str, Any]:
        """As `game_options`, of this section."""
        images = {"resize": list(self.resize), "grey": self.grey, "stack": self.stack}
        return game_options({"options": self.options, **images, "drop": sorted(set(self.drop))})


class SnapshotConfig(Section):
    """When a member's weights are frozen, and which of these snapshots stay.

    The best one and those marked as anchors always stay.

    every_frames   from one to the next, on a member's own clock
    keep_newest    this many newest snapshots of the whole population stay
    thinned_every  n: of each member's snapshots the first and every n-th after it stay
    """

    every_frames: PositiveInt = 1_000_000
    keep_newest: PositiveInt = 20
    thinned_every: PositiveInt = 5


class EvaluationConfig(Section):
    """Evaluation games: played between frozen snapshots, apart from training.

    share          fraction of all games that are evaluation games
    final_games    per member, when training ends
    opening_plies  evaluation games and matches begin with this many random moves, in games of turns
                   without chance; all other games begin with none
    record_share   fraction of the evaluation games that are filmed, in games whose players see an
                   image; needs the extra `video`
    record_films   the newest films are kept, at most this many
    record_mb      the newest films are kept, at most this many megabytes of them
    """

    share: Probability = 0.05
    final_games: Count = 40
    opening_plies: Plies = 2
    record_share: Probability = 0.0
    record_films: PositiveInt = 50
    record_mb: PositiveInt = 500


class CheckpointConfig(Section):
    """The checkpoints from which a run is resumed.

    every_s  seconds from one to the next
    keep     the newest of this number stay
    """

    every_s: Seconds = 60.0
    keep: PositiveInt = 2


class HtsConfig(Section):
    """How rows are trained that the weights before the newest have acted (runtime.sync = "hts").

    gradient  "clipped": the gradient at the newest weights, with the algorithm's own correction.
              "delayed": the gradient at the weights that acted, applied to the newest, in one step
              (Liu et al. 2020, "High-Throughput Synchronous Deep RL", equation 6)
    """

    gradient: Literal["clipped", "delayed"] = "clipped"


class RuntimeConfig(Section):
    """Which process does what, on which device, and what is done about a process that dies.

    Two values change what is learned: `sync` says how old the weights may be that acted in the
    rows, and `precision` how numbers are rounded. No other value changes what is learned from which
    game. A sampling plane is the processes that play and act together: workers and policy servers.

    placement          "serial": one process, reproducible bit for bit. "inline": workers that act
                       and learn themselves. "central": workers, policy servers and learners apart.
                       "auto": central where there is a CUDA device, else inline
    workers            processes that play games; "auto": one per usable core (affinity and cgroup
                       quota), in "central" one less
    servers            (central) processes that act
    learners           (central) processes that train; 0: the servers' processes train
    groups             (central) sets of tables per worker: while one waits for its actions the next
                       is stepped. In "sync" there is one, in "alternating" there are two
    sync               the rhythm of acting and learning (docs/rhythms.md). "async": both go on at
                       the same time. In the others every table plays a rollout of `sync_steps`
                       turns, and what comes of a seed is the same in every placement. "sync":
                       then all learners train all of its rows, then tables go on.
                       "alternating" (central): the same with two sets of tables per worker, one
                       of which is stepped while the other is acted for. "hts": learners train
                       the rows of one rollout while tables play the next, so the weights that
                       act are exactly one update old
    sync_steps         turns of a rollout; "auto": sampling.rollout_steps
    inference_device   "cpu", "cuda:N", or "auto": CUDA where there is one, else the CPU
    learner_device     the same for learners
    queues             between workers and servers: "faster_fifo", "sockets", or "auto": faster-fifo
                       where it is installed
    precision          of the networks' matrix products: "float32", "bfloat16", or "auto": bfloat16
                       for images where the device computes with it, else float32
    torch_threads      per process; more than one makes processes compete for the same cores
    pin_workers        (inline) where there are as many workers as cores, each stays on its own
                       core, and so do the engines of its games
    waiting_batches    workers wait while any member has this many batches waiting for its learner
    silent_after_s     a process that shows no sign of life for this long is killed and restarted
    inference_delay_s  (central) every answer comes this much later: to measure what hides it
    max_restarts       deaths in a row without an update in between that are forgiven. After that
                       the members of a learner fail, and a sampling plane ends the run
    """

    placement: Literal["auto", "serial", "inline", "central"] = "auto"
    workers: Processes | Literal["auto"] = "auto"
    servers: Processes = 1
    learners: Annotated[int, Field(ge=0, le=1024)] = 1
    groups: Processes = 2
    sync: Literal["async", "sync", "alternating", "hts"] = "async"
    sync_steps: Annotated[int, Field(ge=1, le=100_000)] | Literal["auto"] = "auto"
    inference_device: Device = "auto"
    learner_device: Device = "auto"
    queues: Literal["auto", "faster_fifo", "sockets"] = "auto"
    precision: Literal["auto", "float32", "bfloat16"] = "auto"
    torch_threads: PositiveInt = 1
    pin_workers: bool = True
    waiting_batches: PositiveInt = 2
    silent_after_s: Seconds = 5.0
    inference_delay_s: Annotated[float, Field(ge=0.0, le=60.0)] = 0.0
    max_restarts: Count = 5

    @property
    def in_rounds(self) -> bool:
        """Whether tables play in rollouts, between which everything is decided."""
        return self.sync != "async"
