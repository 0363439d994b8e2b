"""What 383d2e1 stored is read, played and trained on by this program. `make_stored.py` says what.

Everything is reached as users reach it: by the command line, by HTTP, by `load_player`.
"""

import sqlite3
import warnings
from collections.abc import Iterator
from contextlib import chdir, closing
from pathlib import Path
from typing import Any

import pytest

from tests.api.service import serving
from tests.fence import record, resumed
from tests.fence.answers import answer
from tests.fence.program import call

POPULATIONS = {"kept", "push", "doom", "served", "versus-a1", "versus-b1"}
EVALUATION = """
SELECT p.name, g.number FROM games g JOIN incarnations i ON i.id = g.incarnation_id
    JOIN populations p ON p.id = i.population_id WHERE g.kind = 1 AND g.voided = 0
"""
HASHES = "SELECT hex(trajectory_hash) FROM games WHERE match_id = ? ORDER BY environment, count"
STARTS = """
SELECT i.number, i.from_checkpoint FROM incarnations i JOIN populations p
    ON p.id = i.population_id WHERE p.name = ? ORDER BY i.number
"""
FRAMES = {"kept": 6_500, "push": 8_000, "doom": 6_000}


@pytest.fixture(autouse=True)
def _stored(tmp_path: Path) -> Iterator[None]:
    """Every test works in a folder of its own that holds the stored data."""
    record.unpack(tmp_path)
    with chdir(tmp_path):
        # A command that writes: it upgrades the league where this program has another schema.
        answer("anchor kept/m0@2_500")
        yield


def rows(asked: str, *values: object) -> list[Any]:
    """From the league."""
    with closing(sqlite3.connect("data/league.db")) as league:
        return league.execute(asked, values).fetchall()


def test_the_stored_populations_are_listed_with_their_results() -> None:
    listed = {entry["name"]: entry["state"] for entry in answer("populations")}
    assert listed.keys() == POPULATIONS
    assert (listed["kept"], listed["served"]) == ("stopped", "finished")
    snapshots = {snapshot for (snapshot,) in rows("SELECT snapshot_id FROM snapshots")}
    players = answer("league kept")["players"]
    assert {player["id"] for player in players if player["kind"] == "snapshot"} <= snapshots
    assert {player["kind"] for player in players} == {"snapshot", "scripted", "guest"}


def test_stored_rounds_follow_from_the_stored_games() -> None:
    report = answer("verify kept")
    assert (report["ok"], report["differences"]) == (True, [])
    assert report["rounds"] == len(rows("SELECT * FROM rounds")) > 6
    assert report["copies"] == len(rows("SELECT * FROM events WHERE kind = 'copy'")) > 0
    assert {step["kind"] for step in answer("lineage kept/m0")["steps"]} >= {"start", "copy"}


def test_a_member_that_joined_and_one_that_left_are_remembered() -> None:
    kinds = {kind for (kind,) in rows("SELECT kind FROM events WHERE member IN ('m0', 'm1')")}
    assert {"join", "leave"} <= kinds
    start = answer("lineage served/m1")["steps"][0]
    assert (start["member"], start["frames"]) == ("m0", 0)


@pytest.mark.parametrize("match", [1, 2, 3, 4])
def test_the_games_of_stored_matches_go_as_they_went(match: int) -> None:
    """Its moves, its returns, its end; the guest's moves, too."""
    games = rows(HASHES, match)
    assert games
    for place in range(len(games)):
        assert answer(f"replay match:{match}:{place}")["problems"] == []


@pytest.mark.parametrize("population", ["kept", "push", "served", "doom"])
def test_stored_evaluation_games_go_as_they_went(population: str) -> None:
    numbers = [number for name, number in rows(EVALUATION) if name == population]
    assert numbers
    for number in numbers[:8]:
        assert answer(f"replay {population}:{number}")["problems"] == []


def test_stored_snapshots_play_their_match_as_they_played_it() -> None:
    """Another machine may compute other last bits of the probabilities that moves are drawn from;
    they decide a move only where a draw falls between two choices to that bit.
    """
    again = answer("match kept/m0@2_500 kept/m1 --games 6 --seed 5")
    assert rows(HASHES, again["match"]) == rows(HASHES, 1)


def test_a_stored_snapshot_of_every_game_plays() -> None:
    for player in ("push/m0", "push/m1", "doom/m0", "served/m1", "imported/friend"):
        played = answer(f"evaluate {player} --episodes 2")
        assert (played["episodes"], played["errors"]) == (2, 0)


