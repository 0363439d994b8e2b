"""Win rates of leagues, against slow twins that go through the stored games."""

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from arena.league.database import League, open_league
from arena.league.game_choice import GameFilter
from arena.league.game_rows import population_games
from arena.league.member_matrix import matrix_change, member_matrix
from arena.league.populations import create_population, open_incarnation
from arena.league.stored_snapshots import list_snapshots
from arena.league.win_rates import block_width, win_rates
from arena.league.writer import LeagueWriter
from pbt.config.load import config_from_table
from pbt.errors import PlayerError
from pbt.objective import ObjectiveKind
from pbt.records import PlayerRef
from tests.arena.league.samples import RANDOM, game, snapshot, snapshot_player
from tests.arena.stats.slow_groups import Seen, slow_mean, slow_score

LETTERS = "abcdef"
MEMBERS = ("m0", "m1", "m2")
FRAMES = (1000, 50_000)
ONEPLY = PlayerRef("scripted", "oneply")


def write(league: League, objective: ObjectiveKind, games: int = 600) -> None:
    """A population of three members with two snapshots each, whose later ones win more."""
    env = {"name": "connect_four" if objective == "win" else "leduc_holdem"}
    config = config_from_table({"env": {**env, "objective": objective}}, "test")
    population = create_population(
        league,
        "demo",
        env["name"],
        config.model_dump(mode="json"),
        {},
        [(name, "player") for name in MEMBERS],
    )
    rng = Random(5)
    with LeagueWriter(league, open_incarnation(league, population, os.getpid())) as writer:
        for place, letter in enumerate(LETTERS):
            writer.snapshot(snapshot(letter, MEMBERS[place // 2], FRAMES[place % 2] + place))
        players = [*(snapshot_player(letter) for letter in LETTERS), RANDOM, ONEPLY]
        for number in range(games):
            seated = rng.sample(players, 2)
            if objective == "return" and number % 3 == 0:
                seated = [seated[0]] * 2
            first, second = (strength(player) for player in seated)
            ahead = first - second
            value = rng.gauss(ahead / 2, 1)
            places = (0, 0) if abs(value) < 0.2 else (int(value < 0), int(value > 0))
            other = value / 2 if objective == "return" else -value
            writer.game(game(number, seated, places, "evaluation", returns=(value, other)))


def strength(player: PlayerRef) -> int:
    """Scripted players have 0, first snapshots 1, second ones 2."""
    return 0 if player.kind == "scripted" else LETTERS.index(player.name[0]) % 2 + 1


@pytest.fixture(params=["win", "margin", "return"])
def filled(
    request: pytest.FixtureRequest, tmp_path: Path
) -> Iterator[tuple[League, ObjectiveKind]]:
    with open_league(tmp_path / "league.db") as league:
        write(league, request.param)
        yield league, request.param


def seen(league: League, objective: ObjectiveKind) -> list[Seen]:
    """Every game from the side of each player."""
    found = []
    for stored in population_games(league, "demo", GameFilter("evaluation")):
        a, b = stored.record.seats
        if a.player == b.player:
            mean = (a.returns + b.returns) / 2
            found.append(Seen(a.player.name, a.player.name, 0.5, mean))
            continue
        for own, other in ((a, b), (b, a)):
            points = 0.5 if own.place == other.place else float(own.place < other.place)
            got = own.returns if objective == "return" else (own.returns - other.returns) / 2
            found.append(Seen(own.player.name, other.player.name, points, got))
    return found if objective == "return" else [one for one in found if one.player != one.opponent]


def expected(games: list[Seen], objective: ObjectiveKind) -> tuple[float, ...]:
    return slow_score(games) if objective == "win" else slow_mean(games)


AGAINST = ("random", "others", "itself", "m1", "demo/m0@1k", "c" * 64)


@pytest.mark.parametrize("against", AGAINST)
@pytest.mark.parametrize("width", [None, 7, 60_000])
def test_rates_are_those_of_the_games(
    filled: tuple[League, ObjectiveKind], against: str, width: int | None
) -> None:
    league, objective = filled
    known = {one.record.snapshot_id: one.record for one in list_snapshots(league, "demo")}
    found = win_rates(league, "demo", against, width)
    assert found.objective == objective

    def counts(one: Seen) -> bool:
        own, other = known.get(one.player), known.get(one.opponent)
        if own is None:
            return False
        if against == "itself":
            if objective == "return":
                return one.player == one.opponent
            return other is not None and other.member == own.member and other.frames < own.frames
        if against == "others":
            return other is not None and other.member != own.member
        if against == "m1":
            return other is not None and other.member == "m1" and own.member != "m1"
        wanted = {"demo/m0@1k": "a" * 64}.get(against, against)
        return one.opponent == wanted

    blocks: dict[tuple[str, int], list[Seen]] = {}
    for one in filter(counts, seen(league, objective)):
        own = known[one.player]
        blocks.setdefault((own.member, own.frames // found.block_frames), []).append(one)
    told = {
        (member.name, block.first // found.block_frames): block
        for member, of_it in found.members
        for block in of_it
    }
    assert told.keys() == blocks.keys() and blocks
    for place, games in blocks.items():
        result = told[place].result
        games_of_it, value, low, high = expected(games, objective)
        assert (result.games, result.value) == pytest.approx((games_of_it, value))
        frames = [known[one.player].frames for one in games]
        assert told[place].frames == pytest.approx(sum(frames) / len(frames))
        assert told[place].snapshots == len(set(frames))
        if objective != "margin":
            assert (result.low, result.high) == pytest.approx((low, high))
    assert found.against is not None
    assert found.against.games == sum(len(games) for games in blocks.values())


def test_the_opponents_are_those_that_were_met(filled: tuple[League, ObjectiveKind]) -> None:
    league, _ = filled
    found = win_rates(league, "demo")
    names = [one.name for one in found.opponents]
    assert names == ["random", "oneply", "others", "itself", *MEMBERS]
    assert found.against == found.opponents[0]
    with pytest.raises(PlayerError, match="no opponent 'missing' in demo"):
        win_rates(league, "demo", "missing")
    with pytest.raises(PlayerError, match="no snapshot at or below"):
        win_rates(league, "demo", "m0@1")
    with pytest.raises(PlayerError, match="no population"):
        win_rates(league, "missing")


@pytest.mark.parametrize("frames", [None, 2000])
@pytest.mark.parametrize("recent", [1, 0])
def test_the_matrix_has_the_games_of_the_moment(
    filled: tuple[League, ObjectiveKind], frames: int | None, recent: int
) -> None:
    league, objective = filled
    newest, found = member_matrix(league, "demo", frames, recent)
    assert newest == max(FRAMES) + 5
    now = LETTERS[1::2] if frames is None else LETTERS[::2]
    stands = {
        letter * 64: MEMBERS[LETTERS.index(letter) // 2]
        for letter in (LETTERS if recent == 0 and frames is None else now)
    } | {"random": "random", "oneply": "oneply"}
    games: dict[tuple[str, str], list[Seen]] = {}
    for one in seen(league, objective):
        ends = stands.get(one.player), stands.get(one.opponent)
        if ends[0] is not None and ends[1] is not None:
            games.setdefault((ends[0], ends[1]), []).append(one)
    assert list(found.strengths) == sorted(found.strengths, reverse=True)
    names = [side.name for side in found.sides]
    assert sorted(names) == sorted({*MEMBERS, "random", "oneply"})
    told = {(names[one.row], names[one.column]): one for one in found.results}
    if objective == "return":
        assert told.keys() == games.keys()
    else:
        assert {frozenset(ends) for ends in told} == {
            frozenset(ends) for ends in games if len(set(ends)) == 2
        }
        assert all(names.index(row) < names.index(column) for row, column in told)
    for ends, one in told.items():
        assert (one.games, one.value) == pytest.approx(expected(games[ends], objective)[:2])


def test_changes_are_those_of_the_two_matrices(filled: tuple[League, ObjectiveKind]) -> None:
    league, objective = filled
    newest, found = matrix_change(league, "demo", 2000)
    early, late = member_matrix(league, "demo", 2000)[1], member_matrix(league, "demo")[1]
    by_name = [
        {
            (one.sides[result.row].name, one.sides[result.column].name): result
            for result in one.results
        }
        for one in (early, late)
    ]
    assert found.changes and newest == max(FRAMES) + 5
    assert matrix_change(league, "demo", 60_000)[1].changes == []
    for change in found.changes:
        ends = tuple(found.after.sides[at].name for at in (change.after.row, change.after.column))
        row, column = ends
        before = by_name[0].get((row, column))
        value = by_name[0][column, row].value if before is None else before.value
        turned = (1 - value if objective == "win" else -value) if before is None else value
        assert change.before.value == pytest.approx(turned)
        assert change.after.value == pytest.approx(by_name[1][row, column].value)
        assert change.difference == pytest.approx(change.after.value - change.before.value)
    against = [
        change
        for change in found.changes
        if found.after.sides[change.after.column].name == "random"
        and found.after.sides[change.after.row].kind == "member"
    ]
    assert len(against) == 3
    if objective != "return":
        # Each later snapshot is stronger by half a point of margin.
        assert all(change.difference > 0 for change in against)


def test_a_member_without_a_snapshot_yet_is_left_out(tmp_path: Path) -> None:
    with open_league(tmp_path / "league.db") as league:
        write(league, "win", 0)
        assert [side.name for side in member_matrix(league, "demo", 1001)[1].sides] == ["m0"]
        found = win_rates(league, "demo")
        assert found.against is None and found.opponents == []
        assert all(blocks == [] for _, blocks in found.members)
        assert matrix_change(league, "demo", 0)[1].changes == []


def test_a_snapshot_without_games_does_not_stand_for_its_member_yet(tmp_path: Path) -> None:
    with open_league(tmp_path / "league.db") as league:
        write(league, "win")
        incarnation = open_incarnation(league, 1, os.getpid(), last_game=599)
        with LeagueWriter(league, incarnation) as writer:
            writer.snapshot(snapshot("0", "m0", 90_000))
        newest, found = member_matrix(league, "demo")
        (own,) = (side for side in found.sides if side.name == "m0")
        assert newest == 90_000
        assert [stored.record.snapshot_id for stored in own.snapshots] == ["b" * 64]


def test_a_circle_of_members_is_found(tmp_path: Path) -> None:
    with open_league(tmp_path / "league.db") as league:
        write(league, "win", 0)
        incarnation = open_incarnation(league, 1, os.getpid(), last_game=-1)
        with LeagueWriter(league, incarnation) as writer:
            for number in range(120):
                turn = number % 3
                players = [snapshot_player("bdf"[turn]), snapshot_player("bdf"[(turn + 1) % 3])]
                writer.game(game(number, players, (0, 1), "evaluation"))
        (cycle,) = member_matrix(league, "demo")[1].cycles
        assert {cycle.a, cycle.b, cycle.c} == set(MEMBERS) and cycle.p < 1e-6


def test_roles_meet_as_what_they_are(tmp_path: Path) -> None:
    with open_league(tmp_path / "league.db") as league:
        write(league, "return", 0)
        config = config_from_table({"env": {"name": "mpe", "objective": "return"}}, "test")
        members = [("p0", "predator"), ("q0", "prey")]
        population = create_population(
            league, "tag", "mpe", config.model_dump(mode="json"), {}, members
        )
        with LeagueWriter(league, open_incarnation(league, population, os.getpid())) as writer:
            for letter, (member, role) in zip("uv", members, strict=True):
                writer.snapshot(replace(snapshot(letter, member, 1000), role=role))
            for number in range(20):
                value = 5.0 + number % 3
                players = (snapshot_player("u"), snapshot_player("v"))
                record = game(number, players, (0, 1), "evaluation", returns=(value, -value))
                writer.game(record)
        _, found = member_matrix(league, "tag")
        assert [(side.name, side.role) for side in found.sides] == [
            ("p0", "predator"),
            ("q0", "prey"),
        ]
        values = {(one.row, one.column): one.value for one in found.results}
        assert values == pytest.approx({(0, 1): 5.95, (1, 0): -5.95})


@pytest.mark.parametrize(
    ("frames", "width"), [(0, 1), (23, 1), (24, 2), (119, 5), (120, 10), (280_576, 20_000)]
)
def test_blocks_have_a_round_width(frames: int, width: int) -> None:
    assert block_width(frames) == width
    assert frames // width + 1 <= 24
