"""A table whose game takes long leaves the others alone, and joins them again when it is done."""

import os
import time
from collections import Counter
from collections.abc import Iterator, Mapping

import numpy as np
import psutil
import pytest

from pbt.checkpoint.workers import save_worker
from pbt.envs.contract import Answering, SeatTurn
from pbt.envs.doom.match import DoomMatch, make
from pbt.errors import EngineError
from pbt.inference.client import LocalInference
from pbt.inference.policy_server import PolicyServer, ScriptedPolicy
from pbt.records import PlayerRef
from pbt.sampling.rollout_worker import RolloutWorker
from pbt.sampling.sampler import Sampler
from pbt.sampling.slots import Partition
from pbt.sampling.sources import GamesFrom
from pbt.transport.messages import GamePlan, RolloutPermit, SeatPlan, SlotFull
from pbt.transport.slab import Slab, role_layout
from tests.pbt.envs.doom.scene import engines
from tests.pbt.inference.serving import load
from tests.pbt.sampling.groups import no_row
from tests.pbt.sampling.made_up import MadeUpGame
from tests.pbt.sampling.made_up_bench import Bench
from tests.pbt.told_games import ends_of


class Slow(MadeUpGame):
    """Mostly it is not done yet when it is asked. late: how often that was so."""

    rng, late = np.random.default_rng(0), 0

    def begin(self, actions: Mapping[int, tuple[int, ...]]) -> None:
        self._begun = dict(actions)

    def answered(self, timeout_s: float) -> bool:
        done = bool(self.rng.random() < 0.4)
        Slow.late += not done
        return done

    def step(self, actions: Mapping[int, tuple[int, ...]]) -> list[SeatTurn]:
        assert dict(actions) == self._begun, "the step that was begun"
        return super().step(actions)


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> type[Slow]:
    monkeypatch.setattr(Slow, "rng", np.random.default_rng(5))
    monkeypatch.setattr(Slow, "late", 0)
    monkeypatch.setattr("tests.pbt.sampling.made_up_bench.MadeUpGame", Slow)
    return Slow


@pytest.mark.parametrize(
    ("seat_roles", "raising", "shares", "piecemeal"),
    [((0,), 0.0, 1, False), ((0, 1, 1, 0), 0.02, 1, False), ((0, 0), 0.02, 2, True)],
)
def test_every_row_arrives_whichever_tables_are_late(
    slow: type[Slow], seat_roles: tuple[int, ...], raising: float, shares: int, piecemeal: bool
) -> None:
    """The bench compares every row, and replaces weights while tables are late."""
    bench = Bench(3, seat_roles, 20, 4, raising, shares, piecemeal=piecemeal)
    assert isinstance(slow(seat_roles, 0.0), Answering)
    together = Counter[bool]()
    for _ in range(300):
        bench.turn()
        for worker in bench.workers:
            together[0 < len(worker.group.late) < len(worker.tables)] += 1
        assert bench.unaccounted() == 0
    assert slow.late > 500 and together[True] > 100, "some are late while others play"
    assert bench.trained > 1000


