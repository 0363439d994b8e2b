"""Standings, names of snapshots, and filters of games."""

from dataclasses import asdict

import pytest

from arena.league.database import League
from arena.league.frames import frames_text
from arena.league.game_choice import GameFilter
from arena.league.game_rows import population_games
from arena.league.matches import create_match
from arena.league.populations import Incarnation, create_population, open_incarnation
from arena.league.ratings import best_standing, population_table, standings
from arena.league.retention import anchors, mark_anchor, mark_weights_removed
from arena.league.snapshot_names import find_snapshot, parse_frames
from arena.league.stored_snapshots import list_snapshots
from arena.league.summaries import list_members
from arena.league.writer import LeagueWriter
from pbt.errors import PlayerError
from tests.arena.league.samples import (
    CONFIG,
    RANDOM,
    game,
    member,
    round_record,
    snapshot,
    snapshot_player,
    write_games,
)

Started = tuple[League, Incarnation]
A, B, C = (snapshot_player(letter) for letter in "abc")


def evaluations(league: League, source: Incarnation) -> None:
    """40 games a-random (36 won), 40 b-a (24 won), and games that must not count."""
    record = [game(n, (A, RANDOM), (0, 1) if n % 10 else (1, 0), "evaluation") for n in range(40)]
    record += [
        game(n, (B, A), (0, 1) if n % 5 < 3 else (1, 0), "evaluation") for n in range(40, 80)
    ]
    record += [
        game(80, (B, RANDOM), (1, 0), "evaluation", greedy=True),
        game(81, (B, RANDOM), (1, 0), "evaluation", end_reason="voided: x"),
    ]
    record += [game(n, (member("m0"), member("m1")), (0, 1)) for n in range(82, 90)]
    with LeagueWriter(league, source) as writer:
        for one in record:
            writer.game(one)
        writer.snapshot(snapshot("a", "m0", 800_000))
        writer.snapshot(snapshot("b", "m0", 1_204_000))
        writer.snapshot(snapshot("c", "m1", 5))


def test_standings_use_sampled_evaluation_games_only(started: Started) -> None:
    league, source = started
    evaluations(league, source)
    table = standings(league, "demo")
    assert [row.label for row in table] == ["demo/m0@1.21M", "demo/m0@800k", "random"]
    top, second, anchor = table
    assert asdict(top.total) == {"wins": 24, "draws": 0, "losses": 16}
    assert asdict(second.total) == {"wins": 36 + 16, "draws": 0, "losses": 4 + 24}
    assert second.against_random is not None
    assert second.against_random.score == 0.9
    assert top.against_random is None
    assert (anchor.rating, anchor.low, anchor.high) == (0.0, 0.0, 0.0)
    assert top.rating is not None
    assert second.rating is not None
    assert top.rating > second.rating > 300
    best = best_standing(table)
    assert best is not None
    assert best.player in (A, B)
    assert best.low == max(row.low or 0 for row in table)


def test_matches_count_where_they_belong(started: Started) -> None:
    league, source = started
    evaluations(league, source)
    other = open_incarnation(
        league, create_population(league, "other", "connect_four", CONFIG, {}), 1
    )
    with LeagueWriter(league, other) as writer:
        writer.snapshot(snapshot("d", "m0", 7))
    own = create_match(league, "connect_four", {}, [C, RANDOM], 2, 1, {})
    across = create_match(league, "connect_four", {}, [A, snapshot_player("d")], 2, 1, {})
    elsewhere = create_match(league, "connect_four", {"columns": 9}, [C, RANDOM], 2, 1, {})
    for match in (own, across, elsewhere):
        with LeagueWriter(league, match) as writer:
            for number in range(2):
                writer.game(game(number, match.players, (0, 1), "evaluation"))
    mine = {row.label: row.total.games for row in standings(league, "demo")}
    assert mine == {"demo/m0@1.21M": 40, "demo/m0@800k": 80, "demo/m1@5": 2, "random": 42}
    everyone = {
        row.label: row.total.games for row in population_table(league, "demo", everyone=True).rows
    }
    assert everyone == {**mine, "demo/m0@800k": 82, "other/m0@7": 2}
    assert [row.label for row in standings(league, "other")] == []