def test_an_exported_snapshot_is_imported_as_the_player_it_was() -> None:
    taken = answer("import beside/friend.safetensors --name again")
    exported = answer("export kept/m2 --out again.safetensors")
    assert taken["player"] == "imported/again"
    assert taken["snapshot_id"] == exported["snapshot_id"]
    assert Path("again.safetensors").read_bytes() == Path("beside/friend.safetensors").read_bytes()


def test_a_stored_comparison_is_told_again_without_a_training() -> None:
    words = "--set-b learning.gamma=0.9 --frames 300 --seeds 1 --games 4"
    told = answer(f"compare beside/versus.toml beside/versus.toml {words}")
    assert told["populations"] == {"a": ["versus-a1"], "b": ["versus-b1"]}
    assert len(rows("SELECT * FROM matches")) == 4


def test_a_stored_snapshot_plays_in_a_program_of_ones_own() -> None:
    from pettingzoo.classic import connect_four_v3

    with warnings.catch_warnings():
        # One that moved says so, and still works.
        warnings.simplefilter("ignore", DeprecationWarning)
        from arena.players import load_player
    player, game = load_player("kept/m1", "data"), connect_four_v3.env()
    game.reset(seed=1)
    assert 0 <= player.act(game.last()[0]) <= 6
    player.reset()


def test_the_service_shows_what_an_older_one_did(tmp_path: Path) -> None:
    with serving(tmp_path / "data") as service:
        shown = service.call("GET", "/v1/populations/served")
        assert (shown["status"]["state"], shown["spec"]["desired"]) == ("finished", "running")
        (done,) = service.call("GET", "/v1/evaluations")["items"]
        assert (done["state"], done["match"]) == ("SUCCEEDED", "3")
        assert service.call("GET", "/v1/operations/1")["state"] == "SUCCEEDED"
        events = service.call("GET", "/v1/populations/kept/events")["items"]
        assert {"checkpoint", "copy", "mutate"} <= {event["kind"] for event in events}
        assert service.call("GET", "/v1/populations/doom/films")["items"]


# --- trainings that go on ------------------------------------------------------------------------


def check_resumed(name: str) -> None:
    """It came to its end, and its rows say so without a gap."""
    verified = answer(f"verify {name}")
    assert (verified["ok"], verified["differences"]) == (True, [])
    (first, fresh), (second, checkpoint) = rows(STARTS, name)
    assert (first, fresh, second) == (1, None, 2) and checkpoint is not None
    for row in answer(f"metrics {name}"):
        assert row["frames"] >= FRAMES[name]


def expected_facts(name: str, folder: Path) -> resumed.Facts:
    """What programs came to on this machine before.

    Where it was never asked, what a second resume of the stored data comes to: equal bits again.
    """
    if (known := resumed.recorded(name)) is not None:
        return known
    folder.mkdir()
    record.unpack(folder)
    with chdir(folder):
        return resumed.resume(name)


def test_a_stored_training_goes_on_to_its_end(tmp_path: Path) -> None:
    rounds = answer("verify kept")["rounds"]
    facts = resumed.resume("kept")
    assert facts == expected_facts("kept", tmp_path / "once more")
    check_resumed("kept")
    assert answer("verify kept")["rounds"] == rounds + 3
    assert ("resume",) in rows("SELECT kind FROM events WHERE frames > 4000")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["push", "doom"])
def test_stored_trainings_of_other_games_go_on_to_their_end(name: str, tmp_path: Path) -> None:
    facts = resumed.resume(name)
    assert facts == expected_facts(name, tmp_path / "once more")
    check_resumed(name)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "placement"), [("kept", "inline"), ("push", "central"), ("doom", "inline")]
)
def test_stored_trainings_go_on_with_processes(name: str, placement: str) -> None:
    there = f"--set runtime.placement={placement} --set runtime.workers=2"
    done = answer(f"train --resume {name} {there}")
    assert (done["finished"], done["placement"]) == (True, placement)
    check_resumed(name)


@pytest.mark.slow
def test_a_stored_training_with_changed_members_goes_on() -> None:
    done = answer("train --resume served --set stop_at_frames=1_800")
    frames = {member["name"]: member["frames"] for member in done["members"]}
    assert done["finished"] and frames["m1"] >= 1_800
    assert call("verify", "served", "--data", "data").code == 0
