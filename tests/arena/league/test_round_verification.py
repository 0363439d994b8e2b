"""The verification of stored rounds: altered rows of games and rounds are found."""

from dataclasses import replace

import pytest

from arena.league.compaction import Folding
from arena.league.database import League
from arena.league.game_rows import folded_through, population_games
from arena.league.populations import Incarnation
from arena.league.schema import folds, game_blocks, game_seats, games, rounds
from arena.league.score_windows import GameWindows, WindowRule
from arena.league.verify import verify_rounds
from arena.league.writer import LeagueWriter
from pbt.config.population import PbtConfig
from pbt.population.pbt_decision import decide
from pbt.population.pbt_rules import PbtRules
from pbt.population.scores import ScoreWindow
from pbt.records import GameRecord, MemberScore, RoundRecord
from tests.arena.league.altering import alter_blocks, alter_games, into_rows
from tests.arena.league.samples import (
    RANDOM,
    game,
    member,
    write_games,
)
from tests.pbt.told_games import count_game

Started = tuple[League, Incarnation]
DEADLINE_S = 60.0


def play_rounds(league: League, source: Incarnation) -> None:
    """200 training games of three members, then a round each, scored by the controller's window."""
    names = ("m0", "m1", "m2")
    rules = PbtRules.from_config(PbtConfig(min_games=10), "win")
    window = ScoreWindow("win", 60, rules.detail)
    values = {
        name: {"learning_rate": 0.1 + 0.2, "entropy_coef": 1e-3, "adam_beta1": 0.9}
        for name in names
    }
    with LeagueWriter(league, source) as writer:
        for number in range(200):
            pair = (names[number % 3], names[number // 3 % 3])
            record = game(
                number,
                tuple(map(member, pair)),
                (0, 1) if number % 4 else (1, 0),
                end_reason="voided: x" if number % 17 == 0 else "won",
            )
            writer.game(record)
            count_game(window, record)
            if number % 25 == 0:
                writer.drain(DEADLINE_S)
        for name in names:
            scores = tuple(window.score(other) for other in names)
            decision = decide(name, 1, 1000, scores, values, rules, 7)
            directive = decision.directive(
                name, 1, None if decision.copy_from is None else "s" * 64
            )
            writer.round(
                RoundRecord(
                    name,
                    1,
                    1000,
                    scores,
                    values,
                    rules.to_mapping(),
                    7,
                    decision.verdict,
                    directive,
                )
            )


def test_rounds_agree_with_the_rows(started: Started) -> None:
    league, source = started
    play_rounds(league, source)
    checks = verify_rounds(league, "demo")
    assert [(check.round.record.member, check.problems, check.folded) for check in checks] == [
        (name, (), ()) for name in ("m0", "m1", "m2")
    ]
    assert all(score.games >= 30 for check in checks for score in check.round.record.scores)


@pytest.mark.parametrize("value", ["place", "voided", "superseded", "missing"])
def test_an_altered_game_of_a_block_fails_the_verification(started: Started, value: str) -> None:
    league, source = started
    play_rounds(league, source)

    def edit(record: GameRecord) -> GameRecord | None:
        if record.number != 194:
            return record
        turned = tuple(replace(seat, place=1 - seat.place) for seat in record.seats)
        return {
            "place": replace(record, seats=turned),
            "voided": replace(record, end_reason="voided: x"),
        }.get(value)

    if value != "superseded":
        alter_games(league, edit)
    else:
        with league.write() as connection:
            newest = game_blocks.update().where(game_blocks.c.last >= source.id << 36 | 194)
            connection.execute(newest.values(superseded_from=source.id << 36 | 194))
    assert any(
        "score of" in problem
        for check in verify_rounds(league, "demo")
        for problem in check.problems
    )


@pytest.mark.parametrize("column", ["place", "voided", "superseded", "kind", "missing"])
def test_an_altered_game_row_fails_the_verification(started: Started, column: str) -> None:
    """Of an earlier program, which stored training games in rows."""
    league, source = started
    play_rounds(league, source)
    into_rows(league)
    key = source.id << 36 | 194
    with league.write() as connection:
        match column:
            case "place":
                connection.execute(
                    game_seats.update()
                    .where(game_seats.c.game_id == key)
                    .values(place=1 - game_seats.c.place)
                )
            case "missing":
                connection.execute(game_seats.delete().where(game_seats.c.game_id == key))
                connection.execute(games.delete().where(games.c.id == key))
            case _:
                connection.execute(games.update().where(games.c.id == key).values({column: 1}))
    assert any(
        "score of" in problem
        for check in verify_rounds(league, "demo")
        for problem in check.problems
    )


@pytest.mark.parametrize(
    ("column", "old", "new"),
    [
        ("hyperparams", "0.9", "0.8"),
        ("directive", "0.001", "0.002"),
        ("rules", '"min_games":10', '"min_games":99'),
    ],
)
def test_an_altered_round_row_fails_the_verification(
    started: Started, column: str, old: str, new: str
) -> None:
    league, source = started
    play_rounds(league, source)
    with league.write() as connection:
        for row in connection.execute(rounds.select()).all():
            text = getattr(row, column)
            assert old in text
            connection.execute(
                rounds.update()
                .where(rounds.c.id == row.id)
                .values({column: text.replace(old, new)})
            )
    assert any(check.problems for check in verify_rounds(league, "demo"))


def test_a_fold_keeps_every_game_that_a_round_was_scored_from(started: Started) -> None:
    league, source = started
    play_rounds(league, source)
    expected = verify_rounds(league, "demo")
    firsts = [one.first_game for check in expected for one in check.round.record.scores]
    folding = Folding(source.population_id, 50, 20)
    with LeagueWriter(league, source, folding=folding) as writer:
        for number in range(200, 300):
            writer.game(game(number))
            if number % 10 == 0:
                writer.drain(DEADLINE_S)
    kept = [stored.record.number for stored in population_games(league, "demo")]
    assert kept[0] > 25, "what no round was scored from is folded"
    assert folded_through(league, "demo") > 200 > min(firsts) >= kept[0]
    assert set(range(min(firsts), 200)) <= set(kept) < set(range(300))
    checks = verify_rounds(league, "demo")
    assert [(check.problems, check.folded) for check in checks] == [((), ())] * 3


def test_scores_over_games_that_an_earlier_program_folded_are_named(started: Started) -> None:
    league, source = started
    play_rounds(league, source)
    alter_blocks(league, lambda records: [one for one in records if one.number > 160])
    cut = {"through_game_id": source.id << 36 | 160, "cut_game_id": source.id << 36 | 160}
    with league.write() as connection:
        folded = {"population_id": source.population_id, "games": 161, "unscored_games": 0}
        connection.execute(folds.insert().values(**folded, **cut))
    checks = verify_rounds(league, "demo")
    assert all(check.problems == () for check in checks)
    assert {
        score.member for score in checks[0].round.record.scores if score.first_game <= 160
    } == set(checks[0].folded)
    assert checks[0].folded


def test_scores_are_recomputed_from_rows(started: Started) -> None:
    league, source = started
    solo = [game(n, (member("m0"),), (0,), returns=[n / 10]) for n in range(4)]
    write_games(
        league,
        source,
        *solo,
        game(4, (member("m0"), member("m0")), (0, 1)),
        game(5, (member("m0"), RANDOM), (0, 0)),
    )
    windows = GameWindows(WindowRule((4,)), ("return", "win"))
    for number, stored in enumerate(population_games(league, "demo")):
        windows.add(stored.record)
        if number == 3:
            returned = MemberScore("m0", 4, 0.15, 0, 3)
            assert windows.score(returned, 0, "return", "plain") == returned
    won = MemberScore("m0", 1, 0.0, 5, 5)
    assert windows.score(won, 0, "win", "plain") == won


def test_a_score_over_a_part_of_the_window_is_no_score_of_it() -> None:
    windows = GameWindows(WindowRule((50,)), ("win",))
    for number in range(80):
        windows.add(game(number))
    whole = windows.score(MemberScore("m0", 50, 1.0, 30, 79), 0, "win", "plain")
    assert (whole.games, whole.first_game, whole.last_game) == (50, 30, 79)
    for part in ((49, 31, 79), (50, 29, 78), (51, 29, 79), (80, 0, 79), (0, -1, -1)):
        chosen = MemberScore("m0", part[0], 1.0, *part[1:])
        assert windows.score(chosen, 0, "win", "plain") == whole


def test_a_copy_empties_the_window_once_a_game_of_the_new_weights_has_ended() -> None:
    windows = GameWindows(WindowRule((50,)), ("win",))
    for number in range(10):
        windows.add(game(number))
    old = windows.score(MemberScore("m0", 10, 1.0, 0, 9), 1, "win", "plain")
    assert old.games == 10, "the copy may not be in force yet"
    assert windows.score(MemberScore("m0", 0, 0.0, -1, -1), 1, "win", "plain").games == 0
    copied = replace(game(10).seats[0], generation=1)
    windows.add(replace(game(10), seats=(copied, game(10).seats[1])))
    assert windows.score(old, 1, "win", "plain").games == 1


def test_an_edit_of_the_objective_empties_the_window_for_the_rounds_of_its_start() -> None:
    windows = GameWindows(WindowRule((20,), emptied={2: 10}), ("win",))
    whole, empty = MemberScore("m0", 10, 1.0, 0, 9), MemberScore("m0", 0, 0.0, -1, -1)
    for number in range(10):
        windows.add(game(number))
    assert windows.score(whole, 0, "win", "plain", start=1) == whole
    for stored in (whole, empty):
        assert windows.score(stored, 0, "win", "plain", start=2) == empty
    for number in range(10, 14):
        windows.add(game(number))
    for first in range(14):
        stored = MemberScore("m0", 14 - first, 1.0, first, 13)
        assert (windows.score(stored, 0, "win", "plain", start=2) == stored) == (first == 10)
        # A later start may have gone back to a checkpoint from before the edit.
        assert (windows.score(stored, 0, "win", "plain", start=3) == stored) == (first == 0)


def test_an_edit_of_the_size_lets_a_window_go_on_from_what_it_had() -> None:
    windows = GameWindows(WindowRule((5, 20), restarts=(10,)), ("win",))
    for number in range(14):
        windows.add(game(number))
    for first in range(14):
        stored = MemberScore("m0", 14 - first, 1.0, first, 13)
        allowed = windows.score(stored, 0, "win", "plain") == stored
        # All games, the newest 5, what the window had before the edit, and what came after it.
        assert allowed == (first in (0, 9, 5, 10)), first
