"""Checks across the rounds of a population: each continues earlier ones, and no game is missing.

`arena.league.verify` recomputes each round from its own inputs; here those inputs are compared with
earlier rows. Rules and seed must be those of the config, a member's values those of its last
directive, rounds and games numbered without gaps, and copied snapshots known. Values that a person
edited (an "edit" event of that start) may differ once.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress

import numpy as np
from sqlalchemy import Connection, select

from arena.league.block_rows import blocks_between
from arena.league.blocks import Ints
from arena.league.database import League
from arena.league.game_rows import folded_through
from arena.league.populations import find_population, starts_of, stored_config
from arena.league.schema import games, keys_of_start
from arena.league.stored_history import StoredRound, list_events
from arena.league.stored_snapshots import list_snapshots
from pbt.config.learning import HYPERPARAMS
from pbt.config.resume import OBJECTIVE, as_it_began, hyperparameter_of
from pbt.config.schema import RunConfig
from pbt.config.stored import config_as_stored
from pbt.errors import EngineError
from pbt.hyperparams import initial_hyperparams, shaping_terms, with_edits
from pbt.objective import as_objective
from pbt.population.pbt_rules import PbtRules, in_present_words

Edits = Mapping[int, Mapping[str, str]]
"""Number of a start -> dotted keys of the config that were edited at it -> their new values."""


Problems = Iterator[tuple[StoredRound, str]]

# Rules whose values follow from the objective where the config leaves them open.
_OPEN = {"copy_gap", "copy_significance", "copy_significance_per", "equals_sd"}
_OF_OBJECTIVE = {"objective", *_OPEN}
# Values that members of other algorithms carried along, and that an algorithm may get later.
_OF_ONE_ALGORITHM = {row.name for row in HYPERPARAMS.values() if row.mark.algorithm is not None}


def history_problems(
    league: League, population: str, rounds: Sequence[StoredRound]
) -> list[tuple[StoredRound, str]]:
    """(round, problem) for each contradiction to earlier rounds. Raises: PlayerError.

    rounds  those that are not superseded, in the order they were decided
    """
    config = config_as_stored(stored_config(league, population), f"stored config of {population!r}")
    edits = _edits(league, population)
    makers = {
        stored.record.snapshot_id: stored.record.member
        for stored in list_snapshots(league, population)
    }
    return [
        *_numbering(rounds),
        *_rules(rounds, config, edits),
        *_values(rounds, config, edits),
        *_copies(rounds, makers),
    ]


def missing_games(league: League, population: str) -> str | None:
    """What is wrong with the numbers of the games that count, None when nothing is.

    Raises: PlayerError.
    """
    while True:
        gone = folded_through(league, population)
        with league.read() as connection:
            problem = _numbering_of_games(
                connection, int(find_population(connection, population).id), gone
            )
        # A running training may fold games between the two reads.
        if folded_through(league, population) == gone:
            return problem


def _numbering_of_games(connection: Connection, population_id: int, gone: int) -> str | None:
    numbers = np.sort(_standing_numbers(connection, population_id))
    numbers = numbers[numbers > gone]
    steps = np.diff(numbers, prepend=gone)
    if twice := int((steps == 0).sum()):
        return f"{twice} games stand twice: a superseded row was made to count"
    if not (gaps := np.flatnonzero(steps > 1)).size:
        return None
    missing, first = int((steps - 1).sum()), int(numbers[gaps[0]] - steps[gaps[0]]) + 1
    return f"{missing} games are missing, the first of them number {first}"


def _standing_numbers(connection: Connection, population_id: int) -> Ints:
    """The numbers of all stored games that were not superseded."""
    found: list[Ints] = []
    for start in starts_of(connection, population_id):
        first, last = keys_of_start(start.id)
        mine = (games.c.id.between(first, last), games.c.superseded == 0)
        rows = connection.execute(select(games.c.number).where(*mine)).scalars().all()
        found.append(np.array(rows, np.int64))
        for stored in blocks_between(connection, first, last):
            numbers = stored.unpacked().numbers
            found.append(numbers[~stored.superseded(numbers)])
    return np.concatenate(found) if found else np.zeros(0, np.int64)


def _edits(league: League, population: str) -> Edits:
    edits: dict[int, dict[str, str]] = defaultdict(dict)
    for stored in list_events(league, population):
        if stored.event.kind == "edit":
            key, _, values = stored.event.text.removeprefix("edited ").partition(":")
            edits[stored.incarnation][key] = values.rpartition(" -> ")[2]
    return edits


def _numbering(rounds: Sequence[StoredRound]) -> Problems:
    expected: dict[str, int] = {}
    for stored in rounds:
        member, number = stored.record.member, stored.record.round
        if number != expected.get(member, 1):
            yield (
                stored,
                f"number: expected round {expected.get(member, 1)} of {member} here; a "
                "round is missing or out of order",
            )
        expected[member] = number + 1


def _rules(rounds: Sequence[StoredRound], config: RunConfig, edits: Edits) -> Problems:
    """Problems of rules and seeds. After an edit, the next round says which value holds."""
    expected: dict[str, object] = {}
    start = 0
    for stored in rounds:
        rules = in_present_words(stored.record.rules)
        if start == 0:
            expected = _configured(config, rules)
        keys = _newly_edited(edits, start, stored.incarnation)
        edited = {key.removeprefix("pbt.") for key in keys if key.startswith("pbt.")}
        if any(key.startswith(OBJECTIVE) for key in keys):
            edited |= _OF_OBJECTIVE
        # Where the config leaves one of these open, it follows from the others.
        if edited & _OPEN:
            edited |= _OPEN
        expected.update({name: rules[name] for name in rules if _config_key(name) in edited})
        for name in _differing(rules, expected):
            stands, holds = rules.get(name), expected.get(name)
            yield stored, f"rules.{name}: stored {stands!r}, in force {holds!r}"
        if stored.record.seed != config.seed:
            yield (
                stored,
                f"seed: stored {stored.record.seed}, the population's is {config.seed}",
            )
        start = max(start, stored.incarnation)


def _differing(stored: Mapping[str, object], expected: Mapping[str, object]) -> list[str]:
    """The names, sorted, whose values differ."""
    return [name for name in sorted({*stored, *expected}) if stored.get(name) != expected.get(name)]


def _newly_edited(edits: Edits, start: int, incarnation: int) -> set[str]:
    """The dotted keys that were edited at the starts after `start`, up to `incarnation`."""
    return {key for number in range(start + 1, incarnation + 1) for key in edits.get(number, ())}


def _config_key(rule: str) -> str:
    """The config key of a rule. Two rules, the ends of an interval, are one key."""
    return re.sub(r"_(low|high)$", "_bounds", rule)


def _configured(config: RunConfig, rules: Mapping[str, object]) -> dict[str, object]:
    """The rules of the config.

    The number of seats belongs to the game, so the round says whether there is one. A config
    without an objective began before objectives could be chosen: the round says which it had.
    """
    try:
        objective = as_objective(rules.get("objective"))
    except EngineError:
        return {}
    alone = objective == "return" and rules.get("opponents") == "all"
    config = as_it_began(config, 1 if alone else 2)
    objective = config.env.objective or objective
    return dict(PbtRules.from_config(config.pbt, objective, alone=alone).to_mapping())


def _values(rounds: Sequence[StoredRound], config: RunConfig, edits: Edits) -> Problems:
    """Problems of members' values, which must be those of the last directive or of the start."""
    in_force: dict[str, dict[str, float]] = {}
    # Rounds tell of the members of one role and algorithm, so each member has a start of its own.
    starts: dict[str, int] = {}
    for stored in rounds:
        for member, values in stored.record.hyperparams.items():
            keys = _newly_edited(edits, starts.get(member, 0), stored.incarnation)
            edited = {hyperparameter_of(key) for key in keys}
            starts[member] = stored.incarnation
            if member not in in_force:
                in_force[member] = _first_values(config, edits, stored, member)
            expected = in_force[member]
            expected.update({name: values[name] for name in values if name in edited})
            for name in _differing(values, expected):
                stands, holds = values.get(name), expected.get(name)
                if None in (stands, holds) and name in _OF_ONE_ALGORITHM:
                    continue
                yield stored, f"{name} of {member}: stored {stands!r}, in force {holds!r}"
        in_force[stored.record.member] = dict(stored.record.directive.hyperparams)