def test_three_at_a_table_are_compared_pair_by_pair(started: Started) -> None:
    league, source = started
    write_games(
        league, source, *(game(n, (A, B, RANDOM), (0, 1, 1), "evaluation") for n in range(10))
    )
    table = {row.player: row for row in standings(league, "demo")}
    assert asdict(table[A].total) == {"wins": 20, "draws": 0, "losses": 0}
    assert asdict(table[B].results[RANDOM]) == {"wins": 0, "draws": 10, "losses": 0}


def test_the_best_is_surely_strong_and_has_played_enough(started: Started) -> None:
    league, source = started
    lucky = [game(n, (A, RANDOM), (0, 1), "evaluation") for n in range(29)]
    steady = [
        game(n, (B, RANDOM), (0, 1) if n % 10 else (1, 0), "evaluation") for n in range(29, 229)
    ]
    with LeagueWriter(league, source) as writer:
        for letter in "ab":
            writer.snapshot(snapshot(letter))
        for record in lucky:
            writer.game(record)
        writer.drain(60)
        assert best_standing(standings(league, "demo")) is None
        for record in steady:
            writer.game(record)
    table = standings(league, "demo")
    best = best_standing(table)
    assert table[0].player == A
    assert best is not None and best.player == B


def test_players_without_a_chain_to_random_have_no_rating(started: Started) -> None:
    league, source = started
    write_games(
        league,
        source,
        game(0, (A, RANDOM), (0, 1), "evaluation"),
        game(1, (B, C), (0, 1), "evaluation"),
    )
    assert [(row.player, row.rating) for row in standings(league, "demo")][2:] == [
        (B, None),
        (C, None),
    ]


def test_names_find_snapshots(started: Started) -> None:
    league, source = started
    evaluations(league, source)
    found = {
        text: find_snapshot(league, text).record.snapshot_id[0]
        for text in ("demo/m0", "demo/m0@1.2M", "demo/m0@1.21M", "demo/m1@9", "cccc", "a" * 64)
    }
    assert found == {
        "demo/m0": "b",
        "demo/m0@1.2M": "a",
        "demo/m0@1.21M": "b",
        "demo/m1@9": "c",
        "cccc": "c",
        "a" * 64: "a",
    }
    best = best_standing(standings(league, "demo"))
    assert best is not None
    assert best.snapshot == find_snapshot(league, "demo@best")
    mark_weights_removed(league, ["b" * 64])
    mark_anchor(league, "a" * 64)
    assert anchors(league) == {"a" * 64}
    assert find_snapshot(league, "demo/m0").is_anchor
    assert find_snapshot(league, "demo@best").record.snapshot_id[0] == "a"


