"""Games made up from a seed, and a bench that compares every row of a batch with what happened.

A policy's action is its own number, observations and rewards contain the seat's step, and the
recurrent state counts steps, so a misplaced row shows. The slab's columns for the origin and the
acting policy must agree with them.
"""

from collections import Counter
from collections.abc import Mapping
from typing import Any

import gymnasium
import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from pbt.envs.contract import Outcome, Role, SeatTurn
from pbt.errors import EnvError
from pbt.inference.policy_server import PolicyServer
from pbt.learning.batch import Batch
from pbt.learning.batcher import Batcher, gather
from pbt.models.policy_model import ActOutput
from pbt.records import PlayerRef
from pbt.runtime.blueprint import shared_slots, slots_needed
from pbt.sampling.rollout_worker import GamesFrom, RolloutWorker
from pbt.sampling.slots import Partition
from pbt.transport.messages import (
    ActionRequest,
    GameEnd,
    GamePlan,
    RolloutPermit,
    SeatPlan,
    SlotFull,
    WorkerMessage,
)
from pbt.transport.slab import Slab, role_layout

MEMBERS, FROZEN, POLICIES = 3, 2, 5
STATE = 2
# A game's seed names its table and its count there; small enough to be seen as float32.
GAMES_PER_TABLE = 20_000


def reward_of(seed: Any, seat: Any, step: Any) -> Any:
    """Of integers or arrays of them."""
    return (seed * 31 + seat * 7 + step * 3) % 1009


class MadeUpGame:
    """A game whose course is drawn from its seed.

    Seats act one by one or together, leave early or stay, and end by the rules or by truncation.
    """

    def __init__(self, seat_roles: tuple[int, ...], raising: float) -> None:
        # Roles differ in both spaces.
        self.roles = tuple(
            Role(
                f"role{r}",
                gymnasium.spaces.Box(-1, 1e9, (3 + r,), np.float64),
                gymnasium.spaces.MultiDiscrete([POLICIES] * (1 + r)),
            )
            for r in range(max(seat_roles) + 1)
        )
        self.seat_roles, self.seat_names = (
            seat_roles,
            tuple(f"seat_{i}" for i in range(len(seat_roles))),
        )
        self.reward_terms = ("reward", "shaping")
        self._raising = raising

    def reset(self, seed: int) -> list[SeatTurn]:
        self._seed, self._rng = seed, np.random.default_rng(seed)
        self._steps = [0] * len(self.seat_roles)
        self._alive = set(range(len(self.seat_roles)))
        self._due: set[int] = set()
        return self._next([])

    def step(self, actions: Mapping[int, tuple[int, ...]]) -> list[SeatTurn]:
        assert set(actions) == self._due
        if self._rng.random() < self._raising:
            raise EnvError(f"made up at {self._seed} {self._steps}")
        for seat in actions:
            self._steps[seat] += 1
        dying = [seat for seat in sorted(self._alive) if self._rng.random() < 0.08]
        return self._next([self._turn(seat, over=True) for seat in dying])

    def _next(self, ended: list[SeatTurn]) -> list[SeatTurn]:
        self._alive -= {turn.seat for turn in ended}
        count = int(self._rng.integers(1, len(self._alive) + 1)) if self._alive else 0
        chosen = self._rng.permutation(sorted(self._alive))[:count]
        self._due = {int(seat) for seat in chosen}
        return ended + [self._turn(int(seat), over=False) for seat in chosen]

    def _turn(self, seat: int, *, over: bool) -> SeatTurn:
        step = self._steps[seat]
        truncated = over and self._rng.random() < 0.5
        seen = (
            None
            if truncated and self._rng.random() < 0.3
            else np.array([self._seed, seat, step, *[7.0] * self.seat_roles[seat]])
        )
        reward = float(reward_of(self._seed, seat, step - 1))
        return SeatTurn(
            seat,
            seen,
            None,
            (reward, -reward),
            terminated=over and not truncated,
            truncated=truncated,
            tics=1 + step % 3 if step else 0,
        )

    def outcome(self) -> Outcome:
        return Outcome((0,) * len(self.seat_roles))

    def close(self) -> None:
        pass


class NamesItself:
    """Stands for a network: its action is its own number, its recurrent state counts steps."""

    state_size, version, weights = STATE, 0, 0

    def __init__(self, policy: int, heads: int) -> None:
        self.model, self._policy, self._heads = self, policy, heads

    def refresh(self) -> None:
        self.version += 1

    def check(self, log_prob: NDArray[np.float32]) -> None:
        """Its numbers are always finite."""

    def act(
        self,
        observations: Mapping[str, Tensor],
        mask: Tensor,
        episode_start: Tensor,
        state: Tensor,
        uniforms: Tensor,
        greedy: bool,
    ) -> ActOutput:
        rows = len(episode_start)
        counted = torch.where(episode_start[:, None], 0.0, state) + 1.0
        assert torch.equal(counted[:, 0] - 1.0, observations["observation"][:, 2]), (
            "memory is out of step with the game"
        )
        return ActOutput(
            torch.full((rows, self._heads), self._policy),
            torch.full((rows,), -0.5),
            torch.zeros(rows),
            counted,
        )


