"""Old training games are folded into counts; the newest and all evaluation games stay."""

from arena.league.compaction import Folding
from arena.league.database import League
from arena.league.game_rows import GameFilter, folded_through, population_games
from arena.league.populations import Incarnation, open_incarnation
from arena.league.schema import folded_results, folds
from arena.league.writer import LeagueWriter
from pbt.records import GameRecord
from tests.arena.league.samples import RANDOM, game, member, snapshot_player

Started = tuple[League, Incarnation]
DEADLINE_S = 60.0


def record(number: int) -> GameRecord:
    """A game in which m0 wins two of three against m1.

    Every tenth is an evaluation game, every seventh is m0 against itself, every eleventh is voided.
    """
    if number % 10 == 0:
        return game(number, (snapshot_player("a"), RANDOM), (0, 1), "evaluation")
    players = (member("m0"), member("m0" if number % 7 == 0 else "m1"))
    places = (0, 1) if number % 3 else (1, 0)
    return game(number, players, places, end_reason="voided: test" if number % 11 == 0 else "won")


def write(
    league: League, incarnation: Incarnation, folding: Folding, first: int, last: int
) -> None:
    with LeagueWriter(league, incarnation, folding=folding) as writer:
        for number in range(first, last):
            writer.game(record(number))
            if number % 25 == 0:
                writer.drain(DEADLINE_S)


def counts(league: League) -> dict[tuple[int, int, int], tuple[int, int, int, int]]:
    with league.read() as connection:
        rows = connection.execute(folded_results.select()).all()
    return {
        (row.period, row.member_player_id, row.opponent_player_id): (
            row.games,
            row.wins,
            row.draws,
            row.losses,
        )
        for row in rows
    }


def test_counts_and_rows_together_are_everything(started: Started) -> None:
    league, incarnation = started
    write(league, incarnation, Folding(incarnation.population_id, 100, 50, 64), 0, 600)
    kept = [stored.record for stored in population_games(league, "demo")]
    training = [game for game in kept if game.kind == "training"]
    assert 100 <= len(training) <= 150 + 25
    assert training == [
        record(number)
        for number in range(training[0].number, 600)
        if record(number).kind == "training"
    ]
    assert sum(game.kind == "evaluation" for game in kept) == 60
    gone = [
        record(number) for number in range(training[0].number) if record(number).kind == "training"
    ]
    assert folded_through(league, "demo") == gone[-1].number
    scored = [game for game in gone if not game.end_reason.startswith("voided")]
    against = [game for game in scored if game.seats[1].player == member("m1")]
    wins = sum(game.seats[0].place == 0 for game in against)
    stored = counts(league)
    total = [sum(row[k] for key, row in stored.items() if key[2] != 0) for k in range(4)]
    assert total == [2 * len(against), len(against), 0, len(against)], (
        "both seats are members, one's win is the other's loss"
    )
    assert (
        sum(
            row[1]
            for key, row in stored.items()
            if key[2] != 0 and key[1] == min(key[1] for key in stored)
        )
        == wins
    )
    assert sum(row[0] for key, row in stored.items() if key[2] == 0) == len(scored) - len(against)
    assert {key[0] for key in stored} == {game.number // 64 for game in scored}
    with league.read() as connection:
        fold = connection.execute(folds.select()).one()
    assert (fold.games, fold.unscored_games) == (len(gone), len(gone) - len(scored))


def test_superseded_games_go_without_counting(started: Started) -> None:
    league, incarnation = started
    write(league, incarnation, Folding(incarnation.population_id, 10**6), 0, 300)
    again = open_incarnation(league, incarnation.population_id, 1, last_game=99)
    write(league, again, Folding(incarnation.population_id, 100, 50, 64), 100, 200)
    assert folded_through(league, "demo") == 99, "what was folded behind it had been superseded"
    assert sum(row[0] for key, row in counts(league).items() if key[2] != 0) == 2 * sum(
        record(n).kind == "training" and n % 11 != 0 and n % 7 != 0 for n in range(100)
    )
    left = population_games(league, "demo", GameFilter("training", superseded=True))
    assert all(not stored.superseded or stored.record.number > 99 for stored in left)


def test_nothing_is_folded_below_the_limit(started: Started) -> None:
    league, incarnation = started
    write(league, incarnation, Folding(incarnation.population_id, 1000), 0, 200)
    assert folded_through(league, "demo") == -1
    assert counts(league) == {}
