"""`arena.evaluate`: the returns of a player, measured by itself."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from arena.argument_kinds import check_kinds
from arena.matches.game_list import Progress
from arena.matches.lengths import EPISODES
from arena.matches.returns import Returns, evaluate_player
from arena.players.resolve import ResolvedPlayer
from arena.python.arguments import check_counts
from arena.python.own_games import Env
from arena.python.players import NamedPlayers, named_players
from arena.python.process import left_as_it_was


@dataclass(frozen=True, slots=True)
class FlatEpisode:
    """An episode of an evaluation, as a flat record.

    player       its name
    episode      number of the episode, from 0
    mean_return  unshaped sum of the player's rewards; in several seats the mean over them
    points       the game's own count, as mean_return; None where it has none
    decisions    of all seats
    """

    player: str
    episode: int
    mean_return: float
    points: float | None
    decisions: int


@dataclass(frozen=True)
class EvaluationResult:
    """The returns of a player over episodes.

    player       its name
    env          the game
    episodes     number of episodes that were played
    planned      number of episodes that were asked for
    seed         of the episodes
    greedy       the player took its most likely actions
    mean_return  mean over episodes of the unshaped sum of rewards
    low          lower end of the mean's 95 % interval, by Student's t; None for one episode, or
                 equal ones
    high         upper end, None as low
    seats        names of the seats that the player took
    interim      a KeyboardInterrupt ended it early
    errors       number of tries that the game spoiled by raising; they were played again
    spoiled      that were too many: do not trust the numbers
    beside       the other players that were named, over the same episodes
    returns      the episodes, as the command line has them
    """

    player: str
    env: str
    episodes: int
    planned: int
    seed: int
    greedy: bool
    mean_return: float
    low: float | None
    high: float | None
    seats: tuple[str, ...]
    interim: bool
    errors: int
    spoiled: bool
    returns: Returns = field(repr=False)
    beside: "tuple[EvaluationResult, ...]" = ()

    def records(self) -> list[FlatEpisode]:
        """A flat record for each episode, those of the players beside it after its own."""
        returns = self.returns
        points = returns.points or (None,) * len(returns.returns)
        rows = zip(returns.returns, points, returns.steps, strict=True)
        own = [FlatEpisode(self.player, number, *row) for number, row in enumerate(rows)]
        return own + [record for other in self.beside for record in other.records()]

    def lead_over(self, other: "EvaluationResult") -> tuple[float, float, float] | None:
        """(mean, low, high) of how much more this player returned, on equal seeds.

        None where the episodes differ, or all leads are equal.
        """
        return self.returns.lead_over(other.returns)


def evaluate(
    player: str,
    *others: str,
    episodes: int = EPISODES,
    seed: int = 1,
    greedy: bool = False,
    data: Path | str | None = None,
    env: Env | None = None,
    options: Mapping[str, Any] | None = None,
    objective: str | None = None,
    on_progress: Progress | None = None,
) -> EvaluationResult:
    """Measure the returns of a player over episodes; nothing is recorded.

    player       its name; in games of several seats `random` plays the others
    others       players to compare it with, over the same episodes: `beside` of the result
    greedy       take the most likely actions instead of sampled ones
    on_progress  called with (episodes finished, episodes planned)
    The other arguments are those of `arena.match`.
    A KeyboardInterrupt ends it early; before the first finished episode it is raised.
    Raises: PlayerError for names without a player, EnvError when the game keeps raising.
    """
    named = named_players(
        [player, *others], data=data, env=env, options=options, objective=objective
    )
    results: list[EvaluationResult] = []
    for one in named.players:
        if not results or not results[-1].interim:
            results.append(
                evaluate_one(
                    named, one, episodes=episodes, seed=seed, greedy=greedy, on_progress=on_progress
                )
            )
    return replace(results[0], beside=tuple(results[1:]))


def evaluate_one(
    named: NamedPlayers,
    player: ResolvedPlayer,
    *,
    episodes: int,
    seed: int,
    greedy: bool,
    on_progress: Progress | None,
) -> EvaluationResult:
    """One of the named players, in the role and by the objective of the first. Raises: as above."""
    check_counts("the evaluation", episodes=episodes, seed=seed)
    check_kinds("the evaluation", {"greedy": greedy, "on_progress": on_progress})
    first = named.players[0]
    with left_as_it_was():
        returns = evaluate_player(
            player.in_role(first.role),
            named.env,
            episodes=episodes,
            seed=seed,
            greedy=greedy,
            on_progress=on_progress,
            objective=first.objective,
        )
    low, high = returns.return_interval or (None, None)
    return EvaluationResult(
        player=player.label,
        env=player.env_name,
        episodes=len(returns.returns),
        planned=returns.planned,
        seed=returns.seed,
        greedy=returns.greedy,
        mean_return=returns.mean_return,
        low=low,
        high=high,
        seats=returns.seats,
        interim=returns.interim,
        errors=len(returns.errors),
        spoiled=returns.spoiled,
        returns=returns,
    )
