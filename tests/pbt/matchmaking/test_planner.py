"""News of members show in the plans that a planner hands out, alone or as one of several."""

import hashlib
from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from numpy.typing import NDArray

from bench.memory import MemorySink, MemoryStore
from pbt.config.schema import RunConfig
from pbt.envs import registry
from pbt.errors import EngineError, SnapshotError
from pbt.inference.frozen import FrozenPool
from pbt.matchmaking.planner import TrainingPlanner
from pbt.matchmaking.roster import SnapshotEntry
from pbt.records import PlayerRef
from pbt.runtime.assembly import assemble, new_planner
from pbt.runtime.blueprint import blueprint_of
from pbt.transport.messages import GamePlan

TINY: dict[str, Any] = {
    "seed": 5,
    "env": {"name": "tictactoe"},
    "population": {"members": 3},
    "model": {"hidden": [8]},
    "matchmaking": {"past_share": 0.4, "past_window": 2},
}
CONFIG = RunConfig.model_validate(
    TINY | {"sampling": {"environments": 1}, "evaluation": {"share": 0.0, "final_games": 2}}
)
TABLES = 6


class AnyHost:
    """Takes every player; `gone`: names whose weights are not there."""

    def __init__(self) -> None:
        self.attached: dict[int, str] = {}
        self.gone: set[str] = set()

    def attach_player(self, policy: int, player: PlayerRef, role: int) -> None:
        if player.name in self.gone:
            raise SnapshotError(f"snapshot {player.name} is gone")
        self.attached[policy] = player.name

    def detach(self, policy: int) -> None:
        del self.attached[policy]


def planner(
    share: float,
    tables: Iterable[int] = range(TABLES),
    counts: NDArray[np.int64] | None = None,
    closing_games: int = 12,
    seat_block: int = 1,
    resident: int | str = "auto",
) -> TrainingPlanner:
    sampling = {"environments": TABLES, "opening_plies": 5, "seat_block": seat_block}
    matchmaking = {**TINY["matchmaking"], "resident": resident}
    config = RunConfig.model_validate(
        TINY | {"sampling": sampling, "evaluation": {"share": share}, "matchmaking": matchmaking}
    )
    blueprint = blueprint_of(config, registry.spec("tictactoe"))
    pool = FrozenPool(AnyHost(), len(blueprint.members), blueprint.frozen_slots)
    return new_planner(
        blueprint,
        pool,
        list(tables),
        np.zeros(TABLES, np.int64) if counts is None else counts,
        closing_games,
    )


def next_game(planner: TrainingPlanner, table: int) -> GamePlan | None:
    return planner.next_games([table])[0]


def hand_out(planner: TrainingPlanner, tables: Iterable[int], rounds: int) -> list[GamePlan | None]:
    """Plans of `rounds` games per table; each game is over before the next is planned."""
    plans = []
    for _ in range(rounds):
        for table in tables:
            plan = next_game(planner, table)
            if plan is not None:
                planner.game_over(plan)
            plans.append(plan)
    return plans


def add_snapshots(*planners: TrainingPlanner) -> None:
    for each in planners:
        for number in range(5):
            entry = SnapshotEntry(f"s{number}", f"m{number % 3}", "player")
            each.roster = each.roster.with_snapshot(entry)


def players(plan: GamePlan | None) -> tuple[PlayerRef, ...]:
    assert plan is not None
    return tuple(seat.player for seat in plan.seats)


def test_trap_finished_members_are_seated_as_frozen_opponents() -> None:
    """With their newest weights, without rows, and never among themselves."""
    planner = assemble(CONFIG, registry.spec("tictactoe"), MemorySink(), MemoryStore()).planner
    planner.roster = planner.roster.with_learning("m0", False)
    planner.roster = planner.roster.with_learning("m1", False)
    plans = [plan for plan in (next_game(planner, 0) for _ in range(200)) if plan is not None]
    assert len(plans) == 200
    seats = [seat for plan in plans for seat in plan.seats]
    assert all(
        seat.learning == (seat.player.name == "m2") and seat.policy == int(seat.player.name[1])
        for seat in seats
    )
    assert all(any(seat.learning for seat in plan.seats) for plan in plans)
    assert all(sum(seat.player.name == name for seat in seats) > 40 for name in ("m0", "m1"))
    planner.roster = planner.roster.with_learning("m2", False)
    assert next_game(planner, 0) is None, (
        "no member learns, and there are no snapshots to play the closing games"
    )


