"""The traps of acting, one test each, on games written out move by move."""

from collections.abc import Mapping, Sequence

import gymnasium
import numpy as np
import pytest

from pbt.envs.contract import Outcome, Role, SeatTurn
from pbt.inference.policy_server import PolicyServer, ScriptedPolicy
from pbt.learning.batcher import gather
from pbt.records import PlayerRef
from pbt.sampling.rollout_worker import RolloutWorker
from pbt.sampling.slots import Partition
from pbt.sampling.sources import GamesFrom
from pbt.transport.messages import GamePlan, SeatPlan, SlotFull, WorkerMessage
from pbt.transport.slab import Slab, role_layout
from tests.pbt.told_games import ends_of

T = 3
ROLE = Role("player", gymnasium.spaces.Box(0, 1000, (1,), np.float32), gymnasium.spaces.Discrete(2))


def turn(
    seat: int,
    seen: float | None,
    reward: float = 0.0,
    *,
    terminated: bool = False,
    truncated: bool = False,
) -> SeatTurn:
    return SeatTurn(
        seat, None if seen is None else np.array([seen]), None, (reward,), terminated, truncated
    )


class Script:
    """A game that says what it was told to say: one list of turns per call."""

    roles, reward_terms = (ROLE,), ("reward",)

    def __init__(self, script: Sequence[list[SeatTurn]], seats: int) -> None:
        self._script, self.seat_roles, self.seat_names = (
            script,
            (0,) * seats,
            tuple(map(str, range(seats))),
        )

    def reset(self, seed: int) -> list[SeatTurn]:
        self._calls = iter(self._script)
        return next(self._calls)

    def step(self, actions: Mapping[int, tuple[int, ...]]) -> list[SeatTurn]:
        return next(self._calls)

    def outcome(self) -> Outcome:
        return Outcome((0,) * len(self.seat_roles))

    def close(self) -> None:
        pass


class Played:
    """Two games of a script, every seat learning under policy 0."""

    def __init__(
        self,
        script: Sequence[list[SeatTurn]],
        seats: int,
        *,
        learning: bool = True,
        games: int = 1,
        opening: int = 0,
    ) -> None:
        self.slab = Slab(role_layout(ROLE, ("reward",), T, 0), 16)
        server = PolicyServer([self.slab], 1)
        server.attach(
            0, ScriptedPolicy(lambda seen, mask, uniforms: np.zeros((len(mask), 1), np.int64))
        )
        plans = iter(range(games))
        seat = SeatPlan(PlayerRef("member", "m0"), 0, 0, learning)

        def next_game(table: int) -> GamePlan | None:
            count = next(plans, None)
            return (
                None
                if count is None
                else GamePlan(count, "training", 0, (seat,) * seats, ("noise", count), opening)
            )

        self.worker = RolloutWorker(
            lambda: Script(script, seats),
            Partition.whole(1, [16]),
            [self.slab],
            GamesFrom(next_game),
            1,
        )
        self.messages: list[WorkerMessage] = []
        for _ in range(games * (len(script) + 1)):
            for request in self.worker.requests():
                self.worker.receive(server.serve(request))
            self.messages += self.worker.advance()

    @property
    def full(self) -> list[int]:
        return [message.slot for message in self.messages if isinstance(message, SlotFull)]

    def column(self, name: str, slot: int) -> list[float]:
        values: list[float] = self.slab.column[name][slot].reshape(-1).tolist()
        return values


def test_trap_a_reward_after_the_opponents_move_belongs_to_ones_own_last_step() -> None:
    script = [
        [turn(0, 1)],
        [turn(1, 2)],
        [turn(0, 3, reward=5.0)],  # what seat 1's move brought seat 0
        [turn(0, None, 7.0, terminated=True), turn(1, None, -7.0, terminated=True)],
    ]
    played = Played(script, 2)
    parked = dict(played.worker.fillers[0].pool.parked())
    rewards = sorted(played.column("rewards", slot)[:rows] for slot, rows in parked.items())
    assert rewards == [[-7.0], [5.0, 7.0]]


