"""The whole configuration of a run, and the contradictions among its sections."""

from collections.abc import Mapping
from typing import Annotated, Self

from pydantic import Field, model_validator

from pbt.config.float32 import float32_problem, float32_problems
from pbt.config.learning import (
    HYPERPARAMS,
    AlgorithmName,
    DqnConfig,
    LearningConfig,
    ModelConfig,
    SamplingConfig,
)
from pbt.config.mutable import SHAPING
from pbt.config.population import (
    MatchmakingConfig,
    MemberOverride,
    PbtConfig,
    PopulationConfig,
    ScheduleStep,
)
from pbt.config.running import (
    CheckpointConfig,
    EnvConfig,
    EvaluationConfig,
    HtsConfig,
    RuntimeConfig,
    SnapshotConfig,
)
from pbt.config.values import PositiveInt, Section


class RunConfig(Section):
    """One training run, as a config file describes it.

    description     a line of the user's own
    seed            of every random stream of the run
    stop_at_frames  on each member's own clock; a member that reached it plays on as a frozen
                    opponent until all have
    env             the game
    population      the members
    members         values of single members, by name
    model           the members' networks
    sampling        how games are played to be learned from
    learning        the update
    dqn             the update of members that learn by DQN
    hts             the update where learning is one round behind
    pbt             population-based training
    matchmaking     who plays whom
    evaluation      games between frozen players
    snapshots       frozen weights
    checkpoints     what a run is resumed from
    runtime         processes and devices
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
    dqn: DqnConfig = DqnConfig()
    hts: HtsConfig = HtsConfig()
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

    def algorithm_of(self, member: str) -> AlgorithmName:
        """The algorithm by which a member learns."""
        override = self.members.get(member)
        own = None if override is None else override.algorithm
        return self.learning.algorithm if own is None else own

    @property
    def algorithms(self) -> tuple[AlgorithmName, ...]:
        """The algorithms that the config names."""
        own = (one.algorithm for one in self.members.values() if one.algorithm is not None)
        return tuple(dict.fromkeys((self.learning.algorithm, *own)))

    def _contradictions(self) -> list[str]:
        """Cross-field problems, one line each: ``place = found: expected; what to do``."""
        problems = float32_problems(self) + self._batch_problems() + self._reward_problems()
        problems += self._optimizer_problems() + self._algorithm_problems()
        problems += self._replay_problems() + self._rhythm_problems() + self._shuffle_problems()
        if self.model.encoder == "mlp" and self.model.conv not in ("auto", ()):
            problems.append(
                'model.conv: has layers, but encoder = "mlp" uses none; remove them, or set '
                'encoder = "auto"'
            )
        if self.model.encoder in ("conv", "images") and not self.model.conv:
            problems.append(
                f'model.conv = []: encoder "{self.model.encoder}" needs at least one layer; add '
                "{ channels = 32, kernel = 3 }"
            )
        for row in (*HYPERPARAMS.values(), SHAPING):
            low, high = getattr(self.pbt, row.bounds_key)
            if low > high:
                problems.append(
                    f"pbt.{row.bounds_key} = [{low:g}, {high:g}]: the first must be no larger "
                    "than the second; swap them"
                )
        problems += [
            problem
            for name, override in self.members.items()
            for problem in self._schedule_problems(name, override.schedule)
        ]
        if self.pbt.enabled and self.pbt.min_games > self.pbt.score_games:
            problems.append(
                f"pbt.min_games = {self.pbt.min_games}: more than pbt.score_games = "
                f"{self.pbt.score_games}, so no member is ever ranked"
            )
        return problems

    def _reward_problems(self) -> list[str]:
        """Shaping weights that `learning.reward_scale` makes infinite or 0, one line each."""
        scale = self.learning.reward_scale
        weights = {"learning.shaping": self.learning.shaping}
        for name in self.members:
            for place, section in self._own_sections(name).items():
                weights[f"{place}.shaping"] = section.shaping
        return [
            f"{place}.{term} = {weight!r}: times learning.reward_scale = {scale!r}, {problem}"
            for place, terms in weights.items()
            for term, weight in terms.items()
            if (problem := float32_problem(weight * scale))
            and not float32_problem(weight)
            and not float32_problem(scale)
        ]

    def _optimizer_problems(self) -> list[str]:
        """Values that the optimiser does not read, one line each."""
        optimizer = self.learning.optimizer
        sections: dict[str, Section] = {"learning": self.learning}
        for name in self.members:
            sections |= self._own_sections(name)
        return [
            f'{place}.{row.name} = {value:g}: the optimiser "{optimizer}" has no such value '
            f'("{row.mark.optimizer}" has); make it 0'
            for row in HYPERPARAMS.values()
            if row.mark.optimizer not in (None, optimizer)
            for place, section in sections.items()
            if (value := getattr(section, row.name))
        ]

    def _own_sections(self, name: str) -> Mapping[str, MemberOverride | ScheduleStep]:
        """The values of a single member, by their place: those of its start, and later ones."""
        own, place = self.members[name], f"members.{name}"
        later = {f"{place}.schedule[{at}]": step for at, step in enumerate(own.schedule)}
        return {place: own, **later}

    def _algorithm_problems(self) -> list[str]:
        """Values of single members whose algorithm has no such hyperparameter, one line each."""
        return [
            f'{place}.{row.name} = {value:g}: {name} learns by "{algorithm}", which has no such '
            f'value ("{row.mark.algorithm}" has); remove it'
            for name in self.members
            for algorithm in (self.algorithm_of(name),)
            for place, section in self._own_sections(name).items()
            for row in HYPERPARAMS.values()
            if row.mark.algorithm not in (None, algorithm)
            and (value := getattr(section, row.name)) is not None
        ]

    def _replay_problems(self) -> list[str]:
        """What is wrong where a member learns by DQN, one line each."""
        if "dqn" not in self.algorithms:
            return []
        dqn = self.dqn
        # Some rows of a slot only carry a last observation, so not all of them are steps.
        problems = [
            f"dqn.{key} = {rows}: more than half of dqn.replay_rows = {dqn.replay_rows}; lower it"
            for key in ("least_rows", "batch_rows")
            if 2 * (rows := getattr(dqn, key)) > dqn.replay_rows
        ]
        if dqn.replay_rows < self.learning.batch_steps:
            problems.append(
                f"dqn.replay_rows = {dqn.replay_rows}: less than learning.batch_steps = "
                f"{self.learning.batch_steps}, which come at once; raise it"
            )
        if base := self.learning.scale_with_batch:
            problems.append(
                f"learning.scale_with_batch = {base}: DQN takes steps from dqn.batch_rows rows, "
                "whatever the batch; make it 0"
            )
        if self.model.core != "none":
            problems.append(
                f'model.core = "{self.model.core}": DQN replays single steps, without the memory '
                'before them; set model.core = "none"'
            )
        return problems

    def _rhythm_problems(self) -> list[str]:
        """What is wrong with the rhythm of acting and learning, one line each."""
        runtime, learning, problems = self.runtime, self.learning, []
        if runtime.sync == "alternating" and runtime.placement in ("serial", "inline"):
            problems.append(
                f'runtime.sync = "alternating": in "{runtime.placement}" a worker acts for its '
                "own tables, so none could be stepped meanwhile; set "
                'runtime.placement = "central", or runtime.sync = "sync"'
            )
        problems += self._round_problems()
        if self.hts.gradient == "delayed":
            if runtime.sync != "hts":
                problems.append(
                    f'hts.gradient = "delayed": runtime.sync = "{runtime.sync}" has no delay; set '
                    'runtime.sync = "hts", or remove it'
                )
            if (steps := learning.epochs * learning.minibatches) > 1:
                problems.append(
                    f'hts.gradient = "delayed": one step from all rows of a round; expected '
                    f"learning.epochs = 1 and learning.minibatches = 1, which make {steps} steps "
                    'now; set them, or hts.gradient = "clipped"'
                )
            if "dqn" in self.algorithms:
                problems.append(
                    'hts.gradient = "delayed": DQN trains on steps that many weights have acted; '
                    'set hts.gradient = "clipped"'
                )
            if learning.shuffle == "rows":
                problems.append(
                    'hts.gradient = "delayed": one part has all rows of a round, so '
                    'learning.shuffle = "rows" draws nothing; set learning.shuffle = "slots"'
                )
        return problems

    def _round_problems(self) -> list[str]:
        """What rounds cannot promise, one line each."""
        runtime, learning = self.runtime, self.learning
        if not runtime.in_rounds:
            return []
        problems = []
        if self.matchmaking.resident != "auto":
            problems.append(
                f"matchmaking.resident = {self.matchmaking.resident}: in rounds "
                f'(runtime.sync = "{runtime.sync}") no game may wait for a place in one process '
                'that it would have in another; set "auto"'
            )
        tables, steps = self.sampling.environments, runtime.sync_steps
        count = self.population.members
        if learning.scale_with_batch and isinstance(tables, int) and isinstance(count, int):
            turns = self.sampling.rollout_steps if steps == "auto" else steps
            rows = tables * turns // count
            if rows != learning.batch_steps:
                problems.append(
                    f"learning.batch_steps = {learning.batch_steps}: in rounds a batch is a "
                    f"member's part of a rollout, {tables} tables x {turns} turns / "
                    f"{count} members = {rows} rows, by which "
                    "learning.scale_with_batch scales; set it to that"
                )
        return problems

    def _shuffle_problems(self) -> list[str]:
        """What is wrong where parts are drawn from single steps, one line each."""
        if self.learning.shuffle != "rows" or "appo" not in self.algorithms:
            return []
        problems = []
        if self.learning.vtrace:
            problems.append(
                'learning.shuffle = "rows": its targets are those of GAE, but learning.vtrace = '
                "true; set learning.vtrace = false"
            )
        if self.model.core != "none":
            problems.append(
                f'learning.shuffle = "rows": model.core = "{self.model.core}" needs the steps '
                'before each step; set learning.shuffle = "slots"'
            )
        return problems

    def _batch_problems(self) -> list[str]:
        """What is wrong with the sizes of slots, batches and minibatches, at most one line."""
        steps, batch = self.sampling.rollout_steps, self.learning.batch_steps
        parts = self.learning.minibatches
        if batch % steps:
            fits = max(1, round(batch / steps)) * steps
            return [
                f"learning.batch_steps = {batch}: must be a multiple of "
                f"sampling.rollout_steps = {steps}; try {fits}"
            ]
        if (batch // steps) % parts:
            return [
                f"learning.minibatches = {parts}: must divide the {batch // steps} slots of "
                "a batch; try 1"
            ]
        return []

    def _schedule_problems(self, member: str, schedule: tuple[ScheduleStep, ...]) -> list[str]:
        """What is wrong with the schedule of one member, one line each."""
        problems, frames = [], [step.at_frames for step in schedule]
        if frames != sorted(set(frames)):
            problems.append(
                f"members.{member}.schedule: at_frames {frames}; each must be greater than "
                "the one before; sort the steps"
            )
        if schedule and self.pbt.enabled:
            problems.append(
                f"members.{member}.schedule: PBT would change the same values; set "
                "pbt.enabled = false, or remove the schedule"
            )
        return problems
