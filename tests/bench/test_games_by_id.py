"""Two of the games by id, checked and trained for a second (`bench/games_by_id.py`)."""

import json
from pathlib import Path

import pytest

from bench import games_by_id
from bench.games_by_id import GAMES


def test_every_game_of_the_bench_is_named_once() -> None:
    assert len({entry.name for entry in GAMES}) == len(GAMES) == 20


@pytest.mark.slow
def test_two_games_are_checked_and_trained(tmp_path: Path) -> None:
    path = tmp_path / "games.json"
    assert games_by_id.main(["--json", str(path), "--games", "2", "--seconds", "1"]) == 0
    games = json.loads(path.read_text())["games"]
    assert [*games] == [entry.name for entry in GAMES[:2]]
    assert all(game["training"]["frames"] > 0 for game in games.values())


def test_what_failed_is_tried_again_and_what_went_well_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, tried = tmp_path / "games.json", list[str]()
    well = {"check": {"ok": True}, "training": {"ok": True, "frames": 7}}
    failed = {"check": {"ok": False, "problems": ["no module pymunk"]}}
    games = {GAMES[0].name: well, GAMES[1].name: failed}
    stored = {"hardware": {"commit": "before"}, "seconds": 30.0, "games": games}
    path.write_text(json.dumps(stored))

    def check(entry: games_by_id.Entry) -> dict[str, object]:
        tried.append(entry.name)
        return {"ok": True}

    monkeypatch.setattr(games_by_id, "checked", check)
    monkeypatch.setattr(games_by_id, "trained", lambda entry, seconds: {"ok": True, "frames": 9})
    assert games_by_id.main(["--json", str(path), "--games", "3", "--seconds", "1"]) == 0
    found = json.loads(path.read_text())["games"]
    assert tried == [GAMES[1].name, GAMES[2].name]
    assert found[GAMES[0].name] == {**well, "commit": "before", "seconds": 30.0}
    assert [found[entry.name]["training"]["frames"] for entry in GAMES[:3]] == [7, 9, 9]
    assert found[GAMES[2].name]["seconds"] == 1.0