def shares_of(tables: int, seat_roles: tuple[int, ...], shares: int) -> list[Partition]:
    """One partition that has everything, or several whose workers may run out of slots."""
    roles = range(max(seat_roles) + 1)
    if shares == 1:
        return [
            Partition.whole(
                tables,
                [slots_needed(tables * seat_roles.count(role), MEMBERS, 2) for role in roles],
            )
        ]
    parts, starts = [], [0 for _ in roles]
    for index in range(shares):
        own = tuple(range(index, tables, shares))
        counts = [
            shared_slots(len(own) * seat_roles.count(role), MEMBERS, 2, 1, shares) for role in roles
        ]
        parts.append(
            Partition(
                own,
                tuple(
                    range(start, start + count) for start, count in zip(starts, counts, strict=True)
                ),
            )
        )
        starts = [start + count for start, count in zip(starts, counts, strict=True)]
    return parts


class Bench:
    """Workers, a server, batchers, and a random planner.

    shares     number of workers
    piecemeal  answers come one by one, some of them turns later
    """

    def __init__(
        self,
        seed: int,
        seat_roles: tuple[int, ...],
        tables: int,
        rollout_steps: int,
        raising: float,
        shares: int = 1,
        *,
        piecemeal: bool = False,
    ) -> None:
        self.rng = np.random.default_rng(seed)
        self.seat_roles, self.counts, self.generation = seat_roles, [0] * tables, Counter[int]()
        game = MadeUpGame(seat_roles, 0.0)
        layouts = [
            role_layout(role, game.reward_terms, rollout_steps, STATE) for role in game.roles
        ]
        parts = shares_of(tables, seat_roles, shares)
        self.slabs = [
            Slab(layout, parts[-1].slots[role].stop) for role, layout in enumerate(layouts)
        ]
        # One policy table per role: policy = role * POLICIES + p, p < MEMBERS learns.
        self.server = PolicyServer(self.slabs, POLICIES * len(layouts))
        for role, layout in enumerate(layouts):
            for p in range(POLICIES):
                self.server.attach(role * POLICIES + p, NamesItself(p, len(layout.head_sizes)))  # type: ignore[arg-type]
        self.batchers = {
            role * POLICIES + p: Batcher(slab, role, 2)
            for role, slab in enumerate(self.slabs)
            for p in range(MEMBERS)
        }
        self.workers = [
            RolloutWorker(
                lambda: MadeUpGame(seat_roles, raising),
                part,
                self.slabs,
                GamesFrom(self.plan),
                1,
                equal_errors=10**9,
            )
            for part in parts
        ]
        self._piecemeal, self._asked = piecemeal, [list[ActionRequest]() for _ in parts]
        self.trained = 0

    def plan(self, table: int) -> GamePlan:
        self.counts[table] += 1
        seats = []
        for role in self.seat_roles:
            p = int(self.rng.integers(POLICIES))
            policy, learning = role * POLICIES + p, p < MEMBERS and self.rng.random() < 0.9
            kind = "member" if p < MEMBERS else "snapshot"
            seats.append(
                SeatPlan(PlayerRef(kind, str(p)), policy, self.generation[policy], learning)
            )  # type: ignore[arg-type]
        count = self.counts[table]
        return GamePlan(
            count,
            "training",
            table * GAMES_PER_TABLE + count,
            tuple(seats),
            ("noise", table, count),
        )

    def turn(self) -> None:
        messages = [message for index in range(len(self.workers)) for message in self.play(index)]
        # A copy may overtake the slots that are on their way to the learner.
        if self.rng.random() < 0.05:
            messages += self.copy_over(int(self.rng.choice(list(self.batchers))))
        self.route(messages)

    def rest(self) -> None:
        """Deliver all requests, answers and messages that are outstanding."""
        self.route(
            [
                message
                for index in range(len(self.workers))
                for message in self.play(index, drain=True)
            ]
        )

    def route(self, messages: list[WorkerMessage]) -> None:
        """Give slots to the batchers, check their batches, and release the slots."""
        for message in messages:
            if isinstance(message, SlotFull):
                self.permit(
                    self.batchers[message.policy].add(message, self.generation[message.policy])
                )
            else:
                assert isinstance(message, GameEnd)
        for policy, batcher in self.batchers.items():
            while (taken := batcher.take()) is not None:
                assert {full.generation for full in taken} == {self.generation[policy]}
                slots = np.array([full.slot for full in taken])
                batch = gather(self.slabs[policy // POLICIES], slots)
                check(batch, policy % POLICIES)
                check_fingerprints(batch, self.slabs[policy // POLICIES], slots, policy)
                self.trained += int(batch.valid.sum())
                self.permit(batcher.permits(taken))
        assert len(self.workers) == 1 or any(worker.can_turn for worker in self.workers), (
            "all stand still, and no batch is complete"
        )

    def play(self, index: int, *, drain: bool = False) -> list[WorkerMessage]:
        """One turn of one worker. drain: send no requests, only take outstanding answers."""
        worker, asked = self.workers[index], self._asked[index]
        assert worker.outstanding == sum(len(request.slots) for request in asked)
        if not drain and (worker.can_turn or len(self.workers) == 1):
            asked += worker.requests()
        if self._piecemeal:
            self.rng.shuffle(asked)  # type: ignore[arg-type]
        messages: list[WorkerMessage] = []
        while asked and (drain or not self._piecemeal or self.rng.random() < 0.7):
            worker.receive(self.server.serve(asked.pop(0)))
            messages += worker.advance() if self._piecemeal else []
        return messages + worker.advance()

    def permit(self, permits: list[RolloutPermit]) -> None:
        for permit in permits:
            next(
                worker for worker in self.workers if permit.slot in worker.share.slots[permit.role]
            ).permit(permit)

    def copy_over(self, policy: int) -> list[WorkerMessage]:
        messages = [
            message
            for index in range(len(self.workers))
            for message in self.play(index, drain=True)
        ]
        self.generation[policy] += 1
        for worker in self.workers:
            worker.regenerate(policy, self.generation[policy])
        self.permit(self.batchers[policy].discard("generation"))
        return messages

    def reseat(self, plan: GamePlan) -> GamePlan:
        """The plan itself, since policies have the same numbers in every bench."""
        return plan

    def gone(self, plan: GamePlan) -> str:
        """No member leaves a bench."""
        return ""

    def unaccounted(self) -> int:
        fillers = [filler for worker in self.workers for filler in worker.fillers]
        produced = sum(filler.produced for filler in fillers)
        dropped = sum(sum(part.dropped.values()) for part in (*fillers, *self.batchers.values()))
        standing = sum(worker.rows_standing() for worker in self.workers)
        queued = sum(
            int(self.slabs[policy // POLICIES].column["valid"][slot].sum())
            for policy, b in self.batchers.items()
            for slot in b.waiting
        )
        return produced - self.trained - dropped - standing - queued


def check(batch: Batch, names_itself: int) -> None:
    """Check every row of a batch by its observation."""
    seen, rewards, tics = (
        batch.observations["observation"].numpy(),
        batch.rewards.numpy(),
        batch.tics.numpy(),
    )
    valid, terminated, truncated = (
        batch.valid.numpy(),
        batch.terminated.numpy(),
        batch.truncated.numpy(),
    )
    starts, memory = batch.episode_start.numpy(), batch.initial_state.numpy()
    assert np.isfinite(seen).all() and np.isfinite(rewards).all() and np.isfinite(memory).all()
    assert (batch.actions.numpy()[valid] == names_itself).all()
    assert (batch.version.numpy()[valid] > 0).all()
    named = seen[..., :3].astype(np.int64)
    step = named[:-1, :, 2]
    assert (starts[:-1] == (step == 0))[valid].all()
    expected = reward_of(named[:-1, :, 0], named[:-1, :, 1], step)
    assert (rewards[..., 0] == expected)[valid].all() and (rewards[..., 1] == -expected)[
        valid
    ].all()
    assert (tics == 1 + (step + 1) % 3)[valid].all()
    going_on = valid & ~terminated & ~truncated
    assert (named[1:] - named[:-1] == (0, 0, 1))[going_on].all(), (
        "a running episode goes on in the next row"
    )
    behind_the_end, first = valid[1:] & ~going_on[:-1], valid[0] & ~starts[0]
    assert starts[1:-1][behind_the_end].all()
    assert (memory[first, 0] == step[0, first]).all(), "memory at row 0 is that of the steps before"
    # A row without an action follows a truncated step and holds its final observation, or the one
    # before where the game gave none.
    assert valid[0].all() and truncated[:-1][~valid[1:]].all() and not starts[:-1][~valid].any()
    final = (named[1:-1] - named[:-2])[~valid[1:]]
    assert (final[:, :2] == 0).all() and np.isin(final[:, 2], (0, 1)).all()


def check_fingerprints(batch: Batch, slab: Slab, slots: NDArray[np.int64], policy: int) -> None:
    """The slab says of every row what its observation says: (table, game count, seat, step); and
    that this policy acted it.
    """
    valid = slab.column["valid"][slots]
    seen = batch.observations["observation"].numpy().swapaxes(0, 1)[:, :-1][valid].astype(np.int64)
    tables, counts = np.divmod(seen[:, 0], GAMES_PER_TABLE)
    assert np.array_equal(
        slab.column["origin"][slots][valid],
        np.stack([tables, counts, seen[:, 1], seen[:, 2]], axis=1),
    )
    assert (slab.column["policy"][slots][valid] == policy).all()
