"""The objective of a stored population: the one that it began with, or that a person set since."""

import json
import re
from collections.abc import Mapping
from typing import Any

from sqlalchemy import select

from arena.league.database import League
from arena.league.matches import OBJECTIVE_KEY
from arena.league.populations import stored_config
from arena.league.rows import to_json
from arena.league.schema import matches, populations
from arena.league.stored_history import list_events
from pbt.config.resume import OBJECTIVE, as_it_began
from pbt.config.stored import config_as_stored
from pbt.objective import ObjectiveKind, as_objective

_SET = re.compile(rf"edited {re.escape(OBJECTIVE)}: \S+ -> (\w+)")


def objective_in_force(league: League, population: str, seats: int = 2) -> ObjectiveKind:
    """What results of a population are worth now. Raises: PlayerError.

    A population of a version without objectives has wins, or in games of one seat returns.

    seats  of one game; it matters only to a population of such a version
    """
    table = stored_config(league, population)
    began = as_it_began(config_as_stored(table, f"stored config of {population!r}"), seats)
    word: object = began.env.objective
    for stored in list_events(league, population, superseded=False):
        if stored.event.kind == "edit" and (found := _SET.match(stored.event.text)):
            word = found[1]
    return as_objective(word)


def objective_of_game(
    league: League, env_name: str, env_options: Mapping[str, Any]
) -> ObjectiveKind:
    """What results of a game with these options are worth: to its newest population, else match."""
    options = to_json(env_options)
    newest = [
        select(column)
        .where(table.c.env_name == env_name, table.c.env_options == options)
        .order_by(table.c.id.desc())
        .limit(1)
        for table, column in ((populations, populations.c.name), (matches, matches.c.settings))
    ]
    with league.read() as connection:
        population, settings = (connection.execute(query).scalar() for query in newest)
    if population is not None:
        return objective_in_force(league, population)
    return as_objective(json.loads(settings or "{}").get(OBJECTIVE_KEY, "win"))
