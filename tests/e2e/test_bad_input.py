"""What people mistype: every problem in one line that names place and cure, exit code 2, and
nothing written.
"""

import hashlib
import shlex
from pathlib import Path

import pytest

from arena.cli.app import run
from tests.arena.tiny_populations import CONNECT_FOUR, train

GAME = '[env]\nname = "connect_four"\n'
EMPTY = hashlib.sha256(b"").hexdigest()
Output = pytest.CaptureFixture[str]


def tree(folder: Path) -> dict[str, str]:
    """Every path below a folder and the SHA-256 of what it holds; without Python's cache of a
    user's file, and what SQLite keeps for readers.
    """
    found = (
        path
        for path in folder.rglob("*")
        if "__pycache__" not in path.parts and not path.name.endswith("-shm")
    )
    hashes = {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        if path.is_file()
        else ""
        for path in found
    }
    return {
        name: found
        for name, found in hashes.items()
        if not (name.endswith("-wal") and found == EMPTY)
    }


def refused(capsys: Output, folder: Path, *arguments: str) -> list[str]:
    """The lines a command complains in, after checking that it exits with 2, prints no result
    and writes nothing.
    """
    before = tree(folder)
    code = run(arguments)
    captured = capsys.readouterr()
    assert code == 2, captured.err
    assert captured.out == ""
    assert tree(folder) == before
    return captured.err.splitlines()


# file -> what each line after the headline says
CONFIGS: dict[str, tuple[str, tuple[str, ...]]] = {
    "misspelt key": (
        GAME + "[learning]\nlearning_rat = 1e-3\n",
        (("learning.learning_rat: unknown key; did you mean learning_rate?"),),
    ),
    "misspelt section": (
        GAME + "[learnin]\ngamma = 0.9\n",
        ("learnin: unknown key; did you mean learning?",),
    ),
    "key in the wrong section": (
        GAME + "[learning]\nrollout_steps = 8\n",
        ("did you mean sampling.rollout_steps?",),
    ),
    "no game": ("seed = 3\n", ("env: missing; must be a table; add it",)),
    "text for a number": (
        GAME + '[learning]\ngamma = "0.9"\n',
        (('learning.gamma = "0.9": must be a number from 0 to 1; write 0.9 without quotes'),),
    ),
    "fraction for a whole number": (
        GAME + "[sampling]\nenvironments = 4.0\n",
        ("sampling.environments = 4.0: must be a whole number",),
    ),
    "out of range": (
        GAME + "[population]\nmembers = 0\n",
        (("population.members = 0: must be a whole number from 1 to 1000"),),
    ),
    "not a number": (
        GAME + "[learning]\nlearning_rate = nan\n",
        (("learning.learning_rate = nan: must be a number from 0 to 1"),),
    ),
    "bad choice": (
        GAME + '[model]\ncore = "rnn"\n',
        ('model.core = "rnn": must be one of "none", "gru", "lstm"',),
    ),
    "contradiction": (
        GAME + "[sampling]\nrollout_steps = 7\n",
        (("must be a multiple of sampling.rollout_steps = 7; try 2051"),),
    ),
    "bounds swapped": (
        GAME + "[pbt]\nlearning_rate_bounds = [0.1, 0.01]\n",
        ("the first must be no larger than the second; swap them",),
    ),
    "half a list": (
        GAME + "[pbt]\nshaping_bounds = [1.0]\n",
        (("pbt.shaping_bounds[1]: missing; must be a number greater than 0"),),
    ),
    "no TOML": (
        "[env]\nname = connect_four\n",
        (("line 2, column 8: not TOML: found 'name = connect_four'"),),
    ),
    "cut short": (GAME + "[model]\nhidden = [64,", ("end of file",)),
    "a device this machine has not": (
        GAME + '[runtime]\nplacement = "serial"\nlearner_device = "cuda:63"\n',
        ('runtime.learner_device = "cuda:63": this machine has ',),
    ),
    "placement that is not there": (
        GAME + '[runtime]\nplacement = "parallel"\n',
        (
            (
                'runtime.placement = "parallel": must be one of "auto", "serial", "inline", '
                '"central"; the default is "auto"'
            ),
        ),
    ),
    "neither a number nor auto": (
        GAME + '[sampling]\nenvironments = "atuo"\n[runtime]\nworkers = 0\n',
        (
            (
                'sampling.environments = "atuo": must be a whole number from 1 to 1000000 or '
                '"auto"; '
                'did you mean "auto"?'
            ),
            "runtime.workers = 0: must be",
        ),
    ),
    "device that is none": (
        GAME + '[runtime]\nlearner_device = "gpu"\n',
        (('runtime.learner_device = "gpu": must be one of "auto", "cpu", "cuda:N"'),),
    ),
    "unknown game": (
        '[env]\nname = "conect_four"\n',
        (("env.name: env 'conect_four' is not known; did you mean 'connect_four'?"),),
    ),
    "no such game file": (
        '[env]\nname = "./missing.py:make"\n',
        (("missing.py; expected a Python file; a path in a config begins in"),),
    ),
    "no such function": (
        '[env]\nname = "./mine.py:maek"\n',
        (("no function 'maek'; expected a function of the file: it has make"),),
    ),
    "file without a function": (
        '[env]\nname = "./mine.py"\n',
        (("env './mine.py' names no function; expected './my_game.py:function'"),),
    ),
    "option of no game": (
        GAME + "[env.options]\nboard = 9\n",
        (("env.options.board = 9: connect_four does not take this"),),
    ),
    "role of another game": (
        GAME + "[population.members]\nhider = 2\n",
        ("population.members.hider", "population.members.player: missing"),
    ),
    "member and term of no game": (
        GAME + "[members.m7]\nlearning_rate = 0.1\n[learning.shaping]\nfrags = 1.0\n",
        (
            "members.m7: no such member in this game; it has m0 to m3",
            ("learning.shaping.frags: no such reward term in this game; it has reward"),
        ),
    ),
    "everything at once": (
        (
            'sed = 1\nstop_at_frames = -1\n[env]\nname = ""\n[learning]\ngamma = '
            "2\n[sampling]\nrollout_steps = 7\n[evaluation]\nshare = 1.5\n"
        ),
        (
            "stop_at_frames = -1",
            'env.name = ""',
            "learning.gamma = 2",
            "evaluation.share = 1.5",
            "sed: unknown key; did you mean seed?",
            "learning.batch_steps = 2048",
        ),
    ),
}


