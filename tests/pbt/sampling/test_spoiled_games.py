"""Games that break their contract are voided and named.

The same fault again ends the run, with the place of the fault.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace

import gymnasium
import numpy as np
import pytest

from pbt.envs.contract import Outcome, Role, SeatTurn
from pbt.errors import EnvCrash, EnvError
from pbt.inference.policy_server import PolicyServer, ScriptedPolicy
from pbt.records import PlayerRef
from pbt.sampling.game_errors import MAX_CRASHES
from pbt.sampling.rollout_worker import RolloutWorker
from pbt.sampling.slots import Partition
from pbt.sampling.sources import GamesFrom
from pbt.transport.messages import GameEnd, GamePlan, RolloutPermit, SeatPlan, SlotFull
from pbt.transport.slab import Slab, role_layout
from tests.pbt.told_games import ends_of

ROLE = Role("player", gymnasium.spaces.Box(0, 9, (2,), np.float32), gymnasium.spaces.Discrete(2))


class Faulty:
    """One seat, games of three decisions; `fault` may change a turn, or raise."""

    roles, reward_terms, seat_names, seat_roles = (ROLE,), ("reward",), ("a",), (0,)

    def __init__(self, fault: Callable[["Faulty"], SeatTurn | None], length: int = 3) -> None:
        self._fault, self._length, self.games = fault, length, 0

    def reset(self, seed: int) -> list[SeatTurn]:
        self.decisions, self.games, self.seed = 0, self.games + 1, seed
        return [self._turn()]

    def step(self, actions: Mapping[int, tuple[int, ...]]) -> list[SeatTurn]:
        self.decisions += 1
        return [self._turn()]

    def _turn(self) -> SeatTurn:
        return self._fault(self) or SeatTurn(
            0, np.zeros(2), None, (0.0,), terminated=self.decisions == self._length
        )

    def outcome(self) -> Outcome:
        return Outcome((0,), (float(self.seed),) if self.seed % 2 else None)

    def close(self) -> None:
        pass


def one_after_the_other(learning: bool) -> GamesFrom:
    """Games of one seat with the same player."""
    counts = [0]

    def next_game(table: int) -> GamePlan:
        counts[0] += 1
        return GamePlan(
            counts[0],
            "training",
            counts[0],
            (SeatPlan(PlayerRef("member", "m0"), 0, 0, learning),),
            ("n", counts[0]),
        )

    return GamesFrom(next_game)


def play(
    fault: Callable[[Faulty], SeatTurn | None],
    *,
    length: int = 3,
    max_decisions: int = 50,
    turns: int = 400,
    on_error: Callable[[str, str], None] | None = None,
    on_long: Callable[[str], None] | None = None,
    learning: bool = False,
) -> list[GameEnd]:
    slab = Slab(role_layout(ROLE, ("reward",), 2, 0), 8)
    server = PolicyServer([slab], 1)
    server.attach(
        0, ScriptedPolicy(lambda seen, mask, uniforms: np.zeros((len(mask), 1), np.int64))
    )
    worker = RolloutWorker(
        lambda: Faulty(fault, length),
        Partition.whole(1, [8]),
        [slab],
        one_after_the_other(learning),
        1,
        max_decisions=max_decisions,
        on_error=on_error,
        on_long=on_long,
    )
    ends: list[GameEnd] = []
    for _ in range(turns):
        for request in worker.requests():
            worker.receive(server.serve(request))
        for message in worker.advance():
            ends += ends_of([message])
            if isinstance(message, SlotFull):
                worker.permit(RolloutPermit(message.role, message.slot))
    return ends


def raising(at: int) -> Callable[[Faulty], None]:
    total = [0]

    def fault(game: Faulty) -> None:
        total[0] += 1
        if total[0] >= at and game.decisions == 1:
            raise ValueError(f"port {total[0]} is taken")

    return fault


def test_an_error_with_ever_new_words_from_the_same_line_ends_the_run_with_its_traceback() -> None:
    with pytest.raises(
        EnvError, match=r"(?s)ValueError in step\(\).*port \d+ is taken.*Traceback.*in fault"
    ):
        play(raising(at=10))


def test_one_error_voids_its_game_and_training_goes_on() -> None:
    once = iter([1])

    def fault(game: Faulty) -> None:
        if game.decisions == 2 and next(once, 0):
            raise ValueError("once")

    ends = play(fault)
    assert sum(end.reason.startswith("voided") for end in ends) == 1 and len(ends) > 50


@pytest.mark.parametrize(
    ("fault", "length", "words"),
    [
        (
            lambda game: SeatTurn(0, np.zeros(2), None, (float("nan"),)),
            3,
            r"seat 0 \(a\): reward is nan",
        ),
        (
            lambda game: SeatTurn(0, np.zeros(1), None, (0.0,)),
            3,
            r"has shape \[1\]; its space says \[2\]",
        ),
        (lambda game: None, 10**9, "did not end within 50 decisions"),
        (lambda game: None, 0, "over before any seat could decide"),
    ],
)
def test_what_would_train_on_nonsense_or_for_ever_is_named(
    fault: Callable[[Faulty], SeatTurn | None], length: int, words: str
) -> None:
    with pytest.raises(EnvError, match=words):
        play(fault, length=length)


def test_a_game_that_may_not_end_is_named_once_while_it_is_played() -> None:
    told: list[str] = []
    ends = play(lambda game: None, length=8, turns=40, on_long=told.append)
    assert told == [
        "game 1 at table 0 (seed 1) goes on after 5 decisions; a game counts as endless and is "
        "voided at env.max_decisions = 50"
    ]
    assert {end.steps for end in ends} == {8}


def test_whoever_counts_errors_for_several_workers_is_told_of_each_and_the_run_goes_on() -> None:
    told: list[tuple[str, str]] = []
    ends = play(raising(at=10), on_error=lambda place, text: told.append((place, text)))
    assert len(told) > 5 and sum(end.reason.startswith("voided") for end in ends) == len(told)
    assert (
        len({place for place, _ in told}) == 1
        and told[0][0].startswith("ValueError at ")
        and __file__ in told[0][0]
    )
    assert all("Traceback" in text and "is taken" in text for _, text in told)


def test_a_spoiled_game_that_cannot_even_be_closed_is_replaced_all_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(game: Faulty) -> None:
        raise ValueError("not now")

    monkeypatch.setattr(Faulty, "close", refuse)
    once = iter([1])

    def fault(game: Faulty) -> None:
        if next(once, 0):
            raise ValueError("once")

    assert sum(end.reason.startswith("voided") for end in play(fault)) == 1


def test_engines_that_end_now_and_then_never_end_the_run() -> None:
    def fault(game: Faulty) -> None:
        # Every table plays one game, then its engine ends: half of all games.
        if game.games == 2 and game.decisions == 1:
            raise EnvCrash("the engine ended")

    ends = play(fault)
    assert sum(end.reason == "voided: the engine ended" for end in ends) > 10 * MAX_CRASHES


def test_a_table_whose_engine_never_survives_a_game_ends_the_run() -> None:
    def fault(game: Faulty) -> None:
        if game.decisions == 1:
            raise EnvCrash("the engine ended")

    with pytest.raises(
        EnvError,
        match=(
            r"at one table, 6 engines in a row ended before a game was over; of the last "
            r"one: the engine ended$"
        ),
    ):
        play(fault)


def test_points_stay_with_their_game_where_others_keep_none() -> None:
    ends = play(lambda game: None, turns=40)
    assert len(ends) > 10
    for end in ends:
        (seat,) = end.seats
        assert seat.points == (float(end.plan.seed) if end.plan.seed % 2 else None)


@pytest.mark.parametrize("wrong", ["another seat", "seat -1", "two turns"])
def test_turns_that_no_seat_can_have_void_their_game(
    monkeypatch: pytest.MonkeyPatch, wrong: str
) -> None:
    step = Faulty.step

    def stepped(game: Faulty, actions: Mapping[int, tuple[int, ...]]) -> list[SeatTurn]:
        turns, (turn,) = step(game, actions), step(game, {})
        if game.seed != 10:
            game.decisions -= 1
            return turns
        number = {"another seat": 1, "seat -1": -1}.get(wrong, 0)
        return [replace(turn, seat=number)] if wrong.endswith(("seat", "-1")) else [turn, turn]

    monkeypatch.setattr(Faulty, "step", stepped)
    ends = play(lambda game: None, length=6, turns=60, learning=True)
    (voided,) = [end.reason for end in ends if end.reason.startswith("voided")]
    assert "game 10 at table" in voided and "expected at most one for each of the seats" in voided
    assert len(ends) > 8
