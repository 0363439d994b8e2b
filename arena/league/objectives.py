"""The objective of a stored population: the one that it began with, or that a person set since."""

import re

from arena.league.database import League
from arena.league.populations import stored_config
from arena.league.stored_history import list_events
from pbt.config.load import config_from_table
from pbt.config.resume import OBJECTIVE, as_it_began
from pbt.objective import ObjectiveKind, as_objective

_SET = re.compile(rf"edited {re.escape(OBJECTIVE)}: \S+ -> (\w+)")


def objective_in_force(league: League, population: str, seats: int) -> ObjectiveKind:
    """What results of a population are worth now. Raises: PlayerError.

    A population of a version without objectives has wins, or in games of one seat returns.

    seats  of one game
    """
    table = stored_config(league, population)
    began = as_it_began(config_from_table(table, f"stored config of {population!r}"), seats)
    word: object = began.env.objective
    for stored in list_events(league, population, superseded=False):
        if stored.event.kind == "edit" and (found := _SET.match(stored.event.text)):
            word = found[1]
    return as_objective(word)
