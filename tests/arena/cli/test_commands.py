"""`arena config`, `arena doctor`, `arena env`: what they print, their exit codes, and that they
leave nothing behind.
"""

import json
import re
import tomllib
from pathlib import Path

import pytest

from arena.cli.app import run
from arena.cli.env import report_lines
from arena.league.writer import LeagueWriter
from pbt.config.load import load_config
from pbt.envs.testing.check import CheckReport
from tests.arena.league.samples import game, new_league
from tests.served import Served

CONFIG = 'seed = 4\n[env]\nname = "connect_four"\n'
Output = pytest.CaptureFixture[str]


@pytest.fixture
def config(tmp_path: Path) -> Path:
    path = tmp_path / "run.toml"
    path.write_text(CONFIG, encoding="utf-8")
    return path


def test_config_show_prints_toml_that_reads_as_the_same_config(
    config: Path, capsys: Output, tmp_path: Path
) -> None:
    assert run(["config", "show", str(config), "--set", "learning.gamma=0.5"]) == 0
    again = tmp_path / "again.toml"
    again.write_text(capsys.readouterr().out, encoding="utf-8")
    assert load_config(again) == load_config(config, ["learning.gamma=0.5"])


def test_config_show_tells_origins(config: Path, capsys: Output) -> None:
    assert run(["config", "show", str(config), "--origin", "--set", "learning.gamma=0.5"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert {"seed = 4  # file", "gamma = 0.5  # --set", "epochs = 10  # default"} <= set(lines)
    assert tomllib.loads("\n".join(lines))["seed"] == 4


def test_config_show_json(config: Path, capsys: Output) -> None:
    assert run(["config", "show", str(config), "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == load_config(config).model_dump(mode="json")


def test_config_schema_is_json(capsys: Output) -> None:
    assert run(["config", "schema"]) == 0
    assert json.loads(capsys.readouterr().out)["required"] == ["env"]


def test_bad_configs_exit_2_and_write_nothing(config: Path, capsys: Output, tmp_path: Path) -> None:
    before = sorted(tmp_path.rglob("*"))
    assert run(["config", "show", str(config), "--set", "learning.gama=1", "--set", "seed=-1"]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert len(captured.err.splitlines()) == 3
    assert sorted(tmp_path.rglob("*")) == before


def test_doctor_finds_this_machine_fit_and_leaves_nothing(capsys: Output, tmp_path: Path) -> None:
    assert run(["doctor", "--data", str(tmp_path / "data"), "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["ok"]
    said = {check["check"]: check["text"] for check in report["checks"]}
    assert {
        "Python",
        "PyTorch",
        "GPU",
        "queues",
        "precision",
        "cores",
        "memory",
        "disk",
        "data folder",
        "SQLite",
        "processes",
    } <= said.keys()
    assert "placement is" in said["GPU"] or "placement inline" in said["GPU"]
    assert "a training uses" in said["cores"] and "faster-fifo" in said["queues"]
    assert list(tmp_path.iterdir()) == []


def test_doctor_tells_how_matches_of_doom_are_kept_in_step(
    capsys: Output, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On every CPU, also on one without bfloat16."""
    monkeypatch.setattr("pbt.models.precision.has_bfloat16", lambda device: False)

    def said() -> list[tuple[str, str]]:
        assert run(["doctor", "--data", str(tmp_path), "--json"]) == 0
        return [
            (found["state"], found["text"])
            for found in json.loads(capsys.readouterr().out)["checks"]
            if found["check"] == "Doom matches"
        ]

    monkeypatch.setattr("pbt.native.doom_preload", lambda: tmp_path / "doom_preload.so")
    assert said() == [("ok", "engines keep in step by a library of our own")]
    monkeypatch.setattr("pbt.native.doom_preload", lambda: None)
    (state, text), *others = said()
    assert (
        (state, others) == ("note", [])
        and "wait for every engine after every tic, several times slower" in text
        and "C compiler" in text
    )
    monkeypatch.setattr("sys.platform", "darwin")
    assert said() == []


def test_doctor_counts_a_service_among_the_processes(capsys: Output, tmp_path: Path) -> None:
    service = Served(tmp_path / "data")
    try:
        assert run(["doctor", "--data", str(tmp_path / "data")]) == 0
        told = capsys.readouterr().out
        assert re.search(rf"running now: pid .*\b{service.process.pid}\b", told)
    finally:
        service.stop()


def test_doctor_reads_the_league(capsys: Output, tmp_path: Path) -> None:
    league, incarnation = new_league(tmp_path)
    with LeagueWriter(league, incarnation) as writer:
        for number in range(2000):
            writer.game(game(number))
    league.close()
    assert run(["doctor", "--data", str(tmp_path)]) == 0
    assert f"ok      league          {league.path} is sound" in capsys.readouterr().out
    content = bytearray(league.path.read_bytes())
    content[len(content) // 2 :] = bytes(len(content) - len(content) // 2)
    league.path.write_bytes(content)
    assert run(["doctor", "--data", str(tmp_path)]) == 1
    assert "BROKEN  league" in capsys.readouterr().out


def test_doctor_exits_1_where_data_cannot_be_written(capsys: Output, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert run(["doctor", "--data", str(tmp_path / "file")]) == 1
    out = capsys.readouterr().out
    assert "BROKEN  data folder" in out and "--data" in out


def test_env_list_names_the_games(capsys: Output) -> None:
    assert run(["env", "list", "--json"]) == 0
    games = {game["name"]: game for game in json.loads(capsys.readouterr().out)}
    assert "oneply" in games["connect_four"]["opponents"]


def test_env_check_of_a_registered_game(capsys: Output) -> None:
    assert run(["env", "check", "rock_paper_scissors", "--seeds", "3"]) == 0
    out = capsys.readouterr().out
    assert out.splitlines()[0] == "rock_paper_scissors"
    assert "keeps the contract" in out and "steps/s" in out and "winners" in out


GAME = """
import gymnasium

class Walk(gymnasium.Env):
    observation_space = gymnasium.spaces.Discrete(4)
    action_space = gymnasium.spaces.Discrete(2)

    def reset(self, seed=None, options=None):
        super().reset(seed=seed)
        self.place = 0
        return 0, {}

    def step(self, action):
        self.place += 1
        return min(self.place, 3), 1.0, self.place >= 3, False, {}

class Liar(Walk):
    def step(self, action):
        return (9, *super().step(action)[1:])

def walk():
    return Walk()

def liar():
    return Liar()
"""


def test_env_check_of_a_users_file(
    capsys: Output, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "my_game.py").write_text(GAME)
    monkeypatch.chdir(tmp_path)
    assert run(["env", "check", "./my_game.py:walk", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["ok"] and report["games"] == 20 and report["replayable"]
    assert run(["env", "check", "./my_game.py:liar"]) == 1
    captured = capsys.readouterr()
    assert "observation" in captured.out + captured.err


def test_env_check_of_an_unknown_name_exits_2(capsys: Output) -> None:
    assert run(["env", "check", "conect_four"]) == 2
    assert "did you mean 'connect_four'" in capsys.readouterr().err


def test_a_failed_check_lists_its_problems_last() -> None:
    report = CheckReport(
        "x",
        ("seed 3: late", "seed 4: late"),
        2,
        ("a", "b"),
        ("player",),
        ("reward",),
        None,
        None,
        10.0,
        2.0,
        "by points",
        (1, 0),
        1,
        0,
        None,
    )
    lines = report_lines(report)
    assert lines[-3:] == ["breaks the contract in 2 places:", "  seed 3: late", "  seed 4: late"]
    assert any("not measured" in line for line in lines)
