"""Changes of a population by requests.

A whole config is checked against its game, an edit is applied to one. PopulationChange is what
every request that changes one population carries.

An edit is decided on the config in force. It is decided again where another request came first.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any

from fastapi import Query
from starlette.responses import Response

from api.context import Change, Context, IfMatch, made_from_request, revision_of
from api.http.problems import EDITS, Problem
from api.reconcile.asking import finding_of
from api.reconcile.trainings import newest_status
from api.routes.bodies import PopulationName
from arena.data.edit_effects import EditStanding, edit_effects, standing_of
from arena.league.ancestry import read_histories
from arena.league.database import League
from arena.league.idempotency import Answer, Keyed
from arena.league.population_requests import edit, refuse_edit
from arena.league.populations import stored_config
from arena.league.summaries import list_members
from arena.league.supervised import PreconditionError, Supervised, get_supervised
from pbt.config.edits import edited_config
from pbt.config.load import config_from_table
from pbt.config.resume import changes, with_objective
from pbt.config.schema import RunConfig
from pbt.config.stored import config_as_stored
from pbt.errors import ConfigError

SHAPING = "learning.shaping."
TRIES = 8
DryRun = Annotated[bool, Query(description="decide it and tell its effects, but change nothing")]


@dataclass(frozen=True)
class Decided:
    """An edit that was decided.

    words   "key=value", in order
    render  makes the answer from the effects of the edit in words and the edited row
    anchor  a snapshot that becomes an anchor together with the edit, or not at all
    """

    words: Sequence[str]
    render: Callable[[Sequence[str], Supervised], Answer]
    anchor: str | None = None


@dataclass(kw_only=True)
class PopulationChange(Change):
    """A request that changes a population.

    if_match  only while the population has this tag
    """

    name: PopulationName
    if_match: IfMatch = None


@dataclass(kw_only=True)
class ConfigEdit(PopulationChange):
    """A request that edits the config of a population.

    dry_run  decide it and answer with its effects, but store nothing
    """

    dry_run: DryRun = False

    def edit_decided(
        self, content: object, decide: Callable[[Supervised, RunConfig], Decided]
    ) -> Response:
        """Store an edit of the config.

        content  the body of the request
        decide   makes the edit from the population's row and its config with the waiting edits; it
                 raises an error for an edit that it refuses
        Of two edits at the same time the second one is decided again, on what the first one left:
        each may be valid alone, but not both together.
        """

        def act(keyed: Keyed | None) -> Answer:
            required = revision_of(self.if_match)
            for attempt in range(1, TRIES + 1):
                row, decided, effects = self._decided(decide)
                try:
                    return edit(
                        self.here.league,
                        self.name,
                        decided.words,
                        partial(decided.render, effects),
                        keyed=keyed,
                        if_revision=row.revision if required is None else required,
                        anchor=decided.anchor,
                    )
                except PreconditionError:
                    if required is not None or attempt == TRIES:
                        raise
            raise AssertionError("the last attempt answers or raises")

        if self.dry_run:
            row, decided, effects = self._decided(decide)
            refuse_edit(row, revision_of(self.if_match))
            body = decided.render(effects, row).body
            return Response(body, media_type="application/json")
        return self.once([content, self.if_match], act)

    def _decided(
        self, decide: Callable[[Supervised, RunConfig], Decided]
    ) -> tuple[Supervised, Decided, list[str]]:
        """The newest row of the population, the edit decided on it, and what that does."""
        row = get_supervised(self.here.league, self.name)
        before = in_force(self.here, self.name, row)
        decided = decide(row, before)
        after = config_as_stored(before.model_dump(mode="json"), EDITS, decided.words)
        standing = _standing(self.here, row, before, after)
        return row, decided, edit_effects(before, after, standing)


ChangingPopulation = Annotated[PopulationChange, made_from_request(PopulationChange)]
EditingConfig = Annotated[ConfigEdit, made_from_request(ConfigEdit)]


def _standing(here: Context, row: Supervised, before: RunConfig, after: RunConfig) -> EditStanding:
    """How a population stands. before, after: its config without and with the edit."""
    roles = {
        name: role
        for name, role in member_roles(here.league, row.name, after).items()
        if name not in before.population.left
    }
    rows = [member for member in list_members(here.league, row.name) if member.name in roles]
    began = (
        {}
        if all(member.hyperparams for member in rows)
        else read_histories(here.league, row.name).initial
    )
    values = {member.name: member.hyperparams or began.get(member.name, {}) for member in rows}
    status = newest_status(here.paths(row.name))
    return standing_of(row.state, status, roles, values)


def member_roles(league: League, name: str, config: RunConfig) -> dict[str, str]:
    """Member -> role of all members there ever were, and of those that are to join."""
    stored = {row.name: row.role for row in list_members(league, name)}
    return stored | {member: one.role for member, one in config.population.joined.items()}


def config_table(here: Context, name: str) -> dict[str, Any]:
    """The config in force; before the first start, the one that the population was created with."""
    path = here.paths(name).config
    try:
        table: dict[str, Any] = json.loads(path.read_bytes())
    except FileNotFoundError:
        return stored_config(here.league, name)
    except ValueError as error:
        raise Problem(
            "not-ready",
            f"config.json of population {name!r} is damaged ({error}); its next start takes the "
            "config of its newest checkpoint; without one, restore the file",
        ) from error
    return table


def in_force(here: Context, name: str, row: Supervised) -> RunConfig:
    """The config with the edits that wait."""
    return config_as_stored(config_table(here, name), f"stored config of {name!r}", row.overrides)


# --- checking and applying ------------------------------------------------------------------------


def checked(
    here: Context,
    table: Mapping[str, Any],
    source: str = "config",
    *,
    new: bool = False,
    sets_objective: bool = False,
) -> tuple[RunConfig, list[tuple[str, str]]]:
    """The config and its (member, role) pairs.

    Raises: ConfigError with every problem; Problem when the check itself fails.

    new             the config is that of a new population: its networks are decided, and refused
                    where they are too large; so are weights of others that its members begin with,
                    and where they do not fit
    sets_objective  the config's objective is new: the game's own stands where it names none, and
                    one that the game does not have is refused

    A request may name registered games only. The code of a game runs in another process.
    """
    config = (config_from_table if new else config_as_stored)(table, source)
    # The JSON of `arena.programs.config_check.ConfigFindings`.
    what = f"the check of the config against {config.env.name}"
    command = [*here.settings.checker, *([str(here.settings.data)] * new)]
    report = finding_of(what, command, config.model_dump_json())
    refused = [report["refusal"]] if sets_objective and report["refusal"] else []
    refused += report["unfit"] if new else []
    if problems := report["problems"] or refused:
        raise ConfigError(source, problems)
    if new:
        table = {**config.model_dump(mode="json"), "model": report["model"]}
        table["population"]["began"] = report.get("began", {})
        config = config_from_table(table, source)
    if sets_objective:
        config = with_objective(config, report["objective"])
    return config, [(member, role) for member, role in report["roles"]]


def edited(
    before: RunConfig, values: Mapping[str, Any], *, new: bool = False
) -> tuple[tuple[str, ...], RunConfig]:
    """The edits that change something, as words, and the config with them.

    None takes a shaping term out: its weight becomes the game's own again.
    new  the config is to begin a population, so every key may change
    Raises: ConfigError, Problem.
    """

    def with_words() -> RunConfig:
        if new:
            return config_as_stored(before.model_dump(mode="json"), EDITS, words)
        return edited_config(before, EDITS, words)

    removed = [key for key, value in values.items() if value is None and key.startswith(SHAPING)]
    words = [
        f"{key}={toml_value(value)}" for key, value in sorted(values.items()) if key not in removed
    ]
    after = with_words()
    if removed:
        words.append(_shaping_without(after, removed))
        after = with_words()
    # A word that changes nothing is left out: it would start the trainer again without need.
    differ = changes(before, after).keys()
    return tuple(
        word
        for word in words
        if any(f"{key}.".startswith(f"{word.partition('=')[0]}.") for key in differ)
    ), after


def _shaping_without(config: RunConfig, removed: Sequence[str]) -> str:
    """The word that sets the shaping terms without these.

    removed  dotted keys
    Raises: Problem for a term that is not there.
    """
    terms = dict(config.learning.shaping)
    if missing := [
        (f"/set/{key}", "no such term")
        for key in removed
        if terms.pop(key.removeprefix(SHAPING), None) is None
    ]:
        raise Problem(
            "invalid",
            (
                "a shaping term that does not exist cannot be removed; there are "
                f"{', '.join(config.learning.shaping) or 'none'}"
            ),
            missing,
        )
    kept = ", ".join(f"{json.dumps(term)} = {json.dumps(weight)}" for term, weight in terms.items())
    return f"{SHAPING.rstrip('.')}={{{kept}}}"


def toml_value(value: Any) -> str:
    """The value as `--set` reads it.

    JSON's numbers, texts, booleans and lists are valid TOML; null and tables are refused.
    """
    if value is None or isinstance(value, Mapping):
        raise Problem(
            "invalid",
            "a value to set must be a number, a text, a boolean or a list",
            [("/set", f"{json.dumps(value)} is none of these")],
        )
    return json.dumps(value)
