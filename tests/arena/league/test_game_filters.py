from dataclasses import replace
from typing import Any

from arena.league.database import League
from arena.league.game_choice import GameFilter
from arena.league.game_rows import population_games
from arena.league.match_standings import MatchStanding, MatchStandings
from arena.league.matches import create_match, find_match, finish_match
from arena.league.paging import match_game_page
from arena.league.populations import Incarnation
from arena.league.writer import LeagueWriter
from pbt.records import PlayerRef
from tests.arena.league.samples import RANDOM, game, snapshot, snapshot_player

A, B = snapshot_player("a"), snapshot_player("b")
ONEPLY = PlayerRef("scripted", "oneply")
PLAYED = [
    ((A, RANDOM), (0, 1), 10),
    ((RANDOM, A), (0, 1), 20),
    ((A, RANDOM), (0, 0), 30),
    ((B, RANDOM), (0, 1), 20),
    ((A, B), (1, 0), 40),
]


def numbers(league: League, **wanted: object) -> list[int]:
    found = population_games(league, "demo", GameFilter(**wanted))  # type: ignore[arg-type]
    return [stored.record.number for stored in found]


def test_games_are_filtered_by_result_length_and_member(
    started: tuple[League, Incarnation],
) -> None:
    league, source = started
    with LeagueWriter(league, source) as writer:
        writer.snapshot(snapshot("a", "m0", 100))
        writer.snapshot(snapshot("b", "m1", 100))
        for number, (seats, places, steps) in enumerate(PLAYED):
            played = game(number, seats, places, "evaluation")
            writer.game(replace(played, steps=steps))
    assert numbers(league, players=(A.name,), result="won") == [0]
    assert numbers(league, players=(A.name,), result="drawn") == [2]
    assert numbers(league, players=(A.name,), result="lost") == [1, 4]
    assert numbers(league, players=(A.name,), opponents=("random",), result="lost") == [1]
    assert numbers(league, result="drawn") == [2]
    assert numbers(league, result="won") == numbers(league, result="lost") == [0, 1, 3, 4]
    assert numbers(league, shortest=20, longest=30) == [1, 2, 3]
    assert numbers(league, longest=9) == []
    assert numbers(league, players=("demo/m0",)) == [0, 1, 2, 4]
    assert numbers(league, players=("demo/m0", "demo/m1"), result="won") == [0, 3, 4]
    assert numbers(league, players=("demo/m0",), opponents=("demo/m1",)) == [4]
    assert numbers(league, players=("demo/m9",)) == numbers(league, players=("x/m0",)) == []


def test_matches_have_standings_and_their_games_are_filtered(
    started: tuple[League, Incarnation],
) -> None:
    league, _ = started
    cache = MatchStandings()
    empty = create_match(league, "connect_four", {}, [A, ONEPLY], 4, 8, {})
    match = create_match(league, "connect_four", {}, [A, RANDOM], 4, 7, {})
    three = create_match(league, "tag", {}, [A, RANDOM, ONEPLY], 1, 7, {})
    results = [((A, RANDOM), (0, 1)), ((RANDOM, A), (1, 0)), ((A, RANDOM), (0, 0))]
    with LeagueWriter(league, match) as writer:
        for number, (seats, places) in enumerate(results):
            writer.game(game(number, seats, places, "evaluation"))
        voided = game(3, (A, RANDOM), (1, 0), "evaluation", end_reason="voided: x")
        writer.game(voided)
    with LeagueWriter(league, three) as writer:
        writer.game(game(0, (ONEPLY, RANDOM, A, A), (0, 1, 2, 0), "evaluation"))
    found = cache.of(league, [match, empty, three])
    assert found[empty.id] == ()
    assert [one.games for one in found[match.id]] == [3, 3]
    assert [(one.wins, one.draws, one.losses) for one in found[match.id]] == [(2, 1, 0), (0, 1, 2)]
    # At the larger table `a` sits twice, and shares the first place with `oneply`.
    assert [(one.games, one.wins, one.draws, one.losses) for one in found[three.id]] == [
        (1, 0, 1, 0),
        (1, 0, 0, 1),
        (1, 0, 1, 0),
    ]
    # More games of an open match count; a finished one is read once.
    with LeagueWriter(league, match) as writer:
        writer.game(game(4, (A, RANDOM), (1, 0), "evaluation"))
    finish_match(league, match, 4)
    ended = find_match(league, match.id)
    standings = cache.of(league, [ended])[match.id]
    assert (standings[0].losses, standings[0].games) == (1, 4)
    assert cache.of(league, [ended])[match.id] is standings
    assert isinstance(standings[0], MatchStanding)

    def listed(**wanted: Any) -> list[int]:
        page = match_game_page(league, match.id, GameFilter(**wanted), None, 10)
        return [stored.record.number for _, stored in page.games]

    assert listed() == [4, 3, 2, 1, 0]
    assert listed(players=(A.name,), result="won") == [1, 0]
    assert listed(players=("random",), result="won") == [4, 3]
    assert listed(players=("unknown",)) == []
