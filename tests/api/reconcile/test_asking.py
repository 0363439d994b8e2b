"""Programs that the service asks for one answer, and that give none."""

import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from api.http.problems import Problem
from api.reconcile import asking
from api.reconcile.replays import Replays
from arena.programs.config_check import check
from pbt.envs import registry
from pbt.envs.contract import Game
from tests.api.service import CONFIG, serving, settings

POPULATION = ("POST", "/v1/populations", {"name": "one", "config": CONFIG})
MATCH = ("POST", "/v1/evaluations", {"players": ["random", "random"], "env": "connect_four"})


def python(program: str) -> tuple[str, ...]:
    return (sys.executable, "-c", program)


@pytest.mark.parametrize(
    ("program", "words"),
    [
        ("import os; os.kill(os.getpid(), 9)", "was killed by SIGKILL"),
        ("import os; os.kill(os.getpid(), 14)", "took too long"),
        ("import time; time.sleep(60)", "took too long"),
        ("raise RuntimeError('secret words')", "exited with status 1"),
        ("print('no JSON')", "gave no result"),
        (None, "could not be started (No such file or directory)"),
    ],
)
def test_a_check_that_fails_is_no_fault_of_the_request(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    program: str | None,
    words: str,
) -> None:
    if "sleep" in (program or ""):
        monkeypatch.setattr(asking, "LIMIT_S", 0.3)
    command = ("/no/such/program",) if program is None else python(program)
    with serving(tmp_path, checker=command, request_checker=command) as service:
        for method, path, body in (POPULATION, MATCH):
            problem = service.call(method, path, body, status=503)
            assert problem["type"].endswith("check-failed") and problem["errors"] == []
            assert words in problem["detail"] and command[0] not in problem["detail"]
            assert "secret words" not in problem["detail"]
            listed = service.call("GET", path)
            assert listed["items"] == []
    if program is not None and "secret" in program:
        assert "secret words" in "".join(capfd.readouterr())


def test_a_game_that_cannot_be_made_is_a_fault_of_the_config(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def make(**options: Any) -> Game:
        raise RuntimeError("no window")

    game = SimpleNamespace(SPEC=replace(registry.spec("tictactoe"), name="broken", make=make))
    monkeypatch.setitem(sys.modules, "broken", game)
    monkeypatch.setitem(registry.BUILTIN, "broken", ("broken", "SPEC"))
    (problem,) = check(CONFIG | {"env": {"name": "broken"}}).problems
    assert problem.startswith("env: broken could not be made: RuntimeError: no window (")


def test_a_replay_that_dies_is_no_conflict(tmp_path: Path) -> None:
    replays = Replays(settings(tmp_path, replayer=python("import os; os.kill(os.getpid(), 9)")))
    with pytest.raises(Problem, match="the replay of game 7 was killed by SIGKILL") as told:
        replays.report(7)
    assert told.value.kind == "check-failed"
