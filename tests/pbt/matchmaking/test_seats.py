"""Seating: at least one learner, roles respected, and no seat or member favoured."""

import math
from collections import Counter
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pbt.errors import EngineError
from pbt.matchmaking.roster import MemberEntry, SnapshotEntry
from pbt.matchmaking.seats import seat_evaluation_game
from pbt.records import PlayerRef
from pbt.seeding import generator
from tests.pbt.matchmaking.one_game import owners_of, past_rules, seat_training_game

ROLES = ("cat", "mouse")


def live(*names: str, role: str = "cat", learning: bool = True) -> list[MemberEntry]:
    return [MemberEntry(name, role, int(name[1:]), learning=learning) for name in names]


def frozen(*names: str, role: str = "cat") -> list[SnapshotEntry]:
    """ "m0.3" is m0's snapshot 3."""
    return [SnapshotEntry(name, name.split(".")[0], role) for name in names]


def in_order(rng: np.random.Generator) -> Iterator[float]:
    """Its draws, one after the other."""
    return iter(rng.random, None)


def close(count: int, draws: int, probability: float) -> bool:
    """Within 4.5 standard deviations of a binomial."""
    return abs(count - draws * probability) < 4.5 * math.sqrt(
        draws * probability * (1 - probability)
    )


member_entries = st.lists(
    st.tuples(st.sampled_from(ROLES), st.booleans()), min_size=1, max_size=8
).map(
    lambda found: [
        MemberEntry(f"m{index}", role, index, learning=learning)
        for index, (role, learning) in enumerate(found)
    ]
)
snapshot_entries = st.lists(
    st.tuples(st.sampled_from(["m0", "m1", "m2"]), st.booleans()), max_size=12
).map(
    lambda found: [
        SnapshotEntry(f"{member}.{index}", member, "mouse" if member == "m2" else "cat")
        if new
        else SnapshotEntry(f"{member}.x", member, "cat")
        for index, (member, new) in enumerate(found)
        if new or member != "m2"
    ]
)
tables = st.lists(st.sampled_from(ROLES), min_size=1, max_size=5)


@given(
    tables,
    member_entries,
    snapshot_entries,
    st.floats(0, 1),
    st.integers(1, 4),
    st.integers(0, 10**6),
)
def test_training_seats(
    seat_roles: list[str],
    members: list[MemberEntry],
    snapshots: list[SnapshotEntry],
    past_share: float,
    past_window: int,
    seed: int,
) -> None:
    rng = generator(seed)
    learning = {entry.name for entry in members if entry.learning and entry.role in seat_roles}
    empty = (
        set(seat_roles) - {entry.role for entry in members} - {entry.role for entry in snapshots}
    )
    if not learning or empty:
        with pytest.raises(EngineError):
            seat_training_game(
                rng, seat_roles, members, snapshots, past_rules(past_share, past_window), {}
            )
        return
    players = seat_training_game(
        rng, seat_roles, members, snapshots, past_rules(past_share, past_window), {}
    )
    assert len(players) == len(seat_roles)
    assert any(player.kind == "member" and player.name in learning for player in players)
    for player, role in zip(players, seat_roles, strict=True):
        if player.kind == "member":
            assert (player.name, role) in {(entry.name, entry.role) for entry in members}
        else:
            assert player.kind == "snapshot"
            assert (
                player.name
                in [entry.snapshot_id for entry in snapshots if entry.role == role][-past_window:]
            )
    assert players == seat_training_game(
        generator(seed), seat_roles, members, snapshots, past_rules(past_share, past_window), {}
    )


def test_members_and_seats_are_balanced() -> None:
    members, rng, draws = live("m0", "m1", "m2", "m3"), np.random.default_rng(1), 8000
    pairs = Counter(
        tuple(
            player.name
            for player in seat_training_game(
                rng, ["cat", "cat"], members, [], past_rules(0.0, 10), {}
            )
        )
        for _ in range(draws)
    )
    assert len(pairs) == 16
    assert all(close(count, draws, 1 / 16) for count in pairs.values())


