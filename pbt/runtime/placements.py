"""The placements, as tables: which process hosts which components."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Self

from pbt.config.schema import RunConfig

TABLES_PER_WORKER = 128


@dataclass(frozen=True)
class Shard:
    """A member's learner, or its `index`-th part of `shards` where several processes share one
    member. Shard 0 publishes.
    """

    member: str
    index: int = 0
    shards: int = 1


@dataclass(frozen=True)
class ProcessPlan:
    """One process and what it hosts.

    groups  numbers of the shares of tables it plays, each stepped at a time: see
            `pbt.runtime.blueprint.equal_shares`
    local   its tables are acted for in the process itself, else by the servers
    serves  it is server number so much: it acts for the policies p with p % servers == serves;
            None: it is none
    trains  the learners it hosts
    """

    name: str
    groups: tuple[int, ...] = ()
    local: bool = False
    serves: int | None = None
    trains: tuple[Shard, ...] = ()

    @property
    def in_plane(self) -> bool:
        """Part of the sampling plane, which dies and is started again as a whole; else a fault
        domain of its own.
        """
        return bool(self.groups) or self.serves is not None

    def state(self) -> dict[str, Any]:
        """For a message; `of` reads it."""
        return asdict(self)

    @classmethod
    def of(cls, state: Mapping[str, Any]) -> Self:
        trains = tuple(Shard(**shard) for shard in state["trains"])
        return cls(**{**state, "groups": tuple(state["groups"]), "trains": trains})

    @property
    def roles(self) -> tuple[str, ...]:
        """For people."""
        learner = (
            ("learner " + " ".join(shard.member for shard in self.trains),) if self.trains else ()
        )
        return ("worker",) * bool(self.groups) + ("server",) * (self.serves is not None) + learner


def resolve(config: RunConfig, cores: int, cuda: bool) -> RunConfig:
    """Every "auto" that decides what is built, decided. cores: usable ones; cuda: a device is
    there.

    Of the result only `sampling.environments` belongs into a stored configuration: processes are
    chosen anew at every start.
    """
    runtime, sampling = config.runtime, config.sampling
    placement = (
        ("central" if cuda else "inline") if runtime.placement == "auto" else runtime.placement
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
    # Every group has a seat block of its own.
    blocks = -(-environments // sampling.seat_block)
    groups = min(runtime.groups, blocks) if placement == "central" else 1
    resolved = runtime.model_copy(
        update={"placement": placement, "workers": min(workers, blocks // groups), "groups": groups}
    )
    return config.model_copy(
        update={
            "runtime": resolved,
            "sampling": sampling.model_copy(update={"environments": environments}),
        }
    )


def process_plans(config: RunConfig, members: Sequence[str]) -> tuple[ProcessPlan, ...]:
    """The processes of a resolved configuration besides the main one; none for "serial"."""
    return {"serial": _serial, "inline": _inline, "central": _central}[config.runtime.placement](
        config, tuple(members)
    )


def _serial(config: RunConfig, members: tuple[str, ...]) -> tuple[ProcessPlan, ...]:
    return ()


def _inline(config: RunConfig, members: tuple[str, ...]) -> tuple[ProcessPlan, ...]:
    """One process per core that acts and learns; every member has one owner, or one shard in
    each of several where members are fewer than workers.
    """
    workers = worker_count(config)
    return tuple(
        ProcessPlan(f"worker-{w}", (w,), local=True, trains=_owned(config, members, w, workers))
        for w in range(workers)
    )


def _owned(
    config: RunConfig, members: tuple[str, ...], worker: int, workers: int
) -> tuple[Shard, ...]:
    """Neighbours together, as tables are dealt out (`owner_of_table`): in games with one seat
    the owner also acts for its members, alone.
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
    # Every shard's part of the batch is cut into all minibatches.
    most = (
        config.learning.batch_steps // config.sampling.rollout_steps // config.learning.minibatches
    )
    index, shards = sharing.index(worker), min(most, len(sharing))
    return (Shard(members[place], index, shards),) if index < shards else ()


def _central(config: RunConfig, members: tuple[str, ...]) -> tuple[ProcessPlan, ...]:
    """Workers, servers and learners apart; without processes for learners the servers' host
    them.
    """
    runtime = config.runtime
    workers, servers, learners = (
        worker_count(config),
        min(runtime.servers, len(members)),
        min(runtime.learners, len(members)),
    )
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


def worker_count(config: RunConfig) -> int:
    workers = config.runtime.workers
    assert workers != "auto", "resolve() comes first"
    return workers