def test_trap_the_bootstrap_observation_of_a_turn_game_is_that_of_the_agents_next_turn() -> None:
    moves = [[turn(0, 10 + i)] if i % 2 == 0 else [turn(1, 10 + i)] for i in range(7)]
    played = Played([*moves, [turn(0, None, terminated=True), turn(1, None, terminated=True)]], 2)
    assert played.column("obs/observation", played.full[0]) == [10, 12, 14, 16]


def test_trap_a_slot_whose_last_step_ended_the_game_waits_for_no_observation() -> None:
    played = Played(
        [[turn(0, 1)], [turn(0, 2)], [turn(0, 3)], [turn(0, None, 1.0, terminated=True)]], 1
    )
    (slot,) = played.full
    assert np.isnan(played.column("obs/observation", slot)[T]), "row T stays poison"
    batch = gather(played.slab, np.array([slot]))
    assert batch.observations["observation"][T, 0, 0] == 0.0 and bool(batch.terminated[T - 1, 0])


@pytest.mark.parametrize(("final", "seen_last"), [(9.0, 9.0), (None, 2.0)])
def test_trap_truncation_bootstraps_from_the_final_observation_not_from_the_reset_one(
    final: float | None, seen_last: float
) -> None:
    played = Played([[turn(0, 1)], [turn(0, 2)], [turn(0, final, 4.0, truncated=True)]], 1, games=2)
    (slot, *_) = played.full
    assert played.column("truncated", slot) == [False, True, False]
    assert played.column("valid", slot) == [True, True, False]
    assert played.column("obs/observation", slot)[2] == seen_last
    assert played.column("rewards", slot) == [0.0, 4.0, 0.0]


def test_trap_truncation_at_the_last_row_bootstraps_from_row_t() -> None:
    played = Played([[turn(0, 1)], [turn(0, 2)], [turn(0, 3)], [turn(0, 9, truncated=True)]], 1)
    assert played.column("obs/observation", played.full[0]) == [1, 2, 3, 9]
    assert played.column("valid", played.full[0]) == [True, True, True]


def test_trap_a_part_filled_slot_is_continued_by_the_next_game_behind_episode_start() -> None:
    played = Played([[turn(0, 1)], [turn(0, 2)], [turn(0, None, terminated=True)]], 1, games=2)
    (slot,) = played.full
    assert played.column("obs/observation", slot) == [1, 2, 1, 2]
    assert played.column("episode_start", slot) == [True, False, True, False]
    assert [row[1] for row in played.slab.column["origin"][slot]] == [0, 0, 1]


def test_trap_members_that_do_not_learn_leave_no_rows() -> None:
    played = Played(
        [[turn(0, 1)], [turn(0, 2)], [turn(0, 3)], [turn(0, 4)], [turn(0, None, terminated=True)]],
        1,
        learning=False,
        games=3,
    )
    assert played.full == [] and played.worker.fillers[0].produced == 0
    assert played.worker.fillers[0].pool.free == played.slab.slots
    assert len(ends_of(played.messages)) == 3


def test_trap_random_opening_plies_leave_no_rows_and_the_first_decision_starts_the_episode() -> (
    None
):
    script = [
        [turn(0, 1)],
        [turn(0, 2, 8.0)],
        [turn(0, 3)],
        [turn(0, 4)],
        [turn(0, 5)],
        [turn(0, None, 1.0, terminated=True)],
    ]
    played = Played(script, 1, opening=2)
    (slot,) = played.full
    assert played.column("obs/observation", slot)[:T] == [3, 4, 5]
    assert played.column("episode_start", slot)[:T] == [True, False, False]
    assert played.column("rewards", slot) == [0.0, 0.0, 1.0]
    (end,) = ends_of(played.messages)
    assert end.steps == 5 and end.seats[0].returns == 9.0
