"""The players that a caller names, with their game."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from arena.argument_kinds import check_kinds
from arena.guests.program import DEFAULT_MOVE_TIMEOUT_S
from arena.matches.deciding import ranked_by
from arena.players.resolve import ResolvedPlayer, resolve_players
from arena.python.own_games import Env, game_name
from pbt.envs.contract import EnvSpec
from pbt.envs.measuring import as_played
from pbt.errors import ConfigError
from pbt.objective import OBJECTIVES, as_objective


@dataclass(frozen=True)
class NamedPlayers:
    """Players whose names were resolved.

    env      their game
    players  in the order named
    """

    env: EnvSpec
    players: tuple[ResolvedPlayer, ...]

    @property
    def labels(self) -> tuple[str, ...]:
        return tuple(player.label for player in self.players)


def named_players(
    names: Sequence[str],
    *,
    data: Path | str | None = None,
    env: Env | None = None,
    options: Mapping[str, Any] | None = None,
    objective: str | None = None,
    move_timeout_s: float = DEFAULT_MOVE_TIMEOUT_S,
) -> NamedPlayers:
    """Resolve names. Files of games and programs may be among them; they are the user's own.

    data            the data directory; None: $ARENA_DATA, else ./arena-data
    env             the game, needed where no player was trained
    options         of that game
    objective       what decides between the players; None: what their populations count in
    move_timeout_s  limit for one answer of a program
    Raises: ConfigError for another word, MatchError for an objective that the game does not have,
    and as `resolve_players`.
    """
    check_kinds(
        "the players", {"players": names, "env": env, "options": options, "objective": objective}
    )
    if objective is not None and objective not in OBJECTIVES:
        raise ConfigError(
            "the objective",
            [f"objective {objective}: expected one of {', '.join(OBJECTIVES)}"],
        )
    spec, players = resolve_players(
        names,
        None if data is None else Path(data),
        None if env is None else game_name(env),
        options=options or {},
        allow_files=True,
        move_timeout_s=move_timeout_s,
    )
    spec = as_played(spec, players[0].env_options)
    decided = ranked_by(spec, players, None if objective is None else as_objective(objective))
    return NamedPlayers(spec, tuple(decided))