@pytest.mark.parametrize("name", CONFIGS)
def test_a_malformed_config_is_refused_with_every_problem(
    name: str, tmp_path: Path, capsys: Output, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    text, expected = CONFIGS[name]
    (tmp_path / "bad.toml").write_text(text)
    (tmp_path / "mine.py").write_text("def make():\n    return None\n")
    headline, *lines = refused(capsys, tmp_path, "train", "bad.toml")
    assert (
        headline.startswith("error: ")
        and f"{len(expected)} problem" in headline
        and "bad" in headline
    )
    assert len(lines) == len(expected)
    for part in expected:
        assert sum(part in line for line in lines) == 1, f"{part!r} in exactly one of {lines}"


def test_mistakes_of_the_file_and_of_set_are_listed_together(
    tmp_path: Path, capsys: Output
) -> None:
    path = tmp_path / "bad.toml"
    path.write_text(GAME + "[learning]\ngama = 1\n")
    headline, *lines = refused(
        capsys,
        tmp_path,
        "train",
        str(path),
        "--set",
        "seed=-1",
        "--set",
        "pbt",
        "--set",
        "model.hidden=[1,",
    )
    assert "4 problems" in headline and len(lines) == 4
    assert sum(line.strip().startswith("--set ") for line in lines) == 3


# command line -> what its one line says
NAMES = {
    "train nowhere.toml": "nowhere.toml: no such file and no shipped config",
    "train": "give a config (arena train connect_four) or --resume NAME",
    "train . --name x": "a folder; expected a .toml file",
    "train good.toml --name 'My Population'": "try my-population",
    "train good.toml --name ../up": "must be 1 to 64 of a-z",
    "train good.toml --data good.toml": "cannot be made: Not a directory; name another with --data",
    "train --resume absent": "no population 'absent'",
    "stop absent": "no population 'absent'",
    "status absent": "no population 'absent'",
    "delete absent --yes": "no population 'absent'",
    "match random oneply": "none of them says which game is played; add --env NAME",
    "match random random --env conect_four": "did you mean 'connect_four'",
    "match random onepyl --env connect_four": "did you mean oneply?",
    "match random random random --env connect_four": (
        "connect_four has 2 seats, and 3 players were named"
    ),
    "match first@best random": "there is no league",
    "evaluate ../../etc/m0": "there is no league",
    "env check conect_four": "did you mean 'connect_four'",
    "env check ./missing.py:make": "expected a Python file",
    "config show nowhere": "no such file and no shipped config",
    "games first --kind trainig": "expected training or evaluation",
    "metrics first --out x.csv": "add --csv",
    "metrics first --telemetry --json": "--telemetry and --json: choose one",
}


@pytest.mark.parametrize("line", NAMES)
def test_a_mistyped_command_is_refused_in_one_line(
    line: str, tmp_path: Path, capsys: Output, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "good.toml").write_text(GAME)
    *headline, said = refused(capsys, tmp_path, *shlex.split(line))
    assert NAMES[line] in said
    assert len(headline) <= 1 and all(text.endswith("has 1 problem") for text in headline)


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data directory with one small population of two members, `first`."""
    data = tmp_path_factory.mktemp("trained") / "data"
    train(data, "first", {**CONNECT_FOUR, "stop_at_frames": 600})
    return data


# player names where there is a population
PLAYERS = {
    "first": (
        "is a whole population; expected one player of it: first@best, or a member such as first/m0"
    ),
    "frist@best": "did you mean",
    "first@bst": "first@bst",
    "first/m9": "population first has no member 'm9'; it has m0, m1",
    "first/m0@soon": "'soon' is no number of frames; expected one such as 800k, 1.2M or 3000000",
    "first/": "first/",
    "/m0": "player '/m0': found a file; expected",
    "@": "no population ''",
    "0123456789ab": "0123456789ab",
    "onepyl": "did you mean oneply?",
    "first/m0@best": "'best' is no number of frames",
    "../first/m0": "player '../first/m0': found a file; expected",
    "first; drop table games": "there is no player",
    "first/m0' OR '1'='1": "has no member",
}


@pytest.mark.parametrize("player", PLAYERS)
def test_a_player_that_nobody_is(player: str, trained: Path, capsys: Output) -> None:
    for arguments in (
        ["match", player, "random"],
        ["match", "random", player],
        ["evaluate", player],
    ):
        (said,) = refused(
            capsys, trained, *arguments, "--env", "connect_four", "--data", str(trained)
        )
        assert PLAYERS[player] in said


def test_edits_that_a_population_cannot_take_are_refused_together(
    trained: Path, capsys: Output
) -> None:
    edits = [
        "--set",
        "model.hidden=[8]",
        "--set",
        "env.name=tictactoe",
        "--set",
        "stop_at_frames=700",
    ]
    headline, *lines = refused(
        capsys, trained, "train", "--resume", "first", *edits, "--data", str(trained)
    )
    assert "2 problems" in headline and len(lines) == 2
    assert any("model.hidden" in line for line in lines) and any(
        "env.name" in line for line in lines
    )


def test_a_name_that_is_taken(trained: Path, tmp_path: Path, capsys: Output) -> None:
    (tmp_path / "first.toml").write_text(GAME)
    (said,) = refused(
        capsys, trained, "train", str(tmp_path / "first.toml"), "--data", str(trained)
    )
    assert "exists already" in said and "arena train --resume first" in said