def test_the_games_of_a_seed_are_those_of_earlier_versions() -> None:
    """A checkpoint of the same streams (`pbt.seeding.STREAMS`) goes on with the same games.

    Where the digest changes, the streams have another number.
    """
    one = planner(0.3)
    plans = hand_out(one, range(TABLES), 10)
    add_snapshots(one)
    plans += hand_out(one, range(TABLES), 30)
    one.roster = one.roster.with_generation("m1", 2)
    one.roster = one.roster.with_learning("m0", False)
    plans += hand_out(one, range(TABLES), 10)
    one.roster = one.roster.with_learning("m1", False)
    one.roster = one.roster.with_learning("m2", False)
    plans += hand_out(one, range(TABLES), 4)
    assert sum(plan is not None for plan in plans) == 312
    assert hashlib.sha256(repr(plans).encode()).hexdigest()[:16] == "65b681c6bb8ba0c5"


def test_planners_of_disjoint_tables_hand_out_the_games_of_one_planner_for_all() -> None:
    """The plans differ in the policy slots of frozen players only.

    This holds without evaluation games. With them, each planner counts its own games only and so
    chooses other snapshots.
    """
    counts = np.zeros(TABLES, np.int64)
    parts = [planner(0.0, [0, 3, 4], counts), planner(0.0, [1, 2, 5], counts)]
    one = planner(0.0)
    add_snapshots(one, *parts)
    for told in (one, *parts):
        told.roster = told.roster.with_learning("m2", False)
    alone = hand_out(one, range(TABLES), 20)
    apart = [
        next_game(parts[0 if table in (0, 3, 4) else 1], table)
        for _ in range(20)
        for table in range(TABLES)
    ]
    assert [plan and (plan._replace(seats=()), players(plan)) for plan in apart] == [
        plan and (plan._replace(seats=()), players(plan)) for plan in alone
    ]
    assert any(player.kind == "snapshot" for plan in apart for player in players(plan))
    assert counts.tolist() == [20] * TABLES == one.state().counts


@pytest.mark.parametrize("block", [1, 2, 4])
def test_neighbours_in_a_block_draw_the_same_players_and_nothing_else(block: int) -> None:
    one = planner(0.0, seat_block=block)
    rounds = [[next_game(one, table) for table in range(TABLES)] for _ in range(50)]
    same = sum(players(games[0]) == players(games[1]) for games in rounds)
    assert same == 50 if block > 1 else same < 25
    assert sum(players(games[0]) == players(games[5]) for games in rounds) < 25, "another block"
    plans = [plan for games in rounds for plan in games if plan is not None]
    assert len({plan.seed for plan in plans}) == len({plan.noise for plan in plans}) == 300
    openings = [
        (games[0].opening_plies, games[1].opening_plies)
        for games in rounds
        if games[0] and games[1]
    ]
    assert 0 < sum(first == second for first, second in openings) < 25


def test_closing_games_are_counted_and_may_be_raised() -> None:
    one = planner(0.0, closing_games=0)
    add_snapshots(one)
    for name in ("m0", "m1", "m2"):
        one.roster = one.roster.with_learning(name, False)
    assert hand_out(one, [0], 3) == [None] * 3
    one.close_with(2)
    assert one.closing_games == 2
    assert [plan is not None and plan.kind for plan in hand_out(one, [0, 1], 2)] == [
        "evaluation",
        "evaluation",
        False,
        False,
    ]
    one.close_with(1)
    assert [plan is not None for plan in hand_out(one, [0, 1], 1)] == [
        True,
        False,
    ] and one.closing_games == 0


def test_a_planner_goes_on_from_its_state() -> None:
    one, two = planner(0.5), planner(0.5)
    add_snapshots(one)
    one.roster = one.roster.with_learning("m1", False).with_generation("m2", 3)
    hand_out(one, range(TABLES), 20)
    state = one.state()
    assert sum(state.evaluated.values()) > 50
    two.load(state)
    assert two.state() == one.state() and two.roster == one.roster
    assert [plan and players(plan) for plan in hand_out(two, range(TABLES), 20)] == [
        plan and players(plan) for plan in hand_out(one, range(TABLES), 20)
    ]


def test_new_weights_are_announced_once() -> None:
    one, told = planner(0.0), list[tuple[int, int]]()
    one.on_generation = lambda policy, generation: told.append((policy, generation))
    one.roster = one.roster.with_generation("m1", 1)
    one.roster = one.roster.with_learning("m0", False)
    one.roster = one.roster.with_generation("m2", 4).with_generation("m1", 2)
    assert told == [(1, 1), (1, 2), (2, 4)]


