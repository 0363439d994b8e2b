"""Five of the games by id, checked and trained for a second (`bench/games_by_id.py`)."""

import json
from pathlib import Path

import pytest

from bench import games_by_id
from bench.games_by_id import GAMES


def test_every_game_of_the_bench_is_named_once() -> None:
    assert len({entry.name for entry in GAMES}) == len(GAMES) == 20


@pytest.mark.slow
def test_five_games_are_checked_and_trained(tmp_path: Path) -> None:
    path = tmp_path / "games.json"
    assert games_by_id.main(["--json", str(path), "--games", "5", "--seconds", "1"]) == 0
    games = json.loads(path.read_text())["games"]
    assert [*games] == [entry.name for entry in GAMES[:5]]
    assert all(game["training"]["frames"] > 0 for game in games.values())
