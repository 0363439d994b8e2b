"""Games made up from a seed, a policy for them, and checks of every row of their batches.

A policy's action is its own number, observations and rewards contain the seat's step, and the
recurrent state counts steps, so a misplaced row shows. The slab's columns for the origin and the
acting policy must agree with them.
"""

from collections.abc import Mapping
from typing import Any

import gymnasium
import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from pbt.algorithms.batch import Batch
from pbt.envs.contract import Outcome, Role, SeatTurn
from pbt.errors import EnvError
from pbt.models.acting import Sampled
from pbt.models.policy_model import ActOutput
from pbt.transport.slab import Slab

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

    state_size, version, weights, acts_with_others = STATE, 0, 0, False

    def __init__(self, policy: int, heads: int) -> None:
        self.model, self._policy, self._heads, self.rule = self, policy, heads, Sampled()

    def refresh(self) -> None:
        self.version += 1

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
        columns = {"log_prob": torch.full((rows,), -0.5), "value": torch.zeros(rows)}
        return ActOutput(torch.full((rows, self._heads), self._policy), columns, counted)


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
