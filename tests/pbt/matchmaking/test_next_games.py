"""Games of many tables at once: balanced, by the shares of the config, and each by itself."""

from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray

from pbt.config.population import MatchmakingConfig
from pbt.config.schema import RunConfig
from pbt.errors import EngineError
from pbt.matchmaking.next_games import GameFacts, NextGames, TrainingSeats
from pbt.matchmaking.roster import MemberEntry, Roster, SnapshotEntry
from pbt.matchmaking.seats import seat_evaluation_game
from pbt.records import PlayerRef
from pbt.seeding import STREAMS, counted, game_seed, game_seeds, integer, uniforms

TABLES, COUNTS = 64, 300
FACTS = GameFacts(("cat", "cat"), {"cat": 0}, True, ("random",))
MEMBERS = tuple(MemberEntry(f"m{number}", "cat", number) for number in range(4))
SNAPSHOTS = tuple(SnapshotEntry(f"{number}", f"m{number % 4}", "cat") for number in range(8))
# Of chi-square, by degrees of freedom: what chance exceeds once in 10 000 times.
LIMIT = {1: 15.1, 3: 21.1, 5: 25.7, 7: 29.9, 9: 33.7, 15: 44.3, 63: 114.2, 225: 315.0}


def config(**changes: Any) -> RunConfig:
    table = {
        "seed": 7,
        "env": {"name": "x"},
        "sampling": {"environments": TABLES, "opening_plies": 5},
        "matchmaking": {"past_share": 0.25, "past_window": 8},
        "evaluation": {"opening_plies": 3},
    }
    return RunConfig.model_validate(table | changes)


class Game(NamedTuple):
    """A planned game with its players, whatever it is played for."""

    evaluation: bool
    players: tuple[PlayerRef, ...]
    seed: int
    opening: int


def planned(
    roster: Roster, *, facts: GameFacts = FACTS, counts: int = COUNTS, **changes: Any
) -> list[Game]:
    """The games of every table."""
    games = NextGames(config(**changes), facts, roster, TABLES)
    tables, numbers = np.repeat(np.arange(TABLES), counts), np.tile(np.arange(counts), TABLES)
    made = []
    for game in games.plan(tables, numbers):
        lineup = game.lineup
        players = (
            lineup.players
            if lineup
            else seat_evaluation_game(
                iter(game.draws), facts.seat_roles, roster.snapshots, facts.scripted, {}
            )
        )
        assert players is not None
        made.append(Game(lineup is None, players, game.seed, game.opening))
    return made


def chi_square(found: Sequence[float], expected: Sequence[float]) -> float:
    return sum((one - other) ** 2 / other for one, other in zip(found, expected, strict=True))


def uniform_enough(found: Counter[Any], kinds: int) -> bool:
    assert len(found) == kinds
    mean = found.total() / kinds
    return chi_square(list(found.values()), [mean] * kinds) < LIMIT[kinds - 1]


def roster(share: float = 0.0, **changes: Any) -> Roster:
    return Roster(MEMBERS, 8, share, SNAPSHOTS, **changes)


def pairs_of(games: list[Game]) -> list[tuple[PlayerRef, PlayerRef]]:
    return [(game.players[0], game.players[1]) for game in games]


def test_seats_and_members_are_balanced_and_opponents_come_by_the_shares() -> None:
    pairs = pairs_of(planned(roster()))
    frozen = [(a.kind == "snapshot", b.kind == "snapshot") for a, b in pairs]
    assert (True, True) not in frozen, "one learns"
    found = Counter(frozen)
    past = found.total() * 0.25
    expected = [past / 2, past / 2, found.total() - past]
    got = [found[True, False], found[False, True], found[False, False]]
    assert chi_square(got, expected) < LIMIT[3]
    for seat in range(2):
        seated = [pair[seat] for pair in pairs]
        assert uniform_enough(Counter(one.name for one in seated if one.kind == "member"), 4)
        assert uniform_enough(Counter(one.name for one in seated if one.kind == "snapshot"), 8)
    live = Counter((a.name, b.name) for a, b in pairs if a.kind == b.kind == "member")
    assert uniform_enough(live, 16), "also against itself"


def test_opponents_from_the_past_are_drawn_by_win_rates() -> None:
    """(1 - p)^2 with p = 1/2 for half of the snapshots and 0 for the others: odds 1 to 4."""
    rates = {f"{number}": {"m0": 0.0} for number in range(4)}
    matchmaking = {"past_share": 0.5, "past_window": 8, "past_mode": "pfsp_hard"}
    pairs = pairs_of(planned(roster(win_rates=rates), matchmaking=matchmaking))
    by_learner: dict[str, Counter[str]] = {name: Counter() for name in ("m0", "m1")}
    for pair in pairs:
        names = {one.kind: one.name for one in pair}
        if set(names) == {"member", "snapshot"} and names["member"] in by_learner:
            by_learner[names["member"]][names["snapshot"]] += 1
    against = by_learner["m0"]
    expected = [against.total() * (0.2 if number < 4 else 0.05) for number in range(8)]
    assert chi_square([against[f"{number}"] for number in range(8)], expected) < LIMIT[7]
    assert uniform_enough(by_learner["m1"], 8), "others have their own"


def test_evaluation_games_and_openings_come_as_often_as_told() -> None:
    games = planned(roster(share=0.1))
    played = sum(game.evaluation for game in games)
    expected = [len(games) * 0.1, len(games) * 0.9]
    assert chi_square([played, len(games) - played], expected) < LIMIT[1]
    assert all(game.opening == 3 for game in games if game.evaluation)
    openings = Counter(game.opening for game in games if not game.evaluation)
    assert uniform_enough(openings, 6)
    for game in games:
        assert game.evaluation == all(one.kind != "member" for one in game.players)