def test_the_past_takes_its_share_and_no_more_than_its_window() -> None:
    members, snapshots, draws = (
        live("m0", "m1"),
        frozen(*(f"m0.{index}" for index in range(9))),
        6000,
    )
    rng = np.random.default_rng(2)
    games = [
        seat_training_game(rng, ["cat", "cat"], members, snapshots, past_rules(0.3, 3), {})
        for _ in range(draws)
    ]
    past = [
        (seat, player.name)
        for players in games
        for seat, player in enumerate(players)
        if player.kind == "snapshot"
    ]
    assert close(len(past), draws, 0.3)
    assert {name for _, name in past} == {"m0.6", "m0.7", "m0.8"}
    for cell in Counter(past).values():
        assert close(cell, len(past), 1 / 6)


def test_a_finished_member_is_only_an_opponent() -> None:
    members, rng = [*live("m0", learning=False), *live("m1")], np.random.default_rng(3)
    games = [
        seat_training_game(rng, ["cat", "cat"], members, [], past_rules(0.0, 10), {})
        for _ in range(3000)
    ]
    assert all(PlayerRef("member", "m1") in players for players in games)
    for seat in (0, 1):
        assert close(sum(players[seat].name == "m0" for players in games), 3000, 1 / 4)


def test_two_roles_and_a_role_that_no_longer_learns() -> None:
    members, rng = (
        [*live("c0", "c1"), *live("m0", role="mouse", learning=False)],
        np.random.default_rng(4),
    )
    games = Counter(
        seat_training_game(rng, ["cat", "mouse"], members, [], past_rules(0.5, 10), {})
        for _ in range(2000)
    )
    assert {tuple(player.name for player in players) for players in games} == {
        ("c0", "m0"),
        ("c1", "m0"),
    }
    assert all(close(count, 2000, 1 / 2) for count in games.values())


def test_single_agent_games_seat_a_learner() -> None:
    rng = np.random.default_rng(5)
    assert seat_training_game(
        rng, ["cat"], live("m0"), frozen("m0.1"), past_rules(1.0, 10), {}
    ) == (PlayerRef("member", "m0"),)


@given(
    tables,
    snapshot_entries,
    st.lists(st.sampled_from(["random", "oneply", "greedy"]), unique=True),
    st.integers(0, 10**6),
)
def test_evaluation_seats(
    seat_roles: list[str], snapshots: list[SnapshotEntry], scripted: list[str], seed: int
) -> None:
    played = {entry.snapshot_id: 7 * index for index, entry in enumerate(snapshots)}
    players = seat_evaluation_game(
        in_order(generator(seed)), seat_roles, snapshots, scripted, played
    )
    playable = [entry for entry in snapshots if entry.role in seat_roles]
    if not playable:
        assert players is None
        return
    assert players is not None
    assert len(players) == len(seat_roles)
    newest = {entry.member: entry.snapshot_id for entry in playable}
    assert any(player.name in newest.values() for player in players)
    for player, role in zip(players, seat_roles, strict=True):
        assert player.kind != "member"
        if player.kind == "scripted":
            assert player.name in {"random", *scripted}
        else:
            assert (player.name, role) in {(entry.snapshot_id, entry.role) for entry in snapshots}
    if len(seat_roles) == 2:
        assert players[0] != players[1]


