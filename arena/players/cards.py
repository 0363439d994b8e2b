"""The cards of trained snapshots. It makes no game and needs no torch."""

from collections.abc import Mapping

from arena.data.snapshot_cards import SnapshotCard
from arena.league.ancestry import find_weights, read_histories
from arena.league.database import League
from arena.league.lineage import trace
from pbt import __version__
from pbt.config.schema import RunConfig
from pbt.errors import EngineError, PlayerError


def card_of(
    config: RunConfig,
    snapshot_id: str,
    size_bytes: int,
    hyperparams: Mapping[str, float],
    *,
    population: str,
    member: str,
    role: str,
    frames: int,
) -> SnapshotCard:
    """The card of a snapshot.

    config       of the population
    size_bytes   of the weights' file
    hyperparams  those in force when the snapshot was taken, {} if unknown
    """
    return SnapshotCard(
        snapshot_id=snapshot_id,
        size_bytes=size_bytes,
        env_name=config.env.name,
        env_options=dict(config.env.game_options),
        role=role,
        model=config.model,
        precision=config.runtime.precision,
        opening_plies=config.evaluation.opening_plies,
        population=population,
        member=member,
        frames=frames,
        hyperparams=dict(hyperparams),
        made_by=f"pbt-arena {__version__}",
    )


def hyperparams_of(league: League, snapshot_id: str) -> dict[str, float]:
    """The hyperparameters in force when the snapshot was taken.

    {} where the league does not know it, or its history is not complete.
    """
    try:
        population, weights = find_weights(league, snapshot_id)
        return dict(trace(read_histories(league, population), weights).steps[-1].hyperparams)
    except (EngineError, PlayerError):
        return {}