def test_tables_counts_and_purposes_are_independent() -> None:
    """What is drawn at one place says nothing about its neighbours."""
    tables, counts = np.repeat(np.arange(TABLES), COUNTS), np.tile(np.arange(COUNTS), TABLES)
    key = integer(7, "players", bits=64)
    drawn = uniforms(counted(key, tables, counts, 4)).reshape(TABLES, COUNTS, 4)
    other = uniforms(counted(integer(7, "openings", bits=64), tables, counts, 1))
    first = drawn[:, :, 0]
    neighbours: list[tuple[NDArray[np.float64], NDArray[np.float64]]] = [
        (first[:-1], first[1:]),
        (first[:, :-1], first[:, 1:]),
        (first[:-1, 1:], first[1:, :-1]),
        (first, drawn[:, :, 1]),
        (first, other.reshape(TABLES, COUNTS)),
        (first[:32], first[32:]),
    ]
    for one, two in neighbours:
        cells = Counter(
            zip((one.ravel() * 16).astype(int), (two.ravel() * 16).astype(int), strict=True)
        )
        found = [cells[row, column] for row in range(16) for column in range(16)]
        assert chi_square(found, [one.size / 256] * 256) < 359.0  # 255 degrees, once in 40 000
    assert uniform_enough(Counter((first.ravel() * 64).astype(int).tolist()), 64)


def test_game_seeds_are_the_runs_and_hardly_ever_equal() -> None:
    tables, counts = np.repeat(np.arange(TABLES), COUNTS), np.tile(np.arange(COUNTS), TABLES)
    seeds = game_seeds(7, tables, counts)
    assert seeds.min() >= 0 and seeds.max() < 2**31
    # 19 200 of 2**31: 0.09 equal pairs are expected.
    assert len(np.unique(seeds)) >= len(seeds) - 2
    assert uniform_enough(Counter((seeds >> 25).tolist()), 64)
    assert (game_seeds(8, tables, counts) != seeds).mean() > 0.999
    assert game_seed(7, 5, 11) == seeds[5 * COUNTS + 11]
    assert STREAMS == 2 and game_seed(7, 5, 11, 1) == integer(7, "game seed", 5, 11, bits=31)


@pytest.mark.parametrize("parts", [1, 7, TABLES])
def test_a_game_does_not_depend_on_what_is_planned_beside_it(parts: int) -> None:
    games = NextGames(config(), FACTS, roster(share=0.2), TABLES)
    tables, counts = np.arange(TABLES), np.arange(TABLES) % 5
    whole = games.plan(tables, counts)
    apart = [
        game
        for part in np.array_split(np.arange(TABLES)[::-1], parts)
        for game in games.plan(tables[part], counts[part])
    ]
    assert apart[::-1] == whole and sum(game.lineup is None for game in whole) > 3


def test_a_seat_whose_role_nobody_fills_is_refused() -> None:
    facts = GameFacts(("cat", "mouse"), {"cat": 0, "mouse": 1}, False, ())
    with pytest.raises(EngineError, match='seat 1 cannot be filled: role "mouse"'):
        planned(roster(), facts=facts, counts=1)


@pytest.mark.parametrize("shared", [False, True])
def test_tables_of_games_with_one_seat_are_dealt_out_unless_they_are_shared(shared: bool) -> None:
    facts = GameFacts(("cat",), {"cat": 0}, False, (), shared_tables=shared)
    games = planned(Roster(MEMBERS, 8, 0.0), facts=facts, matchmaking={"past_share": 0.0})
    players = [
        {game.players[0].name for game in games[table * COUNTS : (table + 1) * COUNTS]}
        for table in range(TABLES)
    ]
    assert {len(names) for names in players} == ({len(MEMBERS)} if shared else {1})


def test_many_seats_among_many_players_are_each_drawn_by_their_own_numbers() -> None:
    """16 seats of 24 players are more lineups than an integer of 64 bits counts."""
    members = tuple(MemberEntry(f"m{n}", "p", n, 0, True) for n in range(4))
    past = tuple(SnapshotEntry(f"s{n}", f"m{n % 4}", "p") for n in range(20))
    rules = MatchmakingConfig(past_share=0.5, past_window=100)
    seats = TrainingSeats(("p",) * 16, Roster(members, 10, 0.0, past), rules, 0)
    draws = np.random.default_rng(1).random((50, 33))
    for drawn, lineup in zip(draws, seats.seat(draws, np.zeros(50, np.int64)), strict=True):
        first = int(drawn[0] * 16)
        for seat, player in enumerate(lineup.players):
            wish, choice = drawn[1 + 2 * seat], drawn[2 + 2 * seat]
            is_frozen = seat != first and wish < 0.5
            among = past if is_frozen else members
            name = among[int(choice * len(among))]
            expected = name.snapshot_id if isinstance(name, SnapshotEntry) else name.name
            assert player.name == expected


def test_where_tables_are_set_apart_their_first_game_is_one_of_training() -> None:
    apart = {"environments": TABLES, "opening_plies": 5, "decorrelation_steps": 9}
    plain, first = (planned(roster(0.5), **own) for own in ({}, {"sampling": apart}))
    begin = range(0, len(plain), COUNTS)
    assert any(plain[at].evaluation for at in begin)
    assert not any(first[at].evaluation for at in begin)
    later = [at for at in range(len(plain)) if at % COUNTS]
    assert [plain[at] for at in later] == [first[at] for at in later]
    assert all(plain[at].evaluation or plain[at] == first[at] for at in begin)
