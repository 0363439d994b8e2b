"""The placements, as tables that say which process hosts which components."""

from collections.abc import Sequence
from dataclasses import dataclass

from pbt.config.learning import REPLAYING
from pbt.config.schema import RunConfig
from pbt.errors import ConfigError

TABLES_PER_WORKER = 128


@dataclass(frozen=True)
class Shard:
    """A member's learner, or a part of it where several processes train one member.

    member  the member's name
    index   which part; part 0 publishes
    shards  how many parts there are
    """

    member: str
    index: int = 0
    shards: int = 1


@dataclass(frozen=True)
class ProcessPlan:
    """One process and what it hosts.

    name    of the process
    groups  numbers of the partitions of tables that it plays, one group of tables each, stepped one
            after the other (`pbt.runtime.blueprint.equal_shares`)
    local   the process itself computes actions for its tables, else the servers do
    serves  its number among the servers, which acts for the policies p with p % servers == serves;
            None where it is no server
    trains  the learners that it hosts
    """

    name: str
    groups: tuple[int, ...] = ()
    local: bool = False
    serves: int | None = None
    trains: tuple[Shard, ...] = ()

    @property
    def in_plane(self) -> bool:
        """Whether it belongs to the sampling plane: all workers and servers.

        The plane dies and is started again as a whole; any other process is a fault domain of its
        own.
        """
        return bool(self.groups) or self.serves is not None

    @property
    def roles(self) -> tuple[str, ...]:
        """What it hosts, in words for people."""
        learner = (
            ("learner " + " ".join(shard.member for shard in self.trains),) if self.trains else ()
        )
        return ("worker",) * bool(self.groups) + ("server",) * (self.serves is not None) + learner


def resolve(config: RunConfig, cores: int, cuda: bool) -> RunConfig:
    """Return the configuration with every "auto" decided that says what is built.

    cores: usable ones; cuda: whether there is a CUDA device. Of the result only
    `sampling.environments` belongs into a stored configuration, since processes are chosen anew at
    every start.
    """
    runtime, sampling = config.runtime, config.sampling
    alternates = runtime.sync == "alternating"
    placement = (
        runtime.placement
        if runtime.placement != "auto"
        else ("central" if cuda or alternates else "inline")
    )
    # The servers of "central" need a core as well.
    workers = (
        max(1, cores - (placement == "central")) if runtime.workers == "auto" else runtime.workers
    )
    if placement == "serial":
        workers = 1
    environments = (
        TABLES_PER_WORKER * workers if sampling.environments == "auto" else sampling.environments
    )
    blocks = -(-environments // sampling.seat_block)
    groups = _groups(config, blocks) if placement == "central" else 1
    resolved = runtime.model_copy(
        update={"placement": placement, "workers": min(workers, blocks // groups), "groups": groups}
    )
    return config.model_copy(
        update={
            "runtime": resolved,
            "sampling": sampling.model_copy(update={"environments": environments}),
        }
    )


def _groups(config: RunConfig, blocks: int) -> int:
    """Return the groups of tables of a worker, each of which has a seat block of its own.

    blocks: of all tables. Raises: ConfigError where there are too few to alternate.
    """
    runtime, sampling = config.runtime, config.sampling
    if runtime.sync == "alternating" and blocks < 2:
        raise ConfigError(
            "the configuration",
            [
                f"sampling.environments = {sampling.environments}: in blocks of "
                f"{sampling.seat_block} (sampling.seat_block) that is one set of tables, and "
                'runtime.sync = "alternating" needs two; raise it'
            ],
        )
    return min({"sync": 1, "alternating": 2}.get(runtime.sync, runtime.groups), blocks)


def process_plans(config: RunConfig, members: Sequence[str]) -> tuple[ProcessPlan, ...]:
    """Return the processes of a resolved "inline" or "central" configuration but the main one."""
    workers = config.runtime.workers
    assert workers != "auto", "resolve() comes first"
    plans = {"inline": _inline, "central": _central}[config.runtime.placement]
    return plans(config, tuple(members), workers)


def _inline(config: RunConfig, members: tuple[str, ...], workers: int) -> tuple[ProcessPlan, ...]:
    """Return one process per core, which plays, acts and learns.

    Every member is trained by one process, or by several, a shard each, where there are fewer
    members than workers and the member does not replay.
    """
    return tuple(
        ProcessPlan(f"worker-{w}", (w,), local=True, trains=_owned(config, members, w, workers))
        for w in range(workers)
    )


def _owned(
    config: RunConfig, members: tuple[str, ...], worker: int, workers: int
) -> tuple[Shard, ...]:
    """Return the learners of one worker.

    Neighbouring members stay together, as tables are dealt out (`owner_of_table`). So in games with
    one seat a process acts for the members that it trains, and for no others.
    """
    if len(members) >= workers:
        return tuple(
            Shard(member)
            for member in members[
                len(members) * worker // workers : len(members) * (worker + 1) // workers
            ]
        )
    place = worker * len(members) // workers
    sharing = [other for other in range(workers) if other * len(members) // workers == place]
    # Every shard divides its part of a batch into all minibatches, so it needs a slot for each.
    most = (
        config.learning.batch_steps // config.sampling.rollout_steps // config.learning.minibatches
    )
    if config.algorithm_of(members[place]) in REPLAYING or config.runtime.in_rounds:
        # A replay is kept by one process. In rounds sums must not depend on how many workers
        # there are.
        most = 1
    index, shards = sharing.index(worker), min(most, len(sharing))
    return (Shard(members[place], index, shards),) if index < shards else ()


def _central(config: RunConfig, members: tuple[str, ...], workers: int) -> tuple[ProcessPlan, ...]:
    """Return workers, servers and learners as processes of their own.

    Without processes for learners (runtime.learners = 0) the servers host them.
    """
    runtime = config.runtime
    servers, learners = min(runtime.servers, len(members)), min(runtime.learners, len(members))
    groups = [tuple(range(w * runtime.groups, (w + 1) * runtime.groups)) for w in range(workers)]
    trained = [
        tuple(Shard(member) for member in members[i :: learners or servers])
        for i in range(learners or servers)
    ]
    return (
        *(ProcessPlan(f"worker-{w}", groups[w]) for w in range(workers)),
        *(
            ProcessPlan(f"server-{s}", serves=s, trains=() if learners else trained[s])
            for s in range(servers)
        ),
        *(ProcessPlan(f"learner-{i}", trains=trained[i]) for i in range(learners)),
    )
