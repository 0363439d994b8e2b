"""The plan of a match: its seating and the seed of every game, fixed before the first game."""

from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import NamedTuple

from arena.league.matches import (
    FAILED_KEY,
    FRESH_KEY,
    KIND_KEY,
    OBJECTIVE_KEY,
    SPRT_KEY,
    Match,
    MatchError,
)
from arena.matches.deciding import objective_of
from arena.matches.seating import STORED_BEFORE, Arrangement, Entrant, Seating, arrange
from arena.matches.stored import stored_test
from arena.matches.tables import PlannedGame, planned_game
from arena.players.resolve import ResolvedPlayer
from pbt.config.running import EvaluationConfig
from pbt.envs.contract import EnvSpec, Game, opens_at_random
from pbt.errors import PlayerError
from pbt.objective import ObjectiveKind
from pbt.seeding import integer

# Settings of a stored match that say when it ends or what counts it, not which games it has.
_ENDS = {SPRT_KEY, FAILED_KEY, FRESH_KEY}


def seating_of(
    env: EnvSpec, game: Game, players: Sequence[ResolvedPlayer], objective: ObjectiveKind
) -> Seating:
    """The seating of players, as `arena.matches.seating.arrange` finds it.

    Raises: PlayerError for players of two games, and as `arrange`.
    """
    first = players[0]
    for player in players[1:]:
        if (player.env_name, player.env_options) != (first.env_name, first.env_options):
            played = (
                f"{first.label} plays {first.env_name}, {player.label} plays "
                f"{player.env_name}, or the same with other options"
            )
            raise PlayerError(f"{played}; expected players of one game")
    roles = [game.roles[role].name for role in game.seat_roles]
    entrants = [Entrant(player.label, player.role) for player in players]
    found = arrange(first.env_name, roles, entrants, objective)
    shared = env.replayable and len(found.sittings) > 1
    notes = _kind_notes(found, roles, entrants)
    if not env.replayable and len(found.sittings) > 1:
        notes.append(_unrepeatable(first.env_name, found))
    return Seating(found.sittings, shared, tuple(notes), found.kind, tuple(roles))


def _unrepeatable(game: str, found: Arrangement) -> str:
    note = f"{game} is not replayable: equal seeds do not give equal games, so "
    if found.kind == "alone":
        return note + "returns are compared by number alone"
    if found.kind == "turns":
        return note + "games are not paired; seats still change in turn"
    return note + "the games of a block have different seeds"


def _kind_notes(found: Arrangement, roles: Sequence[str], players: Sequence[Entrant]) -> list[str]:
    """What the games of a match answer, where that is not a table of as many players as seats."""
    seats, games, first = len(roles), len(found.sittings), found.sittings[0]
    match found.kind:
        case "copies" if len(players) == 2:
            return [
                f"two players, {seats} seats: each in turn plays alone among copies of the other, "
                "in every seat"
            ]
        case "copies":
            return [f"copies of the {len(players)} players fill the {seats} seats in turn"]
        case "groups":
            return [
                f"{len(players)} players at tables of {seats}: in every {games} games each takes "
                "every seat and meets each other one equally often"
            ]
        case "partners":
            return [
                "each player plays with copies of itself (self-play) and with each other player "
                "(cross-play), in every seat"
            ]
        case "fixed" | "roles" if games == 1:
            named = zip(first, roles, strict=True)
            taken = dict.fromkeys(f"{players[player].label} is {role}" for player, role in named)
            shown = ", ".join(taken)
            return [
                f"seats cannot be swapped ({shown}), so games are not paired and the score holds "
                "what the roles give"
            ]
        case "roles":
            return [
                "roles differ: copies of one player fill the seats of a role, against every choice "
                "for the others; what can be compared are players of one role"
            ]
        case _:
            return []


class SeatedPlayers(NamedTuple):
    """The players of a match and their seats.

    players    of the match, in the order named
    seating    the seat of each in every game
    objective  what decides between the players
    """

    players: tuple[ResolvedPlayer, ...]
    seating: Seating
    objective: ObjectiveKind


def _meeting(
    env: EnvSpec, game: Game, players: Sequence[ResolvedPlayer], objective: ObjectiveKind | None
) -> SeatedPlayers:
    """The players, at tables of three and more each one once, and their seating.

    There copies fill the seats, so naming a player twice adds nothing. Raises: as `seating_of`.
    """
    objective = objective or objective_of(env, game, players)
    different = tuple({player.ref: player for player in players}.values())
    if len(game.seat_roles) > 2 and len(players) > 2:
        players = different if len(different) > 1 else players[:2]
    return SeatedPlayers(tuple(players), seating_of(env, game, players, objective), objective)


def check_meeting(
    env: EnvSpec, players: Sequence[ResolvedPlayer], objective: ObjectiveKind | None = None
) -> SeatedPlayers:
    """Check that the players can meet, before anything is written.

    objective  None: what their populations count in, or else what the game declares
    Raises: PlayerError where they count differently, and as `seating_of`.
    """
    with closing(env.make(**players[0].env_options)) as game:
        return _meeting(env, game, players, objective)


def opening_plies(players: Sequence[ResolvedPlayer]) -> int:
    """The most random opening plies that a trained player's config asks for.

    The maximum makes `match a b` and `match b a` open alike.
    """
    plies = [
        player.config.evaluation.opening_plies for player in players if player.config is not None
    ]
    return max(plies, default=EvaluationConfig().opening_plies)


