"""`arena rounds list` and the rounds in `arena verify`, on a real population: its rounds agree with
the rows, and no row can be altered without notice.
"""

import json
import random
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from arena.cli.app import run
from arena.data.paths import league_path
from arena.league.database import open_league
from arena.league.game_choice import GameFilter
from arena.league.game_rows import population_games
from pbt.records import GameRecord, PlayerRef
from tests.arena.league.altering import alter_games
from tests.arena.verification.forging import execute

CONFIG = """
stop_at_frames = 1500
[env]
name = "connect_four"
[model]
hidden = [16]
[sampling]
environments = 8
rollout_steps = 8
[learning]
batch_steps = 128
[pbt]
period_frames = 400
warmup_frames = 400
min_games = 5
score_games = 40
copy_gap = 0.0
mutation_probability = 0.5
[evaluation]
final_games = 2
"""
EDITS = (
    "stop_at_frames=2500",
    "pbt.copy_gap=0.1",
    "pbt.entropy_coef_bounds=[1e-5, 0.5]",
    "learning.learning_rate=0.002",
)
Output = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A population with copies and mutations, resumed once with edits."""
    folder = tmp_path_factory.mktemp("trained")
    (folder / "run.toml").write_text(CONFIG)
    data = folder / "data"
    assert run(["train", str(folder / "run.toml"), "--data", str(data), "--json"]) == 0
    edits = [word for edit in EDITS for word in ("--set", edit)]
    assert run(["train", "--resume", "run", *edits, "--data", str(data), "--json"]) == 0
    return data


@pytest.fixture
def data(trained: Path, tmp_path: Path) -> Path:
    """A copy to spoil."""
    return Path(shutil.copytree(trained, tmp_path / "data"))


def verify(data: Path, capsys: Output) -> tuple[int, dict[str, Any]]:
    capsys.readouterr()
    code = run(["verify", "run", "--replay", "none", "--data", str(data), "--json"])
    return code, json.loads(capsys.readouterr().out)


def rounds_of(data: Path) -> list[dict[str, Any]]:
    columns = ("id", "member", "round", "scores", "hyperparams", "rules", "directive")
    found = execute(data, f"SELECT {', '.join(columns)} FROM rounds ORDER BY id")
    return [
        {
            name: json.loads(value) if name in columns[3:] else value
            for name, value in zip(columns, row, strict=True)
        }
        for row in found
    ]


def store(data: Path, round_id: int, column: str, value: Any) -> None:
    execute(
        data,
        f"UPDATE rounds SET {column} = ? WHERE id = ?",
        json.dumps(value) if isinstance(value, list | dict) else value,
        round_id,
    )


def _generation(record: GameRecord, member: str) -> int:
    own = (seat.generation for seat in record.seats if seat.player == PlayerRef("member", member))
    return next(own)


def scored_game(data: Path, choose: random.Random) -> GameRecord:
    """Key of a training game inside the stored range of a score of one of its seats, and without
    a draw.
    """
    ranges = [
        (score["member"], score["first_game"], score["last_game"])
        for row in rounds_of(data)
        for score in row["scores"]
        if score["games"]
    ]
    member, first, last = choose.choice(ranges)
    wanted = GameFilter("training", (member,), first, last, voided=False)
    with open_league(league_path(data), read_only=True) as league:
        games = [one.record for one in population_games(league, "run", wanted)]
    # Games that the replaced weights had begun end in the range of the window, and do not count.
    first = _generation(games[0], member)
    counted = [game for game in games if _generation(game, member) == first]
    found = [
        game
        for game in counted
        if len({seat.player for seat in game.seats})
        == 2
        == len({seat.place for seat in game.seats})
    ]
    return choose.choice(found)


def test_a_real_population_agrees(trained: Path, capsys: Output) -> None:
    code, report = verify(trained, capsys)
    assert (code, report["differences"]) == (0, [])
    stored = rounds_of(trained)
    assert report["rounds"] == len(stored) >= 20
    assert report["scores"] == 4 * len(stored)
    assert report["copies"] == sum(row["directive"]["copy_from"] is not None for row in stored) > 0
    assert any(row["directive"]["mutated"] for row in stored)
    assert report["games_read"] > 100
    assert len({json.dumps(row["rules"]) for row in stored}) == 2, (
        "the edit at the resume is part of the test"
    )


def test_a_difference_names_round_member_and_values(data: Path, capsys: Output) -> None:
    row = rounds_of(data)[5]
    row["scores"][0]["objective"] += 0.125
    store(data, row["id"], "scores", row["scores"])
    capsys.readouterr()
    assert run(["verify", "run", "--replay", "none", "--data", str(data)]) == 1
    lines = capsys.readouterr().out.splitlines()
    (told,) = [
        line
        for line in lines
        if line.startswith(
            f"round {row['round']} of {row['member']}: score of {row['scores'][0]['member']}: "
            f"stored {row['scores'][0]['objective']!r}"
        )
    ]
    assert "recomputed" in told
    assert "rows or files were altered or lost" in lines[-1]


def alter(data: Path, record: GameRecord, changed: GameRecord | None) -> None:
    """Put another game, or none, in the place of a training game."""
    with open_league(league_path(data)) as league:
        alter_games(league, lambda one: changed if one == record else one)


def flip_places(data: Path, choose: random.Random) -> None:
    game = scored_game(data, choose)
    seats = tuple(replace(seat, place=1 - seat.place) for seat in game.seats)
    alter(data, game, replace(game, seats=seats))


def exchange_players(data: Path, choose: random.Random) -> None:
    game = scored_game(data, choose)
    a, b = game.seats
    seats = (replace(a, player=b.player), replace(b, player=a.player))
    alter(data, game, replace(game, seats=seats))


def delete_game(data: Path, choose: random.Random) -> None:
    alter(data, scored_game(data, choose), None)


def delete_any_game(data: Path, choose: random.Random) -> None:
    with open_league(league_path(data), read_only=True) as league:
        games = [one.record for one in population_games(league, "run", GameFilter("training"))]
    alter(data, choose.choice(games[:-1]), None)


def void_game(data: Path, choose: random.Random) -> None:
    game = scored_game(data, choose)
    alter(data, game, replace(game, end_reason="voided: x"))


def supersede_game(data: Path, choose: random.Random) -> None:
    """With all that came after it in its block."""
    number = scored_game(data, choose).number
    execute(
        data,
        "UPDATE game_blocks SET superseded_from = (id >> 36) << 36 | ? "
        "WHERE superseded_from IS NULL AND ? BETWEEN id & 68719476735 AND last & 68719476735",
        number,
        number,
    )


def alter_score(data: Path, choose: random.Random) -> None:
    row = choose.choice(rounds_of(data))
    score = choose.choice([score for score in row["scores"] if score["games"]])
    name = choose.choice(["games", "objective", "first_game", "last_game"])
    score[name] += 1e-9 if name == "objective" else choose.choice([-1, 1])
    store(data, row["id"], "scores", row["scores"])


def alter_score_without_games(data: Path, choose: random.Random) -> None:
    row, score = choose.choice(
        [(row, score) for row in rounds_of(data) for score in row["scores"] if not score["games"]]
    )
    score[choose.choice(["games", "objective", "first_game", "last_game"])] += 1
    store(data, row["id"], "scores", row["scores"])


def alter_an_opponent(data: Path, choose: random.Random) -> None:
    row = choose.choice(rounds_of(data))
    part = choose.choice([part for score in row["scores"] for part in score["against"]])
    name = choose.choice(list(part))
    part[name] = "member m9 0" if name == "opponent" else part[name] + 1
    store(data, row["id"], "scores", row["scores"])


def drop_a_rule(data: Path, choose: random.Random) -> None:
    """As if it had been decided by the rules of an earlier version."""
    row = choose.choice(rounds_of(data)[:-1])
    del row["rules"]["opponents"]
    store(data, row["id"], "rules", row["rules"])


def first_game_out_of_range(data: Path, choose: random.Random) -> None:
    row = choose.choice(rounds_of(data))
    score = choose.choice([score for score in row["scores"] if score["games"]])
    score["first_game"] = -1
    store(data, row["id"], "scores", row["scores"])


def alter_hyperparameter(data: Path, choose: random.Random) -> None:
    row = choose.choice(rounds_of(data))
    values = choose.choice(list(row["hyperparams"].values()))
    values[choose.choice(list(values))] *= 1.0 + 1e-12
    store(data, row["id"], "hyperparams", row["hyperparams"])


def alter_rule(data: Path, choose: random.Random) -> None:
    row = choose.choice(rounds_of(data)[:-1])
    name = choose.choice(list(row["rules"]))
    old = row["rules"][name]
    row["rules"][name] = (
        "return"
        if isinstance(old, str)
        else old + 1
        if isinstance(old, int)
        else old * 1.001 + 1e-9
    )
    store(data, row["id"], "rules", row["rules"])


def alter_directive(data: Path, choose: random.Random) -> None:
    row = choose.choice([row for row in rounds_of(data) if row["directive"]["copy_from"]])
    directive = row["directive"]
    match choose.choice(
        ["copy_from", "copy_snapshot", "hyperparams", "mutated", "member", "round"]
    ):
        case "copy_from":
            directive["copy_from"] = next(
                name
                for name in ("m0", "m1", "m2")
                if name not in (directive["copy_from"], row["member"])
            )
        case "copy_snapshot":
            directive["copy_snapshot"] = "0" * 64
        case "hyperparams":
            directive["hyperparams"][choose.choice(list(directive["hyperparams"]))] *= 1.0 + 1e-12
        case "mutated":
            directive["mutated"] = [*directive["mutated"], "adam_beta2"]
        case name:
            directive[name] = 99 if name == "round" else "m9"
    store(data, row["id"], "directive", directive)


def alter_plain_column(data: Path, choose: random.Random) -> None:
    row = choose.choice(rounds_of(data))
    column = choose.choice(["seed", "frames", "round", "verdict"])
    store(data, row["id"], column, "kept" if column == "verdict" else 12345)


def delete_round(data: Path, choose: random.Random) -> None:
    rows = rounds_of(data)
    newest = {row["member"]: row["id"] for row in rows}
    execute(
        data,
        "DELETE FROM rounds WHERE id = ?",
        choose.choice([row["id"] for row in rows if row["id"] not in newest.values()]),
    )


ALTERATIONS = (
    flip_places,
    exchange_players,
    delete_game,
    delete_any_game,
    void_game,
    supersede_game,
    alter_score,
    alter_score_without_games,
    alter_an_opponent,
    drop_a_rule,
    first_game_out_of_range,
    alter_hyperparameter,
    alter_rule,
    alter_directive,
    alter_plain_column,
    delete_round,
)


@pytest.mark.parametrize("seeds", [(0, 1), pytest.param((2, 3, 4), marks=pytest.mark.slow)])
@pytest.mark.parametrize("alter", ALTERATIONS, ids=lambda alter: alter.__name__)
def test_one_altered_row_makes_it_fail(
    alter: Callable[[Path, random.Random], None],
    seeds: tuple[int, ...],
    data: Path,
    trained: Path,
    capsys: Output,
) -> None:
    for seed in seeds:
        shutil.copy(league_path(trained), league_path(data))
        alter(data, random.Random(seed))
        code, report = verify(data, capsys)
        of_rounds = [one for one in report["differences"] if not one["expected"]]
        assert code == 1 and of_rounds, f"{alter.__name__} with seed {seed} went unnoticed"


def test_list_tells_what_each_round_did(trained: Path, capsys: Output) -> None:
    capsys.readouterr()
    assert run(["rounds", "list", "run", "--data", str(trained), "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert [(row["member"], row["round"]) for row in listed] == [
        (row["member"], row["round"]) for row in rounds_of(trained)
    ]
    assert run(["rounds", "list", "run", "--data", str(trained)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 1 + len(listed)
    assert any("copied m" in line for line in lines)


def test_unknown_population_exits_2(trained: Path, capsys: Output) -> None:
    assert run(["rounds", "list", "rum", "--data", str(trained)]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "did you mean 'run'?" in captured.err
