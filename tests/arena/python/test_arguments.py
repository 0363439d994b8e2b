"""Arguments of the functions for scripts are checked before anything is done: an error names the
argument, what was found, and what was expected, in words of a script.
"""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import arena
from arena.league.database import NoLeagueError
from arena.league.matches import MatchError
from pbt.errors import ConfigError, PbtError, PlayerError
from tests.arena.python.tiny import CONFIG

GAME = {"env": "tictactoe", "record": False}
ROW: dict[str, tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any], str]] = {
    "a match of a number": (arena.match, (5, "random"), GAME, "players: found (5, 'random')"),
    "a match in a number": (
        arena.match,
        ("random", "random"),
        {"data": 5},
        "data: found 5; expected a folder",
    ),
    "of a game": (arena.match, ("random", "random"), {"env": 5}, "env: found 5; expected the name"),
    "with options": (
        arena.match,
        ("random", "random"),
        {**GAME, "options": ["a"]},
        "options: found ['a']; expected a dictionary",
    ),
    "greedy": (arena.match, ("random", "random"), {**GAME, "greedy": "yes"}, "greedy: found 'yes'"),
    "record": (arena.match, ("random", "random"), {**GAME, "record": 1}, "record: found 1"),
    "told": (arena.match, ("random", "random"), {**GAME, "on_progress": 3}, "on_progress: found 3"),
    "an evaluation": (arena.evaluate, (5,), {}, "players: found [5]; expected a list of names"),
    "beside": (arena.evaluate, ("random", 5), {}, "players: found ['random', 5]"),
    "a text of players": (
        arena.tournament,
        ("src/m0",),
        {},
        "players: found 'src/m0'; expected a list of names",
    ),
    "a tournament": (arena.tournament, (5,), {}, "players: found 5; expected a list"),
    "of games": (
        arena.tournament,
        (["random", "oneply"],),
        {"games": 0},
        "games = 0: must be a whole number",
    ),
    "ratings": (arena.rate, (5,), {}, "population: found 5; expected the name of a population"),
    "of everyone": (arena.rate, (), {"everyone": "x"}, "everyone: found 'x'"),
    "of a function": (arena.rate, (), {"env": print}, "env: found <built-in function print>"),
    "exploitability": (arena.exploitability, (5,), {}, "name: found 5"),
    "histories": (
        arena.exploitability,
        ("x",),
        {"most_histories": 0},
        "most_histories: found 0; expected a whole number from 1 on",
    ),
    "a league": (arena.league, (5,), {}, "data: found 5; expected a folder"),
    "a player": (arena.load_player, (5,), {}, "name: found 5; expected the name of a player"),
    "its seed": (arena.load_player, ("random",), {"seed": "x"}, "seed: found 'x'"),
    "resumed": (arena.resume, (5,), {}, "name: found 5"),
    "strictly": (arena.resume, ("x",), {"strict": "no"}, "strict: found 'no'; expected True or"),
    "trained": (arena.train, (CONFIG, "x"), {"data": 5}, "data: found 5"),
    "trained a game": (arena.train, (CONFIG, "x"), {"env": 5}, "5: is no function"),
}


@pytest.mark.parametrize("row", ROW)
def test_another_kind_is_refused(row: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    function, given, named, words = ROW[row]
    with pytest.raises(ConfigError) as caught:
        function(*given, **named)
    assert words in str(caught.value)
    assert not any(tmp_path.iterdir())


@pytest.mark.parametrize("bounds", [(20, 0, 1), (20,), 5, "ab", (0, "20"), (20, 0), (True, 20)])
def test_a_sequential_test_has_two_numbers(bounds: object) -> None:
    with pytest.raises(MatchError) as caught:
        arena.match("random", "random", sprt=bounds, env="tictactoe")  # type: ignore[arg-type]
    assert f"sprt = {bounds!r}: expected (elo0, elo1), two numbers" in str(caught.value)
    assert "unpack" not in str(caught.value)


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("data")
    arena.train(CONFIG, "first", data=folder)
    return folder


def test_games_of_a_league_are_chosen_by_what_it_has(data: Path) -> None:
    league = arena.league(data)
    for given, words in (
        ({"kind": "bad"}, 'kind: found \'bad\'; expected "training" or "evaluation"'),
        ({"kind": ["training"]}, "kind: found ['training']"),
        ({"match": "1"}, "match: found '1'; expected the number of a match"),
        ({"match": 1}, "a match belongs to no population; choose one"),
    ):
        with pytest.raises(ConfigError) as caught:
            league.games("first", **given)
        assert words in str(caught.value)
    for ask in (league.games, league.members, league.snapshots, league.rounds):
        with pytest.raises(ConfigError, match="population: found 5"):
            ask(5)
    assert {game.kind for game in league.games("first", kind="training")} <= {"training"}


def test_errors_say_what_a_script_does(data: Path, tmp_path: Path) -> None:
    """An option of the command line stands beside the argument that is meant."""
    none = tmp_path / "none"
    wrong: list[tuple[type[PbtError], Callable[[], object]]] = [
        (NoLeagueError, lambda: arena.league(none)),
        (PlayerError, lambda: arena.match("first/m0", "random", data=none, record=False)),
        (PlayerError, lambda: arena.match("random", "oneply", data=data, record=False)),
        (PlayerError, lambda: arena.match("first/m0", "random", data=data, env="connect_four")),
        (PlayerError, lambda: arena.match("random", "random", data=data, options={"a": 1})),
        (
            MatchError,
            lambda: arena.match("random", "random", **GAME, fresh=True, greedy=True),
        ),
        (PlayerError, lambda: arena.train(CONFIG, "first", data=data)),
        (ConfigError, lambda: arena.resume("first", data=data, overrides=["seed=7"])),
        (ConfigError, lambda: arena.resume("first", data=data, overrides=["learning.gamma=7"])),
        (ConfigError, lambda: arena.resume("first", data=data, overrides=["learning.gamma"])),
    ]
    for kind, call in wrong:
        with pytest.raises(kind) as caught:
            call()
        told = str(caught.value)
        option = re.search(r"(^|\s)--[a-z]|`arena train", told)
        assert option is None or "in Python " in told, told
