"""Games by the ids of Gymnasium and PettingZoo."""

import sys
from dataclasses import replace
from functools import partial
from pathlib import Path

import pettingzoo
import pytest

from pbt.envs import registry
from pbt.envs.adapters.by_id import PETTINGZOO_GAMES
from pbt.envs.names import ALLOWED_VARIABLE
from pbt.envs.testing.check import check_game
from pbt.errors import EnvError, EnvNameError, EnvOptionsError


@pytest.fixture(autouse=True)
def _allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(ALLOWED_VARIABLE, "gymnasium:* pettingzoo:*")


def test_a_service_allows_what_its_operator_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(ALLOWED_VARIABLE, "gymnasium:CartPole-*")
    name = "pettingzoo:classic/rps_v2"
    assert registry.spec("gymnasium:CartPole-v1", measured=(True, True)).replayable
    with pytest.raises(EnvError, match=r"arena serve --allow-games 'pettingzoo:\*'"):
        registry.spec(name, measured=(True, True))
    assert registry.spec(name, measured=(True, True), allow_files=True).replayable


def test_an_id_is_a_game() -> None:
    env = registry.spec("gymnasium:CartPole-v1", options={"sutton_barto_reward": True})
    assert (env.replayable, env.chance) == (True, True)
    game = env.make(sutton_barto_reward=True)
    assert game.seat_names == ("player",)
    env = registry.spec("pettingzoo:classic/rps_v2", options={"max_cycles": 3})
    assert (env.replayable, env.chance) == (True, False)
    assert env.make(max_cycles=3).seat_names == ("player_0", "player_1")


def test_the_table_holds_what_the_installed_package_declares() -> None:
    folder = Path(pettingzoo.__file__).parent
    declared = {f"{path.parent.name}/{path.stem}" for path in folder.glob("*/*_v*.py")}
    assert declared <= PETTINGZOO_GAMES.keys()
    for game in declared:
        module = PETTINGZOO_GAMES[game].removeprefix("pettingzoo.").replace(".", "/")
        assert (folder / f"{module}.py").is_file()


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("gymnasium:CartPole-v9", "did you mean gymnasium:CartPole-v1"),
        ("gymnasium:os:CartPole-v1", "no id; expected letters"),
        ("gymnasium:../x", "no id; expected letters"),
        ("pettingzoo:classic/rps", "did you mean pettingzoo:classic/rps_v2"),
        ("pettingzoo:os.path", "is not among the"),
        ("pettingzoo:", "no id; expected letters"),
    ],
)
def test_a_text_is_looked_up_and_never_imported(name: str, said: str) -> None:
    before = set(sys.modules)
    with pytest.raises(EnvNameError, match=said):
        registry.spec(name)
    assert {key for key in set(sys.modules) - before if "pettingzoo.classic" in key} == set()


def test_what_is_missing_is_named_with_its_pip_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "multi_agent_ale_py", None)
    for module in [name for name in sys.modules if name.startswith("pettingzoo.atari")]:
        monkeypatch.delitem(sys.modules, module)
    with pytest.raises(EnvError, match=r"pip install 'pbt-arena\[atari\]'"):
        registry.spec("pettingzoo:atari/pong_v3")
    with pytest.raises(EnvError, match=r"pip install 'gymnasium\[box2d\]'"):
        registry.spec("gymnasium:LunarLander-v3")


def test_options_that_the_game_does_not_take_are_named() -> None:
    env = registry.spec("pettingzoo:classic/rps_v2", measured=(True, True))
    with pytest.raises(EnvOptionsError, match="speed = 3: .* does not take this: .*'speed'"):
        env.make(speed=3)


@pytest.mark.parametrize("option", ["render_mode", "disable_env_checker"])
def test_words_of_gymnasium_make_that_are_no_option_of_a_game_are_refused(option: str) -> None:
    env = registry.spec("gymnasium:CartPole-v1", measured=(True, True))
    with pytest.raises(EnvOptionsError, match=f"{option}: .*; leave it out"):
        env.make(**{option: "human"})


@pytest.mark.parametrize("value", ["/etc/passwd", "a.xml", "os:system", ["../x"], {"a": "b.c"}])
def test_options_that_may_be_files_are_for_the_local_command_line(value: object) -> None:
    env = registry.spec("gymnasium:CartPole-v1", measured=(True, True))
    with pytest.raises(EnvError, match="only the local command line opens files"):
        env.make(xml=value)
    local = registry.spec("gymnasium:CartPole-v1", measured=(True, True), allow_files=True)
    with pytest.raises(EnvOptionsError, match="does not take this"):
        local.make(xml=value)


@pytest.mark.parametrize(
    ("name", "seats"), [("pong_v3", 2), ("boxing_v2", 2), ("quadrapong_v4", 4), ("warlords_v3", 4)]
)
def test_ataris_games_of_several_players_find_their_cartridges(name: str, seats: int) -> None:
    env = registry.spec(f"pettingzoo:atari/{name}", measured=(True, True))
    report = check_game(replace(env, make=partial(env.make, max_cycles=60)), 3)
    assert report.problems == () and len(report.seats) == seats
    assert report.replayable
