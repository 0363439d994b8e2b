"""Seatings: balance, roles and order, before any game."""

from collections import Counter
from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arena.matches.balance import MOST_GAMES, turns
from arena.matches.seating import Arrangement, Entrant, arrange
from pbt.errors import PlayerError
from pbt.objective import ObjectiveKind


def entrants(*roles: str | None) -> list[Entrant]:
    return [Entrant(f"p{number}", role) for number, role in enumerate(roles)]


def arranged(
    seat_roles: list[str], players: list[Entrant], objective: ObjectiveKind = "win"
) -> Arrangement:
    return arrange("game", seat_roles, players, objective)


@st.composite
def tables(draw: st.DrawFn) -> tuple[list[str], list[Entrant], ObjectiveKind]:
    """A game of two to six seats with one or two roles, and two to seven players for it."""
    seats = draw(st.integers(2, 6))
    second = draw(st.integers(0, seats - 1))
    roles = ["a"] * (seats - second) + ["b"] * second
    fitting = [None, *dict.fromkeys(roles)]
    players = entrants(*draw(st.lists(st.sampled_from(fitting), min_size=2, max_size=7)))
    return roles, players, draw(st.sampled_from(["win", "margin", "return"]))


def balanced(roles: list[str], players: list[Entrant], found: Arrangement) -> bool:
    """Whether each player sits equally often in each seat of a role that it can play."""
    taken = Counter(
        (player, seat) for sitting in found.sittings for seat, player in enumerate(sitting)
    )
    return all(
        len({taken[player, seat] for seat, own in enumerate(roles) if own == role}) == 1
        for player, entrant in enumerate(players)
        for role in set(roles)
        if entrant.plays(role)
    )


@given(tables())
@settings(max_examples=300, deadline=None)
def test_every_block_is_balanced_fits_the_roles_and_is_always_the_same(
    table: tuple[list[str], list[Entrant], ObjectiveKind],
) -> None:
    roles, players, objective = table
    try:
        found = arranged(roles, players, objective)
    except PlayerError as error:
        one_role = len(set(roles)) == 1
        unfilled = any(not any(one.plays(role) for one in players) for role in roles)
        crowded = len(roles) == 2 and one_role and len(players) > 2 and objective != "return"
        if not (unfilled or crowded):
            raise AssertionError(f"{table} was refused") from error
        return
    assert all(
        players[player].plays(role)
        for sitting in found.sittings
        for player, role in zip(sitting, roles, strict=True)
    )
    assert {player for sitting in found.sittings for player in sitting} == set(range(len(players)))
    assert 1 <= len(found.sittings) <= MOST_GAMES
    assert balanced(roles, players, found)
    assert found == arranged(roles, players, objective)


@given(st.integers(2, 9), st.integers(2, 6))
@settings(max_examples=60, deadline=None)
def test_every_two_players_meet_equally_often(players: int, seats: int) -> None:
    """Prefix property: all blocks are this one, so any number of whole blocks is balanced too."""
    found = turns(players, seats)
    assert found is not None
    met: Counter[tuple[int, int]] = Counter(dict.fromkeys(combinations(range(players), 2), 0))
    for sitting in found:
        for a, b in combinations(sitting, 2):
            if a != b:
                met[min(a, b), max(a, b)] += 1
    assert len(set(met.values())) == 1
    assert {len(sitting) for sitting in found} == {seats}
    assert balanced(["a"] * seats, entrants(*[None] * players), Arrangement("turns", found))


@pytest.mark.parametrize(
    ("players", "seats", "games"),
    [(7, 3, 7), (4, 3, 4), (5, 3, 10), (13, 4, 13), (3, 3, 3), (3, 4, 3), (8, 2, 56), (6, 3, 60)],
)
def test_the_smallest_design_is_found(players: int, seats: int, games: int) -> None:
    found = turns(players, seats)
    assert found is not None and len(found) == games


def before(seat_roles: list[str], players: list[Entrant]) -> tuple[tuple[int, ...], ...]:
    """The seatings of as many players as seats, as every stored match of two seats was planned."""
    number = len(players)
    rotations = [tuple((seat + turn) % number for seat in range(number)) for turn in range(number)]
    possible = tuple(
        turn
        for turn in rotations
        if all(players[player].plays(role) for player, role in zip(turn, seat_roles, strict=True))
    )
    return possible if len(possible) == number else possible[:1]


@pytest.mark.parametrize("roles", [["a", "a"], ["a", "b"], ["a", "a", "a"], ["a"] * 5])
def test_as_many_players_as_seats_are_seated_as_ever(roles: list[str]) -> None:
    kinds: list[list[str | None]] = [[None] * len(roles)]
    if roles == ["a", "b"]:
        kinds += [["a", "b"], ["b", "a"], ["a", None], [None, "a"], ["b", None], [None, "b"]]
    for kind in kinds:
        players = entrants(*kind)
        assert arranged(roles, players).sittings == before(roles, players)


def test_one_plays_alone_among_copies_of_the_other_in_every_seat() -> None:
    found = arranged(["a"] * 4, entrants(None, None))
    assert found.kind == "copies"
    assert found.sittings == (
        (0, 1, 1, 1), (1, 0, 1, 1), (1, 1, 0, 1), (1, 1, 1, 0),
        (1, 0, 0, 0), (0, 1, 0, 0), (0, 0, 1, 0), (0, 0, 0, 1),
    )  # fmt: skip


def test_copies_of_one_player_fill_the_seats_of_a_role_against_every_choice_for_the_other() -> None:
    tag = ["predator"] * 3 + ["prey"]
    found = arranged(tag, entrants("predator", "prey", None))
    assert found == Arrangement("roles", ((0, 0, 0, 1), (0, 0, 0, 2), (2, 2, 2, 1), (2, 2, 2, 2)))
    assert arranged(tag, entrants("prey", "predator")) == Arrangement("roles", ((1, 1, 1, 0),))
    assert arranged(["a", "b"], entrants("b", "a")) == Arrangement("fixed", ((1, 0),))


def test_where_returns_count_each_plays_with_itself_and_with_each_other() -> None:
    assert arranged(["a", "a"], entrants(None, None, None), "return") == Arrangement(
        "partners",
        ((0, 0), (1, 1), (2, 2), (0, 1), (1, 0), (0, 2), (2, 0), (1, 2), (2, 1)),
    )
    three = arranged(["a"] * 3, entrants(None, None), "return").sittings
    assert three[:2] == ((0, 0, 0), (1, 1, 1)) and three[2:5] == ((0, 1, 1), (1, 0, 1), (1, 1, 0))
    assert len(three) == 8
    assert arranged(["a", "b"], entrants("a", "b"), "return").kind == "roles"


@pytest.mark.parametrize(
    ("roles", "players", "said"),
    [
        (["a"], entrants(None, None, None), "has one seat, and 3 players were named; expected two"),
        (["a", "a"], entrants(None, None, None), "`arena tournament` plays every two of them"),
        (["a", "a", "a"], entrants(None), "p0 is alone; expected two players or more"),
        (["a", "b"], entrants("a", "a"), "seats one a and one b: name a player of each role"),
        (["a", "a", "b"], entrants("a", None, "c"), "p2 plays c; game seats 2 a and one b"),
        (["a"] * 6, entrants(*[None] * 400), "400 players in game: no balanced plan of at most"),
    ],
)
def test_what_cannot_be_seated_says_why(
    roles: list[str], players: list[Entrant], said: str
) -> None:
    with pytest.raises(PlayerError, match=said):
        arranged(roles, players)