@pytest.mark.parametrize("raises", [False, True])
def test_one_that_never_says_that_it_is_done_is_stepped_all_the_same(
    slow: type[Slow], raises: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There a hanging game is named, and the error of a broken one is told."""

    def answered(self: Slow, timeout_s: float) -> bool:
        if raises:
            raise OSError("no such process")
        return False

    monkeypatch.setattr("pbt.sampling.looped_games._LATE_FOR_S", 0.05)
    monkeypatch.setattr(slow, "answered", answered)
    bench = Bench(3, (0,), 3, 4, 0.0)
    (worker,) = bench.workers
    began_s = time.monotonic()
    while worker.state.moves.min() < 2:
        bench.turn()
        assert time.monotonic() - began_s < 5.0
    assert bool(worker.group.late) != raises


def test_there_is_no_checkpoint_while_a_table_is_late(slow: type[Slow]) -> None:
    bench = Bench(3, (0, 0), 5, 4, 0.0)
    (worker,) = bench.workers
    while not worker.group.late:
        bench.turn()
    bench.route(worker.advance())
    bench.rest()
    while not worker.group.late:
        bench.turn()
        bench.rest()
    with pytest.raises(EngineError):
        save_worker(worker)
    while worker.group.late:
        bench.rest()
    save_worker(worker)
    assert bench.unaccounted() == 0


# --- real games -----------------------------------------------------------------------------------

DEADLINE_S, PATIENCE_S = 4.0, 0.2


class Matches:
    """Two Doom duels of random players, in a sampler. turns: by table, of its seats."""

    def __init__(self) -> None:
        self.made: list[DoomMatch] = []
        (role,) = self._make().roles
        self.made[0].close()
        self.made.clear()
        slab = Slab(role_layout(role, ("reward",), 8, 0), 24)
        server = PolicyServer([slab], 1)
        width = len(role.action_space.nvec)  # type: ignore[attr-defined]
        act = ScriptedPolicy(lambda seen, mask, uniforms: np.zeros((len(mask), width), np.int64))
        server.attach(0, act)
        counts = Counter[int]()

        def next_game(table: int) -> GamePlan:
            counts[table] += 1
            seats = (SeatPlan(PlayerRef("member", "m0"), 0, 0, True),) * 2
            return GamePlan(counts[table], "training", table, seats, ("n", counts[table]))

        self.worker = RolloutWorker(
            self._make,
            Partition.whole(2, [24]),
            [slab],
            GamesFrom(next_game),
            1,
            patience_s=PATIENCE_S,
        )
        self.sampler = Sampler([self.worker], LocalInference(server, load), no_row())
        self.reasons: list[str] = []

    def _make(self) -> DoomMatch:
        self.made.append(make(max_tics=20_000, deadline_s=DEADLINE_S))
        return self.made[-1]

    def turn(self) -> None:
        messages = self.sampler.turn(0.1)
        self.reasons += [end.reason for end in ends_of(messages)]
        for message in messages:
            if isinstance(message, SlotFull):
                self.sampler.permit(RolloutPermit(message.role, message.slot))

    def moves(self) -> list[int]:
        """By table, the moves of its present game."""
        return self.worker.state.moves.tolist()


@pytest.fixture
def matches() -> Iterator[Matches]:
    made = Matches()
    yield made
    for game in made.made:
        game.close()


def engine_of(matches: Matches, table: int) -> psutil.Process:
    """An engine of a table's match: its processes are children of the match's own."""
    link = matches.made[table]._link
    assert link is not None
    mine = psutil.Process(link._process.pid).children(recursive=True)
    return next(one for one in engines(os.getpid()) if one in mine)


def test_a_stopped_engine_does_not_keep_the_other_match(matches: Matches) -> None:
    for _ in range(3):
        matches.turn()
    engine = engine_of(matches, 0)
    engine.suspend()
    began, stopped_s = matches.moves(), time.monotonic()
    while matches.moves()[1] < began[1] + 30:
        matches.turn()
        assert time.monotonic() - stopped_s < DEADLINE_S, "it waits for the stopped one"
    assert matches.moves()[0] <= began[0] + 1 and list(matches.worker.group.late) == [0]
    assert not matches.sampler.at_rest()
    engine.resume()
    at = matches.moves()[0]
    while matches.moves()[0] < at + 5:
        matches.turn()
    assert matches.reasons == [], "its game goes on"


def test_where_all_are_late_the_worker_waits_instead_of_asking_all_the_time(
    matches: Matches,
) -> None:
    for _ in range(3):
        matches.turn()
    for table in range(2):
        engine_of(matches, table).suspend()
    while len(matches.worker.group.late) < 2:
        matches.turn()
    turns, began_s = 0, time.monotonic()
    while time.monotonic() - began_s < 0.8:
        matches.turn()
        turns += 1
    assert turns <= 12, "a turn waits 0.1 s"


def test_one_that_stays_stopped_is_voided_at_its_deadline(matches: Matches) -> None:
    for _ in range(3):
        matches.turn()
    engine_of(matches, 0).suspend()
    stopped_s = time.monotonic()
    while not matches.reasons:
        matches.turn()
        assert time.monotonic() - stopped_s < DEADLINE_S + 5.0
    assert f"no answer to a step within {DEADLINE_S:g} s" in matches.reasons[0]
    assert matches.moves()[1] > 20
    while matches.moves()[0] < 3:
        matches.turn()
    assert len(matches.reasons) == 1, "the table starts another one"
