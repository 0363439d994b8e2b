"""Games by name, by entry point, and from a user's file."""

import subprocess
import sys
from dataclasses import replace
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from pbt.envs import registry
from pbt.envs.contract import EnvSpec, Game
from pbt.envs.testing.check import check_game
from pbt.errors import EnvError

PARALLEL = '''
"""A game of one's own."""
import random
import numpy as np
from gymnasium import spaces
from pettingzoo import ParallelEnv

NUMBER = 3

class Guess(ParallelEnv):
    metadata = {"name": "guess"}
    possible_agents = ["a", "b"]
    def __init__(self, rounds=2, noise=None):
        self.rounds, self.noise = rounds, noise
    def observation_space(self, agent): return spaces.Discrete(4)
    def action_space(self, agent): return spaces.Discrete(4)
    def draw(self):
        draws = {"seed": lambda: int(self.rng.integers(4)), "world": lambda: random.randrange(4)}
        return draws.get(self.noise, lambda: 0)()
    def reset(self, seed=None, options=None):
        self.agents, self.left = list(self.possible_agents), self.rounds
        self.rng = np.random.default_rng(seed)
        return dict.fromkeys(self.agents, self.draw()), {a: {} for a in self.agents}
    def step(self, actions):
        self.left -= 1
        seen, over = {a: self.draw() for a in self.agents}, {a: self.left == 0 for a in self.agents}
        rewards = {a: float(actions[a]) for a in self.agents}
        no = dict.fromkeys(self.agents, False)
        infos = {a: {} for a in self.agents}
        if not self.left: self.agents = []
        return seen, rewards, over, no, infos

def fixed(rounds=2):
    """Two guesses."""
    return Guess(rounds)
def seeded(): return Guess(8, "seed")
def unseeded(): return Guess(8, "world")
class Carried(Guess):
    """The seed of its last game shows at the beginning of the next one."""
    before = 0
    def reset(self, seed=None, options=None):
        seen, infos = super().reset(seed)
        seen, self.before = dict.fromkeys(seen, self.before % 4), seed or 0
        return seen, infos
def carried(): return Carried(2)
def gym():
    import gymnasium
    return gymnasium.make("CartPole-v1")
def aec():
    from pettingzoo.classic.rps.rps import env
    return env()
def nothing(): pass
def failing(): raise LookupError("no such level")
'''


@pytest.fixture
def game_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "my_game.py"
    path.write_text(PARALLEL)
    return path


def test_names_and_unknown_names() -> None:
    assert "connect_four" in registry.names()
    with pytest.raises(
        EnvError,
        match=(
            r"env 'conect_four' is not known; did you mean 'connect_four'\? Registered: "
            r".*tictactoe"
        ),
    ):
        registry.spec("conect_four")
    with pytest.raises(EnvError, match=r"env 'zzz' is not known\. Registered: "):
        registry.spec("zzz")


def test_nothing_here_needs_torch_and_names_need_no_game() -> None:
    code = (
        "import sys, pbt.envs.registry as r, pbt.envs.testing.check\n"
        "r.names(), r.spec('connect_four')\n"
        "assert 'pettingzoo' not in sys.modules and 'pygame' not in sys.modules\n"
        "r.spec('connect_four').make(); assert 'torch' not in sys.modules"
    )
    root = Path(__file__).parents[3]
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code],
        cwd=root,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr


