"""Reads and checks what a training starts from: its config, its checkpoint and its edits."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from arena.data.adopted_weights import adopt_weights
from arena.data.edit_effects import SCORES_END, resumed_effects
from arena.data.paths import PopulationPaths, data_dir
from arena.league.chain import chain_of_population, has_head
from arena.league.database import League
from arena.league.summaries import list_populations
from arena.machine import usable_cores
from arena.training.game_check import CheckedGame, checked_game, judged_objective, number_warnings
from arena.training.membership import Membership, change_members, settled, standing_at
from arena.training.moved_files import take_moves
from arena.training.warm_start import OWN_WEIGHTS, StartFrom, begun_config, warm_words
from pbt.checkpoint.files import Checkpoint, read_newest
from pbt.checkpoint.folders import checkpoint_folders
from pbt.config.defaults import defaults_line, left_to_defaults
from pbt.config.edits import edited_config
from pbt.config.resume import (
    OBJECTIVE,
    as_it_began,
    changes,
    changes_members,
    diff_shapes,
    is_editable,
    with_objective,
)
from pbt.config.schema import RunConfig
from pbt.config.semantics import algorithm_problems
from pbt.config.stored import beyond_bounds, config_as_stored
from pbt.envs.contract import EnvSpec
from pbt.errors import ConfigError, LostCheckpointError
from pbt.models.convolutions import decided, encoder_words, model_problems
from pbt.objective import OBJECTIVE_WORDS, chosen_objective
from pbt.runtime.membership import members_of
from pbt.runtime.placements import resolve
from pbt.snapshots import FileSnapshotStore

EVERY_ROUND = 2**62


@dataclass(frozen=True)
class Start:
    """The beginning of an incarnation, which is one start of a population.

    config       the config as it is stored
    spec         the environment
    checkpoint   that it goes on from; None for the first frame
    notes        anything unusual, and each edit in words, for log and events
    encoder      a line that says what becomes of the images that are seen; "" without images
    edited       the values that --set changed, by key
    membership   members that join or leave with this start
    last_rounds  member -> its last round that the checkpoint knows
    defaults     key -> value of what decides how fast a game is learned and the config of a new
                 population did not name
    effects      what the edits do, in words
    """

    config: RunConfig
    spec: EnvSpec
    checkpoint: Checkpoint | None = None
    notes: Sequence[str] = ()
    encoder: str = ""
    edited: Mapping[str, Any] = field(default_factory=dict)
    membership: Membership = field(default_factory=Membership)
    last_rounds: Mapping[str, int] = field(default_factory=dict)
    defaults: Mapping[str, Any] = field(default_factory=dict)
    effects: Sequence[str] = ()

    @property
    def lines(self) -> list[str]:
        """What was chosen for the game, in lines for a person."""
        chosen = [self.encoder] if self.encoder else []
        return chosen + ([defaults_line(self.defaults)] if self.defaults else [])


def first_start(
    config: RunConfig, name: str, data: Path | None = None, wanted: StartFrom = OWN_WEIGHTS
) -> Start:
    """The start of a new population.

    data    the data directory; None: $ARENA_DATA, else ./arena-data
    wanted  weights that its members begin with, besides what the config says
    Raises: ConfigError when the config, or weights of another one, do not fit its game.
    """
    read, source = config, f"config of {name!r}"
    config = with_tables(config)
    if takers := _takers(config):
        raise ConfigError(
            source,
            [
                f"population.joined.{member}.weights: a new population has no weights yet; "
                "leave it out"
                for member in takers
            ],
        )
    checked = checked_game(config, source)
    config = with_networks(config, checked, source)
    objective = chosen_objective(config.env.objective, checked.declared, checked.seats)
    config = with_objective(config, objective)
    judged = judged_objective(config, checked)
    if judged.problem:
        raise ConfigError(source, [f'{judged.problem}; make it "{judged.better}"'])
    config = begun_config(config, wanted, data_dir(data), checked.layouts, source)
    notes = warm_words(config)
    if judged.hint and judged.better:
        number = OBJECTIVE_WORDS[judged.better].number
        notes.append(f'{judged.hint}; objective = "{judged.better}" would rank by the {number}')
    notes += [f"warning: {warning}" for warning in number_warnings(config, checked)]
    encoder = encoder_words(config.model, checked.layouts)
    defaults = left_to_defaults(read, config)
    return Start(config, checked.spec, notes=notes, encoder=encoder, defaults=defaults)


def with_networks(config: RunConfig, checked: CheckedGame, source: str) -> RunConfig:
    """The config of a new population with its networks decided, by the images of its game.

    Raises: ConfigError when convolutions do not fit, for a first layer beyond any use, and for an
    algorithm that cannot learn the game.
    """
    model = decided(config.model, checked.layouts)
    problems = model_problems(model, checked.layouts)
    choices = {layout.role.name: layout.actions.single_choice for layout in checked.layouts}
    if problems := problems + algorithm_problems(config, choices):
        raise ConfigError(source, problems)
    return config.model_copy(update={"model": model})


def _first_notes(config: RunConfig, checked: CheckedGame) -> list[str]:
    """Notes on a start without a checkpoint, of a population whose files were there already."""
    takers = ", ".join(_takers(config))
    own = f"{takers}: with weights of their own, since no member had any to give yet"
    warm = warm_words(config)
    warnings = [f"warning: {warning}" for warning in number_warnings(config, checked)]
    return warm + [own] * bool(takers) + warnings


def _bound_notes(name: str, config: RunConfig) -> list[str]:
    """What is to be said about numbers that were allowed when the population began."""
    notes = []
    for problem in beyond_bounds(config):
        key = problem.partition(" ")[0].partition("[")[0]
        until = f", until `arena train --resume {name} --set {key}=...` changes it"
        notes.append(f"warning: {problem}; it goes on so{until * is_editable(key)}")
    return notes


def next_start(
    name: str, paths: PopulationPaths, league: League, overrides: Sequence[str]
) -> Start:
    """A start from the newest intact checkpoint, with edits. overrides: as --set takes them.

    Raises: ConfigError for edits that a population cannot take, LostCheckpointError when league and
    checkpoints disagree.
    """
    checkpoint, notes = newest_checkpoint(paths, league, name)
    # A config that the service made has not decided its number of tables yet.
    before = with_tables(config_in_force(paths, name, checkpoint))
    overrides, moved = take_moves(paths, before, overrides)
    source = f"stored config of {name!r}" + (" with edits" if overrides else "")
    config = with_tables(edited_config(before, source, overrides))
    _refuse(name, diff_shapes(before, config))
    checked = checked_game(config, source)
    notes += moved + objective_notes(name, before, as_it_began(config, checked.seats), checked)
    before, config = _as_trained(before, checked), _as_trained(config, checked)
    refuse_lost_history(league, name, paths, checkpoint)
    membership, last_rounds = Membership(), known_rounds(checkpoint)
    standing = standing_at(checkpoint, config)
    if checkpoint is not None and changes_members(before, config):
        config = settled(before, config, checkpoint)
        checkpoint, membership = change_members(
            before, resolved(config), checked.spec, checkpoint, FileSnapshotStore(paths.snapshots)
        )
    notes += _bound_notes(name, config)
    if checkpoint is None:
        adopt_weights(paths, origin_ids(config))
        notes += _first_notes(config, checked)
    edited = changes(before, config)
    notes += [_edit_note(key, *values) for key, values in edited.items()]
    encoder = encoder_words(config.model, checked.layouts)
    return Start(
        *(config, checked.spec, checkpoint, notes, encoder),
        edited={key: new for key, (_, new) in edited.items()},
        membership=membership,
        last_rounds=last_rounds,
        effects=resumed_effects(before, config, standing),
    )


def _refuse(name: str, problems: Sequence[str]) -> None:
    """Raises: ConfigError where edits of a population have problems."""
    if problems:
        raise ConfigError(f"edit of {name!r}", problems)


def _as_trained(stored: RunConfig, checked: CheckedGame) -> RunConfig:
    """A stored config with the objective and the networks that its population has."""
    model = decided(stored.model, checked.layouts)
    return as_it_began(stored, checked.seats).model_copy(update={"model": model})


def origin_ids(config: RunConfig) -> list[str]:
    """The ids of the snapshots that the population began with."""
    return [one.weights for one in config.population.began.values()]


def _takers(config: RunConfig) -> list[str]:
    """The members that joined, or are to join, with weights of others."""
    return [member for member, one in config.population.joined.items() if one.weights]


def _edit_note(key: str, old: object, new: object) -> str:
    ends = f"; {SCORES_END}" if key == OBJECTIVE else ""
    return f"edited {key}: {old} -> {new}{ends}"


def objective_notes(
    name: str, before: RunConfig, after: RunConfig, checked: CheckedGame
) -> list[str]:
    """What is to be said about the objective of a stored population, one line each.

    before  its config as it was stored; one of an earlier version names no objective
    after   the config in force from now on
    Raises: ConfigError when an edit sets an objective that the game does not have.
    """
    objective, judged = after.env.objective, judged_objective(after, checked)
    edited = objective != as_it_began(before, checked.seats).env.objective
    change = f"`arena train --resume {name} --set env.objective"
    if judged.problem and edited:
        _refuse(name, [f'{judged.problem}; make it "{judged.better}"'])
    if judged.problem:
        return [f"{judged.problem}; it goes on so, until {change}={judged.better}` changes it"]
    began_otherwise = checked.seats > 1 and checked.declared not in (None, objective)
    if before.env.objective is None and not edited and began_otherwise:
        return [
            f'env.objective = "{objective}", as {name} began, though the game declares '
            f'"{checked.declared}"; it goes on so, until {change}={checked.declared}` changes it'
        ]
    return []


def known_rounds(checkpoint: Checkpoint | None) -> dict[str, int]:
    """Member -> its last round that the checkpoint knows.

    All rounds stand of a member that had left before the checkpoint.
    """
    if checkpoint is None:
        return {}
    left = config_as_stored(checkpoint.state.config, "stored config").population.left
    return dict.fromkeys(left, EVERY_ROUND) | {
        name: member.round for name, member in members_of(checkpoint).items()
    }


def refuse_lost_history(
    league: League, name: str, paths: PopulationPaths, checkpoint: Checkpoint | None
) -> None:
    """Raise when league and checkpoints do not belong together.

    Going on would take back games that were not meant to be lost. Raises: LostCheckpointError.
    """
    summary = next((summary for summary in list_populations(league) if summary.name == name), None)
    if checkpoint is not None and summary is None:
        raise LostCheckpointError(
            f"the league does not know {name!r}, though {paths.checkpoints} holds "
            "checkpoints of it; put its league.db back, or delete the population"
        )
    if checkpoint is None and summary is not None and summary.games:
        lost = (
            f"the checkpoints of {name!r} are gone from {paths.checkpoints}, the league "
            f"holds {summary.games} of its games"
        )
        raise LostCheckpointError(f"{lost}; put the checkpoints back, or train under another name")


def strange_head(league: League, name: str, checkpoint: Checkpoint) -> list[str]:
    """A note on a checkpoint whose head the population's chain never had, or [].

    Rows were altered and their chain was made anew, or another league was put in place.
    """
    known = checkpoint.state.league
    head = None if known is None else known.head
    stored = (row.id for row in list_populations(league) if row.name == name)
    population_id = next(stored, None)
    if head is None or population_id is None:
        return []
    if has_head(league, chain_of_population(population_id), head):
        return []
    return [
        f"the league never had the head {head[:16]} that checkpoint {checkpoint.number:08d} names: "
        f"its rows are not those of this training; `arena verify {name}` says more"
    ]


def resolved(config: RunConfig) -> RunConfig:
    """The config with the placement, processes and tables of a start on this machine."""
    return resolve(config, usable_cores(), torch.cuda.is_available())


def with_tables(config: RunConfig) -> RunConfig:
    """The config as it is stored, its number of tables decided.

    Random streams belong to tables, so their number must not change; every start decides the rest.
    """
    return config.model_copy(update={"sampling": resolved(config).sampling})


def newest_checkpoint(
    paths: PopulationPaths, league: League, name: str
) -> tuple[Checkpoint | None, list[str]]:
    """The newest intact checkpoint, and notes on damaged ones and on one of another league.

    None for a population that was killed before its first checkpoint.
    """
    if not checkpoint_folders(paths.checkpoints):
        return None, ["there was no checkpoint yet: started from the first frame"]
    checkpoint, damaged = read_newest(paths.checkpoints)
    notes = [f"{text}; went back to the checkpoint before it" for text in damaged]
    return checkpoint, notes + strange_head(league, name, checkpoint)


def config_in_force(paths: PopulationPaths, name: str, checkpoint: Checkpoint | None) -> RunConfig:
    """The checkpoint's own config; without a checkpoint, the one in the population's folder.

    A checkpoint holds its config, so that an edit and its effects are saved together.
    Raises: LostCheckpointError for a damaged file.
    """
    if checkpoint is not None:
        return config_as_stored(checkpoint.state.config, f"stored config of {name!r}")
    try:
        table = json.loads(paths.config.read_bytes())
    except ValueError as error:
        raise LostCheckpointError(
            f"{paths.config}: damaged ({error}), and there is no checkpoint; remove it with "
            f"`arena delete {name}`"
        ) from error
    return config_as_stored(table, f"stored config of {name!r}")
