"""What is told of a stored match is what was told when it was played."""

from dataclasses import replace
from pathlib import Path

import pytest

from arena.league.database import open_league
from arena.league.matches import create_match, find_match, stored_games
from arena.league.writer import LeagueWriter
from arena.matches.play import play_match
from arena.matches.stored import stored_duel
from arena.players.resolve import ResolvedPlayer
from arena.stats.sprt import Sprt
from pbt.records import PlayerRef
from tests.arena.league.samples import RANDOM, game, snapshot_player


def scripted(name: str, env: str = "connect_four") -> ResolvedPlayer:
    return ResolvedPlayer(PlayerRef("scripted", name), name, env, {})


@pytest.mark.parametrize(
    ("names", "env", "sprt", "games"),
    [
        (("oneply", "random"), "connect_four", None, 40),
        (("random", "oneply"), "connect_four", None, 40),
        (("random", "random"), "connect_four", None, 30),
        (("oneply", "random"), "connect_four", Sprt(0.0, 200.0), 400),
        (("random", "random"), "cartpole", None, 20),
    ],
)
def test_its_statistics_are_those_it_ended_with(
    names: tuple[str, str], env: str, sprt: Sprt | None, games: int, tmp_path: Path
) -> None:
    with open_league(tmp_path / "league.db") as league:
        result = play_match(
            *(scripted(name, env) for name in names),
            games=games,
            sprt=sprt,
            league=league,
            tables=16,
        )
        assert result.match_id is not None
        found = stored_duel(league, find_match(league, result.match_id))
        assert found is not None
        assert found.statistics == result.duel
        assert [record.trajectory_hash for record in found.records] == [
            record.trajectory_hash for record in result.records
        ]
        assert (len(found.records) < games) == (sprt is not None)


def test_spoiled_tries_and_halves_of_pairs_count_for_nobody(tmp_path: Path) -> None:
    one = snapshot_player("a")
    with open_league(tmp_path / "league.db") as league:
        match = create_match(league, "connect_four", {}, [one, RANDOM], 6, 1, {"greedy": False})
        with LeagueWriter(league, match) as writer:
            for count, (players, places, pair, reason) in enumerate(
                [
                    ((one, RANDOM), (0, 1), 0, "four in a row"),
                    ((RANDOM, one), (0, 1), 0, "voided: it fell over"),
                    ((one, RANDOM), (1, 0), 1, "four in a row"),
                ]
            ):
                played = game(count, players, places, "evaluation", end_reason=reason, pair=pair)
                writer.game(replace(played, count=count))
            again = game(7, (RANDOM, one), (0, 0), "evaluation", pair=0)
            writer.game(replace(again, count=7))
        assert len(stored_games(league, match)) == 4
        found = stored_duel(league, match)
    assert found is not None and found.errors == 1
    assert (found.statistics.total.games, found.statistics.score, found.statistics.left_out) == (
        2,
        0.75,
        1,
    )


def test_without_games_or_with_more_players_there_is_nothing_to_tell(tmp_path: Path) -> None:
    with open_league(tmp_path / "league.db") as league:
        for players in (
            [snapshot_player("a"), RANDOM],
            [snapshot_player("a"), RANDOM, snapshot_player("b")],
        ):
            assert (
                stored_duel(league, create_match(league, "connect_four", {}, players, 4, 1, {}))
                is None
            )