def test_entry_points(monkeypatch: pytest.MonkeyPatch) -> None:
    points = [
        EntryPoint("theirs", "pbt.envs.classic.connect_four:SPEC", registry.ENTRY_POINT_GROUP),
        EntryPoint("made", "tests.pbt.envs.test_registry:plugin", registry.ENTRY_POINT_GROUP),
        EntryPoint("wrong", "pbt.envs.classic.connect_four:ROWS", registry.ENTRY_POINT_GROUP),
        EntryPoint("gone", "no_such_package:SPEC", registry.ENTRY_POINT_GROUP),
        EntryPoint("path", "os.path:sep.join", registry.ENTRY_POINT_GROUP),
        EntryPoint("text", "builtins:str", registry.ENTRY_POINT_GROUP),
    ]
    monkeypatch.setattr(
        registry, "entry_points", lambda group: points if group == "pbt_arena.envs" else []
    )
    assert "theirs" in registry.names()
    assert registry.spec("theirs").name == "connect_four"
    with pytest.raises(
        EnvError,
        match=(
            r"env 'gone' \(entry point 'no_such_package:SPEC'\) failed to load: "
            r"ModuleNotFoundError"
        ),
    ):
        registry.spec("gone")
    with pytest.raises(EnvError, match="env 'wrong' .*failed to load"):
        registry.spec("wrong")
    with pytest.raises(EnvError, match="env 'text' .* gave str; expected an EnvSpec"):
        registry.spec("text")


def test_files_are_refused_unless_allowed(game_file: Path) -> None:
    for name in (
        "./my_game.py:fixed",
        str(game_file) + ":fixed",
        "my_game.py:fixed",
        "../x/y:fixed",
    ):
        with pytest.raises(EnvError, match="only the local command line runs code from files"):
            registry.spec(name)


@pytest.mark.parametrize(
    ("function", "replayable", "chance"),
    [
        ("fixed", True, False),
        ("seeded", True, True),
        ("unseeded", False, True),
        ("carried", False, True),
        ("gym", True, True),
        ("aec", True, False),
    ],
)
def test_chance_and_replay_of_a_users_game_are_measured(
    game_file: Path, function: str, replayable: bool, chance: bool
) -> None:
    found = registry.spec(f"./my_game.py:{function}", allow_files=True)
    assert isinstance(found, EnvSpec)
    assert (found.replayable, found.chance) == (replayable, chance)
    report = check_game(found, seeds=4)
    assert (report.problems, report.replayable, report.seed_matters) == ((), replayable, chance)


def test_options_reach_the_users_function(game_file: Path) -> None:
    found = registry.spec("./my_game.py:fixed", allow_files=True)
    assert found.description == "Two guesses."
    game = found.make(rounds=1)
    game.reset(0)
    assert all(turn.over for turn in game.step({0: (3,), 1: (1,)}))
    assert game.outcome().ranking == (0, 1)
    with pytest.raises(EnvError, match="fixed\\(\\) raised TypeError: .*'speed'"):
        found.make(speed=1)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("./missing.py:f", "no file .*missing.py; expected a Python file"),
        ("./my_game.py", "names no function"),
        (
            "./my_game.py:fixd",
            "no function 'fixd'; expected a function of the file: it has Guess, fixed, seeded",
        ),
        ("./my_game.py:NUMBER", "'NUMBER' is a int, not a function"),
        ("./my_game.py:nothing", "its function returned NoneType; expected a PettingZoo"),
        (
            "./my_game.py:failing",
            "failing\\(\\) raised LookupError: no such level\nTraceback .*my_game.py.*in failing",
        ),
        ("./broken.py:f", "loading broken.py raised SyntaxError"),
        ("./needy.py:f", "'no_such_module' is neither installed nor beside needy.py: install it"),
    ],
)
def test_mistakes_in_a_users_file_are_named(game_file: Path, name: str, message: str) -> None:
    Path("broken.py").write_text("def f(:\n")
    Path("needy.py").write_text("import no_such_module\n")
    with pytest.raises(EnvError, match="(?s)" + message):
        registry.spec(name, allow_files=True)


def test_a_users_file_does_not_shadow_modules(game_file: Path) -> None:
    Path("json.py").write_text(PARALLEL)
    registry.spec("./json.py:fixed", allow_files=True)
    import json

    assert json.loads("[1]") == [1]


def _without_a_window(**options: object) -> Game:
    raise RuntimeError("no window")


BROKEN = replace(registry.spec("tictactoe"), name="broken", make=_without_a_window)


def test_a_game_that_cannot_be_made_is_named_with_the_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(registry.BUILTIN, "broken", (__name__, "BROKEN"))
    with pytest.raises(EnvError, match=rf"broken could not be made: .* \({__file__}:\d+\); fix"):
        registry.spec("broken").make()
