"""New games are counted once, by kind, whatever was there before."""

import os
from pathlib import Path

from arena.league.new_games import GameCounts, NewGames
from arena.league.populations import create_population, open_incarnation
from tests.arena.league.samples import CONFIG, MEMBERS, game, new_league, write_games


def test_games_are_counted_as_they_come(tmp_path: Path) -> None:
    league, source = new_league(tmp_path)
    with league:
        write_games(league, source, *(game(number) for number in range(5)))
        counter = NewGames(league)
        assert counter.look() == {"demo": GameCounts()}
        write_games(
            league,
            source,
            game(5),
            game(6, kind="evaluation"),
            game(7),
            game(8, places=(0, 0), end_reason="voided: its engine failed"),
        )
        assert counter.look() == {"demo": GameCounts(training=2, evaluation=1, voided=1)}
        assert counter.look() == {"demo": GameCounts()}
        again = open_incarnation(league, source.population_id, os.getpid())
        write_games(league, again, game(again.first_game))
        assert counter.look() == {"demo": GameCounts(training=1)}
        other = create_population(league, "other", "connect_four", CONFIG, {}, MEMBERS)
        assert counter.look() == {"demo": GameCounts()}
        write_games(league, open_incarnation(league, other, os.getpid()), game(0))
        assert counter.look() == {"demo": GameCounts(), "other": GameCounts(training=1)}
