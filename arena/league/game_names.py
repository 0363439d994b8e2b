"""Names of games: `demo:1234` is game 1234 of a population, `match:12:5` is game 5 of match 12."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import func, select

from arena.league.database import League
from arena.league.game_choice import EVERY_GAME, GameFilter
from arena.league.game_rows import StoredGame, folded_through, newest_games, population_games
from arena.league.matches import match_row
from arena.league.populations import find_population
from arena.league.schema import (
    NUMBER_BITS,
    games,
    incarnations,
    keys_of_match,
    match_game_key,
    matches,
    populations,
)
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
        found = newest_games(connection, key, key, EVERY_GAME, 1)
        if not found:
            raise PlayerError(
                f"game {key}: the league has no such game; old training games are folded "
                "into counts"
            )
        stored = found[0][1]
        of_start = (
            select(populations, incarnations.c.number)
            .join(incarnations, incarnations.c.population_id == populations.c.id)
            .where(incarnations.c.id == key >> NUMBER_BITS)
        )
        of_match = select(matches).where(matches.c.id == stored.match_id)
        source = connection.execute(of_start if stored.match_id is None else of_match).one()
    number = stored.record.number
    if stored.match_id is not None:
        name = f"match:{stored.match_id}:{number}"
        return _named(league, name, source, stored.record), stored
    named = _named(league, f"{source.name}:{number}", source, stored.record, source.name)
    return named, replace(stored, incarnation=source.number)


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
    with league.read() as connection:
        source = find_population(connection, population)
    name = f"{population}:{number}"
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
        raise PlayerError(f"game {name}: {why}")
    return _named(league, name, source, stored.record, population)


def _of_match(league: League, match_id: int, number: int | None) -> NamedGame:
    with league.read() as connection:
        match = match_row(connection, match_id)
        if match is None:
            raise PlayerError(f"match {match_id}: the league has no such match")
        mine = games.c.id.between(*keys_of_match(match_id))
        first, last = connection.execute(
            select(func.min(games.c.number), func.max(games.c.number)).where(mine)
        ).one()
        keys = [] if number is None else [match_game_key(match_id, number)]
        found = [game for key in keys for game in newest_games(connection, key, key, EVERY_GAME, 1)]
    name = f"match:{match_id}" if number is None else f"match:{match_id}:{number}"
    if not found:
        range_of_games = (
            "none of its games is stored"
            if first is None
            else f"its games are match:{match_id}:{first} to match:{match_id}:{last}"
        )
        raise PlayerError(f"game {name}: {range_of_games}")
    return _named(league, name, match, found[0][1].record)


def _named(
    league: League, name: str, source: Any, record: GameRecord, population: str | None = None
) -> NamedGame:
    """A game with its name. source: the row of its match, or of its population."""
    options = json.loads(source.env_options)
    return NamedGame(name, source.env_name, options, record, _labels(league, record, population))


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
