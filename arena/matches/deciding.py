"""What decides between players: wins, margins or returns."""

from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from typing import Any

from arena.league.matches import MatchError
from arena.players.resolve import ResolvedPlayer
from pbt.envs.contract import EnvSpec, Game, declared_objective
from pbt.envs.testing.objectives import judge_objective
from pbt.errors import PlayerError
from pbt.objective import ObjectiveKind, chosen_objective


def objective_of(env: EnvSpec, game: Game, players: Sequence[ResolvedPlayer]) -> ObjectiveKind:
    """What the players' populations count in, or else what the game declares.

    Games of one seat count in returns. Raises: PlayerError for players of populations that count
    differently.
    """
    counted = {player.objective: player for player in players if player.objective is not None}
    if len(game.seat_roles) > 1 and len(counted) > 1:
        (one, a), (other, b) = list(counted.items())[:2]
        raise PlayerError(
            f"{a.label} counts in {one}, {b.label} in {other}; expected one objective: set "
            f"`objective` (on the command line --objective) to {one} or {other}"
        )
    named = next(iter(counted), None)
    return chosen_objective(
        named if len(game.seat_roles) > 1 else None,
        declared_objective(env, game),
        len(game.seat_roles),
    )


def check_objective(env: EnvSpec, options: Mapping[str, Any], objective: ObjectiveKind) -> None:
    """Check an objective that a person asks for. Raises: MatchError where the game has no such one.

    Places can be counted in every game, so wins are never refused.

    options  of the game
    """
    if objective == "win":
        return
    with closing(env.make(**options)) as game:
        judged = judge_objective(env, game, objective)
    if judged.reason is not None:
        raise MatchError(
            f'objective "{objective}": {judged.reason}; leave --objective out (in Python '
            f'objective=), or make it "{judged.better}"'
        )


def ranked_by(
    env: EnvSpec, players: list[ResolvedPlayer], objective: ObjectiveKind | None
) -> list[ResolvedPlayer]:
    """The players, with what decides between them. Raises: MatchError as `check_objective`."""
    if objective is None:
        return players
    check_objective(env, players[0].env_options, objective)
    return [replace(player, objective=objective) for player in players]