def test_evaluation_opponents_have_their_odds() -> None:
    snapshots, draws = (
        frozen(*(f"m{member}.{age}" for age in range(4) for member in range(3))),
        12000,
    )
    rng = np.random.default_rng(6)
    games = [
        seat_evaluation_game(
            in_order(rng), ["cat", "cat"], snapshots, ["random", "oneply", "twoply"], {}
        )
        for _ in range(draws)
    ]
    kinds: Counter[str] = Counter()
    for players in games:
        assert players is not None
        found = sorted(player.name for player in players)
        if any(player.kind == "scripted" for player in players):
            kinds[next(player.name for player in players if player.kind == "scripted")] += 1
        else:
            assert found[1].endswith(".3")
            assert found[0].endswith(".2" if found[0][:2] == found[1][:2] else ".3")
            kinds["predecessor" if found[0][:2] == found[1][:2] else "others"] += 1
    assert set(kinds) == {"random", "oneply", "twoply", "predecessor", "others"}
    for kind, odds in {
        "random": 0.25,
        "oneply": 0.05,
        "twoply": 0.05,
        "predecessor": 0.25,
        "others": 0.5,
    }.items():
        assert close(kinds[kind], draws, odds / 1.1)
    for seat in (0, 1):
        randoms = sum(players is not None and players[seat].name == "random" for players in games)
        assert close(randoms, draws, 0.25 / 1.1 / 2)
        for member in ("m0", "m1", "m2"):
            newest = sum(
                players is not None and players[seat].name == f"{member}.3" for players in games
            )
            assert close(newest, draws, (1 / 3) * (1 / 2 + 0.25 / 1.1))


def test_the_least_played_snapshot_comes_first() -> None:
    rng = np.random.default_rng(7)
    games = [
        seat_evaluation_game(
            in_order(rng), ["cat", "cat"], frozen("m0.1", "m1.1"), [], {"m0.1": 10**9}
        )
        for _ in range(300)
    ]
    assert all(
        players is not None and PlayerRef("snapshot", "m1.1") in players for players in games
    )


def test_one_snapshot_meets_random_and_equal_weights_never_meet() -> None:
    for snapshots in (
        frozen("m0.1"),
        frozen("m0.1", "m0.1"),
        [*frozen("m0.1"), SnapshotEntry("m0.1", "m1", "cat")],
    ):
        games = {
            seat_evaluation_game(
                in_order(np.random.default_rng(seed)), ["cat", "cat"], snapshots, [], {}
            )
            for seed in range(50)
        }
        old, chance = PlayerRef("snapshot", "m0.1"), PlayerRef("scripted", "random")
        assert games == {(old, chance), (chance, old)}


def test_evaluation_alone_and_without_snapshots() -> None:
    rng = np.random.default_rng(8)
    assert seat_evaluation_game(in_order(rng), ["cat"], frozen("m0.1"), ["oneply"], {}) == (
        PlayerRef("snapshot", "m0.1"),
    )
    assert seat_evaluation_game(in_order(rng), ["cat", "cat"], [], ["oneply"], {}) is None
    assert seat_evaluation_game(in_order(rng), ["mouse"], frozen("m0.1"), [], {}) is None


def test_roles_of_an_evaluation_game() -> None:
    snapshots = [*frozen("c0.1", "c0.2"), *frozen("m0.1", "m0.2", role="mouse")]
    games = {
        seat_evaluation_game(
            in_order(np.random.default_rng(seed)), ["cat", "mouse"], snapshots, [], {}
        )
        for seed in range(200)
    }
    chance = PlayerRef("scripted", "random")
    cat, mouse = PlayerRef("snapshot", "c0.2"), PlayerRef("snapshot", "m0.2")
    assert games == {(cat, mouse), (cat, chance), (chance, mouse)}


@given(st.integers(1, 70), st.integers(1, 9))
def test_tables_are_dealt_out_evenly_to_neighbours(tables: int, members: int) -> None:
    names = [f"m{index}" for index in range(members)]
    owners = owners_of(tables, [MemberEntry(name, "cat", n) for n, name in enumerate(names)])
    held = [owner for owner in owners if owner is not None]
    assert held == sorted(held) and owners[: len(held)] == held, (
        "one after the other, what is left over at the end"
    )
    assert Counter(held) == Counter(
        {name: tables // members for name in names if tables >= members}
    )
    assert len(owners) - len(held) < members
