"""Matches, evaluations, tournaments, ratings and the league, in scripts: what the command line
says, as records.
"""

import json
import signal
from dataclasses import FrozenInstanceError, asdict, fields, is_dataclass
from pathlib import Path
from typing import Any

import pandas
import pytest

import arena
from arena.cli.app import run
from arena.league.database import NoLeagueError
from arena.league.matches import MatchError
from arena.python.matches import MatchResult
from pbt.errors import ConfigError, PlayerError
from tests.arena.tiny_populations import CONNECT_FOUR, TWO_ROLES, train

Output = pytest.CaptureFixture[str]
PLAIN = (int, float, str, bool, type(None))


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("data")
    rounds = {"stop_at_frames": 700, "pbt": {"period_frames": 300, "warmup_frames": 0}}
    train(folder, "demo", {**CONNECT_FOUR, **rounds})
    return folder


@pytest.fixture(scope="module")
def played(data: Path) -> MatchResult:
    return arena.match("demo@best", "random", games=20, seed=5, data=data)


def said(capsys: Output, *words: str) -> Any:
    """What a command answers with --json."""
    assert run([*words, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def check_flat(records: list[Any]) -> None:
    """Records of one frozen class, whose values pandas and JSON take."""
    assert records and len({type(record) for record in records}) == 1
    assert is_dataclass(records[0])
    for record in records:
        for value in asdict(record).values():
            parts = value if isinstance(value, tuple) else (value,)
            assert all(isinstance(part, PLAIN) for part in parts)
    with pytest.raises(FrozenInstanceError):
        setattr(records[0], fields(records[0])[0].name, None)
    table = pandas.DataFrame(records)
    assert list(table.columns) == [one.name for one in fields(records[0])]
    assert len(table) == len(records)


def test_a_match_has_the_numbers_of_the_command_line(
    data: Path, played: MatchResult, capsys: Output
) -> None:
    words = ("match", "demo@best", "random", "--games", "20", "--seed", "5", "--data", str(data))
    told = said(capsys, *words)
    changing = {"match", "head", "games_per_s", "resume"}
    own = played.report()
    assert {k: v for k, v in own.items() if k not in changing} == {
        key: value for key, value in told.items() if key not in changing
    }
    numbers = ("score", "low", "high", "elo", "elo_low", "elo_high", "wins", "draws", "losses")
    assert [getattr(played, name) for name in numbers] == [told[name] for name in numbers]
    assert played.players == (told["a"]["name"], told["b"]["name"])
    assert played.verdict == told["verdict"]
    check_flat(played.records())
    assert len(played.records()) == played.games == 20
    assert arena.league(data).games(match=played.match) == played.records()


def test_a_match_of_scripted_players_touches_no_signal_and_no_league(tmp_path: Path) -> None:
    before = signal.getsignal(signal.SIGINT)
    progress: list[tuple[int, int]] = []
    result = arena.match(
        "oneply",
        "random",
        env="connect_four",
        games=4,
        record=False,
        data=tmp_path,
        on_progress=lambda *done: progress.append(done),
    )
    assert signal.getsignal(signal.SIGINT) == before
    assert result.match is None and progress[-1] == (4, 4)
    assert {game.winner for game in result.records()} <= {"oneply", "random", None}
    assert not list(tmp_path.iterdir())
    test = arena.match(
        "oneply", "random", env="connect_four", sprt=(0, 20), record=False, data=tmp_path
    )
    assert test.sprt == "accept H1" and test.games < test.planned


def test_wrong_matches_say_why(data: Path) -> None:
    with pytest.raises(MatchError, match="players named: 1"):
        arena.match("random", env="connect_four", data=data)
    with pytest.raises(PlayerError, match="there is no player 'radnom'; did you mean random"):
        arena.match("demo@best", "radnom", data=data)
    with pytest.raises(MatchError, match="elo0 below elo1"):
        arena.match("demo@best", "random", sprt=(20, 0), data=data)
    with pytest.raises(ConfigError, match="expected one of win"):
        arena.match("demo@best", "random", objective="winning", data=data)
    given: dict[str, Any] = {"gamess": 3}
    with pytest.raises(TypeError, match="arena.match has no keyword 'gamess'; did you mean games"):
        arena.match("demo@best", "random", data=data, **given)
    given = {"sprt": 5}
    with pytest.raises(MatchError, match="sprt = 5"):
        arena.match("demo@best", "random", data=data, **given)
    assert len(arena.league(data).matches()) <= 2, "none of them was stored"


@pytest.mark.parametrize(
    ("name", "wrong"),
    [("games", -5), ("games", 0), ("games", 2.0), ("games", True), ("seed", -1), ("games", 10**7)],
)
def test_numbers_have_the_bounds_of_the_command_line(
    tmp_path: Path, name: str, wrong: object
) -> None:
    said = f"{name} = {wrong!r}: must be a whole number from"
    given: dict[str, Any] = {name: wrong, "env": "connect_four", "data": tmp_path}
    with pytest.raises(ConfigError, match=said):
        arena.match("random", "random", record=False, **given)
    with pytest.raises(ConfigError, match=said):
        arena.tournament(["random", "oneply"], **given)
    if name == "games":
        given["episodes"], said = given.pop("games"), said.replace("games", "episodes")
    with pytest.raises(ConfigError, match=said):
        arena.evaluate("random", **given)
    with pytest.raises(ConfigError, match="concurrency = 0"):
        arena.match("random", "random", env="connect_four", record=False, concurrency=0)
    with pytest.raises(ConfigError, match="rounds = 1001"):
        arena.tournament(["random", "oneply"], env="connect_four", rounds=1001, data=tmp_path)
    assert not list(tmp_path.iterdir())


def test_an_evaluation_has_the_numbers_of_the_command_line(data: Path, capsys: Output) -> None:
    words = ("evaluate", "demo@best", "random", "--episodes", "6", "--data", str(data))
    told = said(capsys, *words)
    result = arena.evaluate("demo@best", "random", episodes=6, data=data)
    (beside,) = result.beside
    for own, other in ((result, told), (beside, told["beside"][0])):
        for name in ("mean_return", "low", "high", "episodes", "seed"):
            assert getattr(own, name) == other[name]
    lead = result.lead_over(beside)
    assert (None if lead is None else list(lead)) == told["beside"][0]["lead"]
    check_flat(result.records())
    assert len(result.records()) == 12


def test_a_tournament_has_the_numbers_of_the_command_line(data: Path, capsys: Output) -> None:
    names = ("demo/m0", "demo/m1", "random")
    result = arena.tournament(names, games=4, data=data)
    told = said(capsys, "tournament", *names, "--games", "4", "--data", str(data))
    assert [match.match for match in result.matches] == [one["match"] for one in told["matches"]]
    assert [match.score for match in result.matches] == [one["score"] for one in told["matches"]]
    check_flat(result.records())
    assert {(row.player, row.rating, row.rank) for row in result.records()} == {
        (row["player"], row["elo"], row["rank"]) for row in told["players"]
    }
    with pytest.raises(PlayerError, match="expected two or more"):
        arena.tournament(["random"], env="connect_four", data=data)


def test_ratings_are_those_of_the_command_line(data: Path, capsys: Output) -> None:
    told = said(capsys, "league", "demo", "--data", str(data))
    ratings = arena.rate("demo", data=data)
    check_flat(ratings.records())
    assert {(row.id, row.rating, row.low, row.rank, row.games) for row in ratings.records()} == {
        (row["id"], row["elo"], row["low"], row["rank"], row["games"]) for row in told["players"]
    }
    best = next(row for row in ratings.records() if row.best)
    assert (best.player, best.id) == (ratings.best, told["best"])
    assert [table.title for table in arena.rate(data=data).tables] == ["population demo"]
    (of_game,) = arena.rate(env="connect_four", data=data).tables
    assert {row.player for row in of_game.records()} >= {"random"} and not of_game.best
    with pytest.raises(PlayerError, match="demo"):
        arena.rate("dmeo", data=data)


def test_where_returns_count_the_ratings_are_mean_returns(tmp_path: Path, capsys: Output) -> None:
    alone = {
        **CONNECT_FOUR,
        "env": {"name": "cartpole"},
        "population": {"members": 1},
        "evaluation": {"final_games": 30},
    }
    train(tmp_path, "poles", {**alone, "stop_at_frames": 600})
    told = said(capsys, "league", "poles", "--data", str(tmp_path))
    ratings = arena.rate("poles", data=tmp_path)
    assert {row.objective for row in ratings.records()} == {"return"}
    assert [(row.id, row.rating, row.rank) for row in ratings.records()] == [
        (row["id"], row["mean_return"], row["rank"]) for row in told["players"]
    ]
    assert [row.id for row in ratings.records() if row.best] == [told["best"]]


def test_the_league_is_read_as_records(data: Path, played: MatchResult) -> None:
    view = arena.league(str(data))
    for records in (
        view.populations(),
        view.members("demo"),
        view.snapshots(),
        view.games("demo"),
        view.rounds("demo"),
        view.hyperparameters("demo"),
        view.matches(),
    ):
        check_flat(records)
    assert [one.name for one in view.populations()] == ["demo"]
    assert view.members() == view.members("demo")
    games = view.games("demo", kind="evaluation")
    assert games and len(games) < len(view.games()) == view.populations()[0].games
    names = {one.name for one in view.snapshots()} | {"random", "oneply", "m0", "m1"}
    assert {player for game in view.games() for player in game.players} <= names
    rounds, values = view.rounds(), view.hyperparameters()
    assert {(one.member, one.round) for one in rounds} == {
        (one.member, one.round) for one in values if one.round
    }
    stored = next(one for one in view.matches() if one.match == played.match)
    assert (stored.score, stored.played, stored.players) == (played.score, 20, played.players)
    assert repr(view) == f"LeagueView({str(data / 'league.db')!r})"
    with pytest.raises(PlayerError, match="none-such"):
        view.members("none-such")
    with pytest.raises(MatchError, match="match 99"):
        view.games(match=99)


def test_the_league_can_be_called_whatever_was_imported(data: Path, tmp_path: Path) -> None:
    import arena.league.database as database

    assert arena.league.__name__ == "arena.league" and database.League
    assert arena.league(data).populations()
    with pytest.raises(NoLeagueError, match="nothing there yet"):
        arena.league(tmp_path)


def test_members_of_several_roles_have_a_best_each(tmp_path: Path) -> None:
    train(tmp_path, "tag", {**TWO_ROLES, "evaluation": {"share": 0.3, "final_games": 40}})
    ratings = arena.rate("tag", data=tmp_path)
    assert {row.role for row in ratings.records()} == {"hider", "seeker", None}
    best = [row.role for row in ratings.records() if row.best]
    assert len(best) == len(set(best)) and (ratings.best is None or len(best) == 1)