@dataclass(frozen=True, slots=True)
class MatchPlan:
    """Everything that decides the games of a match.

    players        in the order given
    games          number of games
    seed           of the match, from which the seeds of the games follow
    greedy         players take their most likely actions instead of sampled ones
    opening_plies  random plies at the beginning of every game
    seating        the players' seats, game by game
    batch          games that are played together from one start, one table each; the plan fixes it
                   because a network's results depend on the rows that it sees together
    whole          a batch can be repeated exactly, so an unfinished one is played again as a whole
    chance         the seed decides more than the opening
    objective      what decides between the players: games won, margins or returns
    notes          what a reader of the results should know
    """

    players: tuple[ResolvedPlayer, ...]
    games: int
    seed: int
    greedy: bool
    opening_plies: int
    seating: Seating
    batch: int
    whole: bool
    chance: bool
    objective: ObjectiveKind = "win"
    notes: tuple[str, ...] = ()

    @property
    def batches(self) -> int:
        return -(-self.games // self.batch)

    def batch_games(self, batch: int) -> range:
        """Indices of the games of a batch."""
        return range(batch * self.batch, min((batch + 1) * self.batch, self.games))

    def game(self, index: int) -> PlannedGame:
        """Game `index` of the match, its seats filled by index of the player.

        The games of a paired block share their seed and their opening.
        """
        block, position = divmod(index, len(self.seating.sittings))
        game_seed = integer(self.seed, "match", block if self.seating.paired else index, bits=31)
        return planned_game(
            self.seating.sitting(index),
            index,
            game_seed,
            ("match", self.seed, block, position),
            opening=(self.opening_plies, game_seed),
            record_actions=True,
            greedy=self.greedy,
            pair=block if self.seating.paired else None,
        )

    def settings(self) -> dict[str, int | bool | str]:
        """The settings that are stored with a match, besides players, number and seed."""
        kind, block = self.seating.kind, len(self.seating.sittings)
        return {
            "greedy": self.greedy,
            "opening_plies": self.opening_plies,
            "paired": self.seating.paired,
            "batch": self.batch,
            **({} if kind in STORED_BEFORE else {KIND_KEY: kind, "block": block}),
            **({} if self.objective == "win" else {OBJECTIVE_KEY: self.objective}),
        }


def plan_match(
    env: EnvSpec,
    players: Sequence[ResolvedPlayer],
    games: int,
    seed: int,
    *,
    greedy: bool,
    batch: int,
    plies: int | None = None,
    objective: ObjectiveKind | None = None,
) -> MatchPlan:
    """The plan of a match.

    games      rounded up to whole blocks
    batch      games played together, rounded up to whole blocks
    plies      random plies at the beginning; None for what the players' configs ask for
    objective  what decides between the players, and their seating; None: as `check_meeting`
    Raises: EnvOptionsError for options that the game does not take; and as `check_meeting`.
    """
    with closing(env.make(**players[0].env_options)) as game:
        named, seating, counted = _meeting(env, game, players, objective)
        if plies is None:
            plies = opening_plies(players) if opens_at_random(env, game) else 0
    together = len(seating.sittings)
    planned = -(-games // together) * together
    batch = -(-batch // together) * together
    whole = env.replayable and all(player.program is None for player in named)
    return MatchPlan(
        named,
        planned,
        seed,
        greedy,
        plies,
        seating,
        batch,
        whole,
        env.chance,
        counted,
        (*seating.notes, *_places(seating, counted), *_rounded(games, planned, together)),
    )


def _places(seating: Seating, objective: ObjectiveKind) -> list[str]:
    """A note where margins count and yet do not decide."""
    if objective != "margin" or seating.duel:
        return []
    return ["margins decide between two players at a table of two seats; here places count"]


def plan_again(env: EnvSpec, players: Sequence[ResolvedPlayer], match: Match) -> MatchPlan:
    """The plan of a stored match.

    players  those of the match, resolved anew
    env      the match's game, resolved anew
    Raises: MatchError when this version would plan it differently; and as `plan_match`.
    """
    settings = {key: value for key, value in match.settings.items() if key not in _ENDS}
    if "batch" not in settings:
        raise MatchError(
            f"match {match.id} was played by an older version, which stored no plan to go on "
            "with; play it anew: arena match A B"
        )
    plan = plan_match(
        env,
        players,
        stored_test(match)[0],
        match.seed,
        greedy=bool(settings["greedy"]),
        batch=int(settings["batch"]),
        plies=int(settings["opening_plies"]),
        objective=settings.get(OBJECTIVE_KEY, "win"),
    )
    if plan.settings() != settings:
        raise MatchError(
            f"match {match.id} was planned as {settings}, but its players and game would now be "
            f"planned as {plan.settings()}; play it anew"
        )
    return plan


def _rounded(games: int, planned: int, together: int) -> list[str]:
    """A note where more games are planned than were asked for. together: games of a unit."""
    if planned == games:
        return []
    units = "pairs" if together == 2 else f"rounds of {together}"
    asked = "1 game was" if games == 1 else f"{games} games were"
    return [f"{asked} asked for; {planned} are planned, because games come in {units}"]
