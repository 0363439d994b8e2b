"""Names of games: `demo:1234` is game 1234 of a population, `match:12:5` is game 5 of match 12."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import func, select

from arena.league.database import League
from arena.league.game_rows import (
    GameFilter,
    StoredGame,
    folded_through,
    population_games,
    read_seats,
)
from arena.league.populations import stored_config
from arena.league.rows import to_game
from arena.league.schema import games, incarnations, match_game_key, matches, populations
from arena.league.stored_snapshots import named_snapshots
from pbt.errors import PlayerError
from pbt.records import GameRecord, PlayerRef

FORMS = (
    "demo:1234 (game 1234 of population demo; `arena games demo` lists them) or "
    "match:12:5 (game 5 of match 12)"
)
_MATCH = re.compile(r"match:(\d{1,18})(?::(\d{1,10}))?")
_POPULATION = re.compile(r"([^:]+):(\d{1,10})")


@dataclass(frozen=True, slots=True)
class NamedGame:
    """A stored game with its name.

    name         the name by which it can be found again
    env_name     the game that was played
    env_options  the options of that game
    record       the stored game
    labels       player -> its name for people
    """

    name: str
    env_name: str
    env_options: Mapping[str, Any]
    record: GameRecord
    labels: Mapping[PlayerRef, str]


def find_game(league: League, text: str) -> NamedGame:
    """The game with this name. Raises: PlayerError that says which games there are."""
    if name := _MATCH.fullmatch(text):
        return _of_match(league, int(name[1]), None if name[2] is None else int(name[2]))
    if name := _POPULATION.fullmatch(text):
        return _of_population(league, name[1], int(name[2]))
    raise PlayerError(f"game {text!r}: expected {FORMS}")


def game_of_key(league: League, key: int) -> tuple[NamedGame, StoredGame]:
    """The game with this key of the league. Raises: PlayerError when there is none."""
    with league.read() as connection:
        row = connection.execute(select(games).where(games.c.id == key)).first()
        if row is None:
            raise PlayerError(
                f"game {key}: the league has no such game; old training games are folded "
                "into counts"
            )
        seats = read_seats(connection, [key])
        played = (
            populations.c.env_name,
            populations.c.env_options,
            populations.c.name,
            incarnations.c.number,
        )
        of_start = (
            select(*played)
            .join(incarnations, incarnations.c.population_id == populations.c.id)
            .where(incarnations.c.id == row.incarnation_id)
        )
        of_match = select(matches.c.env_name, matches.c.env_options).where(
            matches.c.id == row.match_id
        )
        source = connection.execute(of_start if row.match_id is None else of_match).one()
    record, population = to_game(row, seats[key]), source.name if row.match_id is None else None
    name = (
        f"match:{row.match_id}:{row.number}" if population is None else f"{population}:{row.number}"
    )
    named = NamedGame(
        name,
        source.env_name,
        json.loads(source.env_options),
        record,
        _labels(league, record, population),
    )
    start = None if population is None else source.number
    return named, StoredGame(record, start, row.match_id, bool(row.superseded), row.committed_at)


def no_actions(named: NamedGame) -> str | None:
    """Why a game cannot be replayed, None where its actions are stored."""
    if named.record.actions is not None:
        return None
    kind = (
        "training games keep no actions"
        if named.record.kind == "training"
        else "its actions are not stored"
    )
    return (
        f"game {named.name}: {kind}, so it cannot be replayed; games that can: arena "
        "games NAME --kind evaluation"
    )


def _of_population(league: League, population: str, number: int) -> NamedGame:
    env = stored_config(league, population)["env"]
    stored = next(
        iter(population_games(league, population, GameFilter(first=number, last=number))), None
    )
    if stored is None:
        folded = number <= folded_through(league, population)
        why = (
            "it was folded into counts, as old training games are"
            if folded
            else "no such game; `arena games` lists the newest"
        )
        raise PlayerError(f"game {population}:{number}: {why}")
    return NamedGame(
        f"{population}:{number}",
        env["name"],
        env["options"],
        stored.record,
        _labels(league, stored.record, population),
    )


def _of_match(league: League, match_id: int, number: int | None) -> NamedGame:
    mine = (games.c.id >= match_game_key(match_id, 0), games.c.id < match_game_key(match_id + 1, 0))
    with league.read() as connection:
        match = connection.execute(select(matches).where(matches.c.id == match_id)).first()
        first, last = connection.execute(
            select(func.min(games.c.number), func.max(games.c.number)).where(*mine)
        ).one()
        row = (
            connection.execute(select(games).where(*mine, games.c.number == number)).first()
            if number is not None
            else None
        )
        seats = read_seats(connection, [row.id]) if row is not None else {}
    if match is None:
        raise PlayerError(f"match {match_id}: the league has no such match")
    if row is None:
        range_of_games = (
            "none of its games is stored"
            if first is None
            else f"its games are match:{match_id}:{first} to match:{match_id}:{last}"
        )
        name = f"match:{match_id}" if number is None else f"match:{match_id}:{number}"
        raise PlayerError(f"game {name}: {range_of_games}")
    record = to_game(row, seats[row.id])
    return NamedGame(
        f"match:{match_id}:{number}",
        match.env_name,
        json.loads(match.env_options),
        record,
        _labels(league, record, None),
    )


def _labels(league: League, record: GameRecord, population: str | None) -> dict[PlayerRef, str]:
    """Player -> its name for people. population: preferred where it has equal weights."""
    players = dict.fromkeys(seat.player for seat in record.seats)
    names = named_snapshots(
        league, [player.name for player in players if player.kind == "snapshot"], population
    )
    labels = {snapshot_id: stored.label for snapshot_id, stored in names.items()}
    return {
        player: labels.get(
            player.name, player.name[:8] if player.kind == "snapshot" else player.name
        )
        for player in players
    }
