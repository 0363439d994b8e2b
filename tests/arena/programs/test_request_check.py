"""Work that cannot be done is found before anything is stored; so are missing devices."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import torch

from arena.data.paths import league_path, population_paths
from arena.league.database import open_league
from arena.league.match_requests import RequestedMatch
from arena.league.populations import create_population, open_incarnation
from arena.league.requested_work import (
    RequestedComparison,
    RequestedReturns,
    RequestedTournament,
    Work,
)
from arena.league.retention import mark_weights_removed
from arena.league.writer import LeagueWriter
from arena.matches.compare import read_kept, write_kept
from arena.programs.config_check import check
from arena.programs.request_check import problems_of
from arena.programs.requested_comparison import comparison_of
from pbt.config.load import config_from_table
from tests.arena.league.samples import snapshot


def asked(*players: str, env: str | None = "connect_four") -> RequestedMatch:
    return RequestedMatch(players, env, None, 1, False, None)


def problem_of(match: RequestedMatch, data: Path, place: str = "/players") -> str | None:
    """The only problem, which has this place."""
    problems = problems_of(match, data)
    if not problems:
        return None
    ((found, text),) = problems
    assert found == place
    return text


@pytest.mark.parametrize(
    ("match", "said"),
    [
        (asked("random", "random", "random"), "connect_four has 2 seats, and 3 players"),
        (asked("random", "one/m0"), "there is no league"),
        (asked("random", "nonsense"), "nonsense"),
        (asked("random", "random", env="conect_four"), "connect_four"),
        (asked("random", "random", env=None), "none of them says which game"),
    ],
)
def test_a_match_that_cannot_be_played_has_a_problem(
    tmp_path: Path, match: RequestedMatch, said: str
) -> None:
    problem = problem_of(match, tmp_path)
    assert problem is not None and said in problem


def write_population(data: Path, name: str, env: Mapping[str, Any], *letters: str) -> None:
    """A population of the league whose member m0 has these snapshots, with files for them."""
    config = config_from_table({"env": dict(env)}, "test").model_dump(mode="json")
    paths = population_paths(data, name)
    paths.snapshots.mkdir(parents=True)
    with open_league(league_path(data)) as league:
        made = create_population(league, name, str(env["name"]), config, {}, [("m0", "player")])
        with LeagueWriter(league, open_incarnation(league, made, os.getpid())) as writer:
            for number, letter in enumerate(letters, start=1):
                writer.snapshot(snapshot(letter, frames=1000 * number))
                (paths.snapshots / f"{letter * 64}.safetensors").write_bytes(b"weights")


def remove_weights(data: Path, name: str, letter: str) -> None:
    """As retention does."""
    with open_league(league_path(data)) as league:
        mark_weights_removed(league, [letter * 64], name)
    (population_paths(data, name).snapshots / f"{letter * 64}.safetensors").unlink()


def test_players_of_different_games_cannot_meet(tmp_path: Path) -> None:
    write_population(tmp_path, "one", {"name": "connect_four"}, "a")
    write_population(tmp_path, "two", {"name": "tic_tac_toe"}, "b")
    mixed = problem_of(asked("one/m0", "two/m0", env=None), tmp_path)
    assert mixed is not None and "expected players of one game" in mixed
    other = problem_of(asked("one/m0", "random", env="tic_tac_toe"), tmp_path, "/env")
    assert other is not None and other.startswith("`env` tic_tac_toe: one/m0@1k plays connect_four")
    assert problem_of(asked("one/m0", "random", env=None), tmp_path) is None


def test_weights_that_are_gone_cannot_play(tmp_path: Path) -> None:
    """Whether retention removed them, or their file is lost."""
    write_population(tmp_path, "one", {"name": "connect_four"}, "a", "b", "c")
    remove_weights(tmp_path, "one", "b")
    (population_paths(tmp_path, "one").snapshots / f"{'c' * 64}.safetensors").unlink()
    said = {
        "b" * 64: "its weights were removed",
        "one/m0@2k": "removed; the nearest before it that still plays is one/m0@1k",
        "one/m0": "its weights are lost: no file cccc",
        "c" * 64: "its weights are lost",
    }
    for name, words in said.items():
        problem = problem_of(asked(name, "random", env=None), tmp_path)
        assert problem is not None and words in problem, (name, problem)
    assert problem_of(asked("one/m0@1k", "random", env=None), tmp_path) is None


COMMAND_WORDS = re.compile(r"(^|[\s(`])--(?!allow)\w|`arena (?!env list)")
CONFIG: dict[str, Any] = {"env": {"name": "connect_four"}}
ROLES: dict[str, Any] = {"env": {"name": "mpe", "options": {"scenario": "simple_world_comm"}}}
OTHER = {**CONFIG, "learning": {"gamma": 0.9}}


def comparison(a: dict[str, Any], b: dict[str, Any]) -> RequestedComparison:
    return RequestedComparison("rates", a, b, frames=1024, seeds=1, games=2)


@pytest.mark.parametrize(
    ("work", "place", "said"),
    [
        (RequestedTournament(("random", "oneply"), None, 2, 1, 1, None), "/players", "which game"),
        (
            RequestedTournament(("random", "random"), "connect_four", 2, 1, 1, None),
            "/players",
            "random",
        ),
        (RequestedReturns(("unknown@best",), None, 2, 1, False, None), "/players", "no league"),
        (comparison(CONFIG, CONFIG), "/b", "A and B are the same configuration"),
        (comparison(CONFIG, {"env": {"name": "leduc_poker"}}), "/b/env/name", "leduc_poker"),
        (comparison(CONFIG, {"env": {"name": "tictactoe"}}), "/b/env", "expected one game"),
        (
            comparison(CONFIG, {"env": {**CONFIG["env"], "objective": "margin"}}),
            "/b/env/objective",
            "A counts in win, B in margin; expected one objective",
        ),
        (comparison(ROLES, {**ROLES, "learning": {"gamma": 0.9}}), "/a/env/name", "fill two"),
        (comparison({"learning": {"gamma": 7}, **CONFIG}, OTHER), "/a/learning/gamma", "gamma = 7"),
        (comparison(CONFIG, {"env": {"name": "./game.py:Game"}}), "/b/env", "game.py"),
        (
            comparison(CONFIG, {**CONFIG, "learning": {"learning_rate": 0.5}}),
            "/b/learning/learning_rate",
            "learning_rate",
        ),
        (
            comparison(CONFIG, {**CONFIG, "population": {"members": 99999}}),
            "/b/population/members",
            "",
        ),
        (comparison({**CONFIG, "no": {}}, OTHER), "/a/no", "unknown"),
    ],
)
def test_other_work_that_cannot_be_done_has_a_problem_with_its_place(
    tmp_path: Path, work: Work, place: str, said: str
) -> None:
    found = problems_of(work, tmp_path)
    assert [where for where, _ in found] == [place], found
    assert said in found[0][1]
    if isinstance(work, RequestedComparison):
        assert not COMMAND_WORDS.search(found[0][1]), "the caller types no command"


def test_a_comparison_that_was_begun_with_other_values_has_a_problem_with_each(
    tmp_path: Path,
) -> None:
    begun = comparison_of(comparison(CONFIG, OTHER), tmp_path)
    write_kept(begun, read_kept(begun))
    other = {**CONFIG, "learning": {"gamma": 0.8}}
    asked_now = RequestedComparison("rates", CONFIG, other, frames=2048, seeds=1, games=4)
    found = dict(problems_of(asked_now, tmp_path))
    assert found["/games"] == "4: found 2"
    assert found["/b/learning/gamma"] == "learning.gamma = 0.8: found 0.9"
    assert found["/frames"] == "2048: found 1024"
    assert "another name" in found["/name"]
    assert len(found) == 4 and not COMMAND_WORDS.search(" ".join(found.values()))


@pytest.mark.parametrize(
    "work",
    [
        RequestedTournament(("random", "oneply"), "connect_four", 2, 1, 1, None),
        RequestedReturns(("random",), "connect_four", 2, 1, False, None),
        comparison(CONFIG, OTHER),
    ],
)
def test_other_work_that_can_be_done_has_none(tmp_path: Path, work: Work) -> None:
    assert list(problems_of(work, tmp_path)) == []


def test_a_name_that_a_population_has_is_not_taken_for_a_comparison(tmp_path: Path) -> None:
    paths = population_paths(tmp_path, "rates-a1")
    paths.config.parent.mkdir(parents=True)
    paths.config.write_text("")
    ((place, said),) = problems_of(comparison(CONFIG, OTHER), tmp_path)
    assert place == "/name" and "rates-a1 exists already" in said


def test_one_that_can_be_played_has_none(tmp_path: Path) -> None:
    assert problem_of(asked("random", "oneply"), tmp_path) is None


@pytest.mark.skipif(torch.cuda.device_count() > 7, reason="the device exists")
def test_a_device_that_the_machine_lacks_is_refused() -> None:
    config = {"env": {"name": "connect_four"}, "runtime": {"learner_device": "cuda:7"}}
    (problem,) = check(config).problems
    assert "cuda:7" in problem and "this machine has" in problem
    assert check({"env": {"name": "connect_four"}}).problems == ()


def test_an_edit_of_a_stored_config_is_not_refused_for_a_bound_of_now() -> None:
    table = {"env": {"name": "connect_four"}, "learning": {"value_coef": 500.0}}
    assert "value_coef = 500" in check(table).problems[0]
    asked_by_service = subprocess.run(
        [sys.executable, "-P", "-m", "arena.programs.config_check"],
        input=json.dumps(table).encode(),
        capture_output=True,
        check=True,
    )
    assert json.loads(asked_by_service.stdout)["problems"] == []


def test_a_damaged_comparison_is_told_without_the_place_of_the_data(tmp_path: Path) -> None:
    (tmp_path / "comparisons").mkdir()
    (tmp_path / "comparisons/rates.json").write_text("{")
    ((place, said),) = problems_of(comparison(CONFIG, OTHER), tmp_path)
    assert place == "/name" and said.startswith("comparisons/rates.json: damaged")
