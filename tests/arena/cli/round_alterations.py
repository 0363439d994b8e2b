"""What a person could alter in the rounds and games of a league, one row at a time."""

import json
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

from arena.data.paths import league_path
from arena.league.database import open_league
from arena.league.game_choice import GameFilter
from arena.league.game_rows import population_games
from pbt.records import GameRecord, PlayerRef
from tests.arena.league.altering import alter_games
from tests.arena.verification.forging import execute


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