def _first_values(
    config: RunConfig, edits: Edits, stored: StoredRound, member: str
) -> dict[str, float]:
    """The values of a member before its first round.

    They are the config's, as it was edited before it joined; a member that joined with the weights
    of another has its values, which the edit that let it join names. stored: the first round that
    tells its values.
    """
    terms = tuple(shaping_terms(stored.record.hyperparams[member]))
    began = with_edits(config, _edits_before(edits, member))
    first = initial_hyperparams(began, member, terms).flat()
    for number in range(1, stored.incarnation + 1):
        for key, value in edits.get(number, {}).items():
            name = key.removeprefix(f"members.{member}.")
            if name != key and name in first:
                with suppress(ValueError):
                    first[name] = float(value)
    return first


def _edits_before(edits: Edits, member: str) -> dict[str, float]:
    """The values of all members that were edited before a member joined, {} for a first one."""
    joined = [
        number
        for number, keys in edits.items()
        if any(key.startswith(f"population.joined.{member}.") for key in keys)
    ]
    return {
        name: 1.0 if value == "None" else float(value)
        for number in sorted(edits)
        if joined and number <= min(joined)
        for key, value in edits[number].items()
        if (name := hyperparameter_of(key)) is not None
    }


def _copies(rounds: Sequence[StoredRound], makers: Mapping[str, str]) -> Problems:
    for stored in rounds:
        copied, source = stored.record.directive.copy_snapshot, stored.record.directive.copy_from
        if copied is not None and makers.get(copied) != source:
            maker = makers.get(copied, "no member")
            yield (
                stored,
                f"copied snapshot {copied[:12]}: made by {maker}, expected {source}",
            )