def test_equal_snapshots_of_two_populations_lose_their_weights_one_by_one(started: Started) -> None:
    league, source = started
    other = open_incarnation(
        league, create_population(league, "other", "connect_four", CONFIG, {}), 1
    )
    for start in (source, other):
        with LeagueWriter(league, start) as writer:
            writer.snapshot(snapshot("a"))
    mark_weights_removed(league, ["a" * 64], "other")
    assert find_snapshot(league, "demo/m0").population == "demo"
    assert find_snapshot(league, "aaaa").population == "demo"
    with pytest.raises(PlayerError, match="m0 has no snapshot yet"):
        find_snapshot(league, "other/m0")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("demmo/m0", "no population 'demmo' in this league; did you mean 'demo'"),
        ("demo/m9", "has no member 'm9'; it has m0, m1, m2, m3"),
        ("demo/m00", "has no member 'm00'; did you mean demo/m0"),
        ("demo/m2", "m2 has no snapshot yet"),
        (
            "demo/m0@100k",
            "no snapshot at or below 100k frames; its first with weights is demo/m0@800k",
        ),
        ("demo/m0@lots", "'lots' is no number of frames"),
        ("demo/m0@", "'' is no number of frames"),
        (
            "demo@newest",
            (
                "after a population only @best is known; frames belong to a member, as in "
                "demo/m0@newest"
            ),
        ),
        ("other@best", r"no snapshot has 30 evaluation games yet \(none was played\)"),
        ("demo", "expected one player of it: demo@best, or a member such as demo/m0"),
        ("ffff", "no snapshot id begins with 'ffff'"),
        ("dead", "its weights were removed"),
        ("dea", "no population 'dea'"),
        ("", "player '': found no name; expected a snapshot"),
        ("dddd", "2 snapshot ids begin with 'dddd'"),
    ],
)
def test_wrong_names_are_answered_with_what_there_is(
    started: Started, text: str, message: str
) -> None:
    league, source = started
    evaluations(league, source)
    with LeagueWriter(league, source) as writer:
        for snapshot_id in ("dead" * 16, "d" * 64, "d" * 63 + "e"):
            record = snapshot("d", "m3", 1)
            object.__setattr__(record, "snapshot_id", snapshot_id)
            writer.snapshot(record)
    mark_weights_removed(league, ["dead" * 16])
    create_population(league, "other", "connect_four", CONFIG, {}, [("m0", "player")])
    with pytest.raises(PlayerError, match=message):
        find_snapshot(league, text)


def test_frames_are_read_and_written() -> None:
    assert [parse_frames(text, "x") for text in ("7", "1.2M", "800k", "3_000", "2B")] == [
        7,
        1_200_000,
        800_000,
        3000,
        2 * 10**9,
    ]
    for frames in (
        0,
        999,
        1000,
        1001,
        9_999,
        10_001,
        123_456,
        999_999,
        1_000_000,
        1_204_000,
        99_950_001,
        100_000_001,
        10**9,
        12_345_678_901,
    ):
        text = frames_text(frames)
        assert frames <= parse_frames(text, "x") <= frames * 1.0101, text
    assert [frames_text(n) for n in (1_200_000, 10_000_000, 250_000_000)] == ["1.2M", "10M", "250M"]


def test_members_are_summed_up(started: Started) -> None:
    league, source = started
    evaluations(league, source)
    with LeagueWriter(league, source) as writer:
        writer.round(round_record("m0", 0))
    first, second, *_ = list_members(league, "demo")
    assert (first.name, first.frames, first.snapshots, first.newest_snapshot, first.rounds) == (
        "m0",
        1_204_000,
        2,
        "b" * 64,
        1,
    )
    assert first.hyperparams["learning_rate"] == 0.1 + 0.2
    assert (second.frames, second.hyperparams) == (5, {})
    assert [stored.record.member for stored in list_snapshots(league, "demo", "m1")] == ["m1"]


def test_games_are_filtered(started: Started) -> None:
    league, source = started
    evaluations(league, source)

    def numbers(**wanted: object) -> list[int]:
        return [
            stored.record.number
            for stored in population_games(league, "demo", GameFilter(**wanted))
        ]  # type: ignore[arg-type]

    assert numbers() == list(range(90))
    assert numbers(kind="training") == list(range(82, 90))
    assert numbers(players=("b" * 64,), voided=False) == list(range(40, 81))
    assert numbers(first=5, last=7) == [5, 6, 7]
    assert numbers(players=("unknown",)) == []
    met = numbers(kind="evaluation", players=("unknown", "b" * 64), opponents=("random",))
    assert met == [number for number in numbers(players=("b" * 64,)) if number in met] != []
    assert numbers(players=("b" * 64,), opponents=("unknown",)) == []


def test_long_listings_are_read_page_by_page(
    started: Started, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("arena.league.game_rows.PAGE_GAMES", 7)
    league, source = started
    write_games(league, source, *(game(n) for n in range(50)))
    assert [stored.record for stored in population_games(league, "demo")] == [
        game(n) for n in range(50)
    ]