def test_counts_of_another_number_of_tables_are_refused_in_words() -> None:
    with pytest.raises(
        EngineError, match="the checkpoint counts the games of 2 tables; there are 6"
    ):
        planner(0.0).load(replace(planner(0.0).state(), counts=[1, 2]))


def test_a_frozen_player_whose_weights_are_gone_takes_nobodys_place() -> None:
    host = AnyHost()
    pool = FrozenPool(host, 7, 2)
    first, second, third = ((PlayerRef("snapshot", name), 0) for name in "abc")
    assert pool.acquire([first, second]) == [7, 8]
    pool.release([first])
    host.gone.add("c")
    with pytest.raises(SnapshotError, match="c is gone"):
        pool.acquire([third])
    host.gone.clear()
    assert pool.acquire([third]) == [7] and host.attached == {7: "c", 8: "b"}
    assert pool.acquire([first]) is None, "both places are taken by players who sit"


def test_one_seat_belongs_to_the_owner_of_its_table_while_it_learns() -> None:
    """Tables that are left over, and those of finished members, play for members that learn."""
    sampling = {"environments": 7}
    config = RunConfig.model_validate(
        TINY | {"env": {"name": "memory"}, "sampling": sampling, "evaluation": {"share": 0.0}}
    )
    blueprint = blueprint_of(config, registry.spec("memory"))
    pool = FrozenPool(AnyHost(), len(blueprint.members), blueprint.frozen_slots)
    one = new_planner(blueprint, pool, range(7), np.zeros(7, np.int64), 0)

    def seated(table: int) -> set[str]:
        return {players(next_game(one, table))[0].name for _ in range(60)}

    assert [seated(table) for table in range(7)] == [
        {"m0"},
        {"m0"},
        {"m1"},
        {"m1"},
        {"m2"},
        {"m2"},
        {"m0", "m1", "m2"},
    ]
    one.roster = one.roster.with_learning("m1", False)
    assert [seated(table) for table in (0, 2, 3, 6)] == [
        {"m0"},
        {"m0", "m2"},
        {"m0", "m2"},
        {"m0", "m2"},
    ]


@given(
    st.integers(1, 5),
    st.lists(
        st.tuples(st.booleans(), st.lists(st.integers(0, 9), min_size=1, max_size=3, unique=True)),
        max_size=40,
    ),
)
def test_no_more_weights_are_resident_than_there_are_places(
    places: int, story: list[tuple[bool, list[int]]]
) -> None:
    """Games begin, or the oldest one ends, in any order; the longest unused player makes room.

    Players stay resident until their game is over.
    """
    host, sitting, used = AnyHost(), [], []
    pool = FrozenPool(host, 3, places)
    for begins, numbers in story:
        if not begins:
            if sitting:
                pool.release(sitting.pop(0))
            continue
        players = [(PlayerRef("snapshot", str(number)), 0) for number in numbers]
        busy = {player.name for game in sitting for player, _ in game}
        before = set(host.attached.values())
        found = pool.acquire(players)
        names = {player.name for player, _ in players}
        assert (found is None) == (len(busy | names) > places)
        if found is None:
            assert set(host.attached.values()) == before, "a refused game evicts no player"
            continue
        sitting.append(players)
        assert [host.attached[policy] for policy in found] == [player.name for player, _ in players]
        assert len(host.attached) <= places and set(host.attached) <= set(range(3, 3 + places))
        gone, free = (
            before - set(host.attached.values()),
            [name for name in used if name in before and name not in busy | names],
        )
        assert gone == set(free[: len(gone)]), "the longest unused first"
        used = [name for name in used if name not in names] + [player.name for player, _ in players]


def test_few_places_make_tables_wait_and_play_the_same_games() -> None:
    """A planner with room for two frozen players plans the games of one with room for all.

    It plans some of them later.
    """
    plenty, few = planner(0.3), planner(0.3, resident=2)
    add_snapshots(plenty, few)
    expected = {
        (table, count): players(next_game(plenty, table))
        for count in range(12)
        for table in range(TABLES)
    }
    found: dict[tuple[int, int], tuple[PlayerRef, ...]] = {}
    waited = 0
    for _ in range(200):
        begun = [
            plan
            for table in range(TABLES)
            if (plan := next_game(few, table)) is not None
            and found.setdefault((table, plan.game_count), players(plan))
        ]
        waited += TABLES - len(begun)
        for plan in begun:
            few.game_over(plan)
    training = {
        key: seats
        for key, seats in expected.items()
        if any(player.kind == "member" for player in seats)
    }
    assert waited > 20 and {key: found[key] for key in training} == training
