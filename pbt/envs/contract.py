"""The game contract: what a game is to the engine.

A game seats players. `reset` and `step` return one `SeatTurn` for every seat that learns something
at that moment: the seats that must act next, and the seats whose episode just ended. Turn games
return one acting seat at a time, simultaneous games all of them; the engine treats both alike.
Every seat gets exactly one turn that is over, even a seat that never acted (its opponent folded
first).

Order of one game::

    turns = game.reset(seed)
    while any turn is not over:
        turns = game.step({turn.seat: action for each turn that is not over})
    game.outcome()

Rewards are those since the seat's previous turn, so a reward that arrives after the opponent's move
belongs to one's own last action. Reward term 0 is the game's own reward (its sum is the return);
further terms are shaping. A seat's first turn may carry rewards that no action of its own earned.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

import gymnasium
import numpy as np
from numpy.typing import NDArray

from pbt.errors import EnvError
from pbt.objective import ObjectiveKind

Action = tuple[Any, ...]
"""An action as the engine holds it, part by part: an index for each choice, then a float for each
number; see `pbt.envs.actions`.
"""


@dataclass(frozen=True)
class Role:
    """Seats that share one observation space and one action space.

    masked  every turn carries a mask of legal actions
    """

    name: str
    observation_space: gymnasium.Space[Any]
    action_space: gymnasium.Space[Any]
    masked: bool = False


@dataclass(slots=True)
class SeatTurn:
    """What one seat learns at one moment.

    observation  an element of the role's space; at the end of an episode the FINAL observation, or
                 None where the game gives none
    mask         [mask_size] bool, True = legal (see `pbt.envs.actions`); None in roles without
                 masks; of no meaning in turns that are over
    rewards      one float per reward term of the game, collected since this seat's previous turn,
                 unweighted; term 0 is the game's own
    terminated   the rules ended the seat's episode
    truncated    the seat's episode was cut off, so the value goes on
    tics         engine ticks that the seat's previous action covered (0 at reset)
    """

    seat: int
    observation: Any
    mask: NDArray[np.bool_] | None
    rewards: Sequence[float]
    terminated: bool = False
    truncated: bool = False
    tics: int = 1

    @property
    def over(self) -> bool:
        """Whether the seat's episode ended."""
        return self.terminated or self.truncated


@dataclass(frozen=True)
class Outcome:
    """How a finished game ended.

    ranking  place per seat, 0 = best, ties share the smaller number: (0, 1) the first seat won, (0,
             0) a draw, (0, 1, 1) ...
    points   the game's own count per seat (frags, goals), or None where it keeps none
    reason   "rules", "truncated", or a word of the game's own
    """

    ranking: tuple[int, ...]
    points: tuple[float, ...] | None = None
    reason: str = "rules"


@runtime_checkable
class Game(Protocol):
    """One table at which games are played one after the other.

    It is not thread-safe, and one worker owns it.
    """

    roles: tuple[Role, ...]
    seat_names: tuple[str, ...]
    seat_roles: tuple[int, ...]
    reward_terms: tuple[str, ...]

    def reset(self, seed: int) -> list[SeatTurn]:
        """Start a game. The rewards of these turns are zero, and their `tics` are 0.

        seed  0 <= seed < 2**31
        """

    def step(self, actions: Mapping[int, Action]) -> list[SeatTurn]:
        """Act.

        actions  seat -> its action, for exactly the seats that are due
        """

    def outcome(self) -> Outcome:
        """How the game ended, after every seat is over.

        The game declares it; else the ranking is that of summed (unshaped) rewards.
        """

    def close(self) -> None:
        """Release engines and windows; the game is not used again."""


ScriptedAct = Callable[
    [Mapping[str, NDArray[Any]], NDArray[np.bool_], NDArray[np.float64]], NDArray[Any]
]
"""A scripted player: a pure function of (observation leaves, mask, uniforms).

The leaves are each [N, ...], the mask is [N, A], the uniforms in [0, 1) are [N, W], one per part of
an action. It returns actions, [N, W].
"""


@runtime_checkable
class Overlapping(Protocol):
    """A game that works in processes of its own, so that several can play at the same time.

    It can be told the actions of the next step and left alone until then.
    """

    def begin(self, actions: Mapping[int, Action]) -> None:
        """Begin the step that `step` will be asked for next, with the same actions.

        Returns at once and raises nothing: `step` raises what goes wrong.
        """


@runtime_checkable
class Answering(Overlapping, Protocol):
    """An overlapping game that says when its step is done, so that no other table waits for it."""

    def answered(self, timeout_s: float) -> bool:
        """Whether `step` returns at once, or raises, after waiting for at most so long.

        It raises nothing itself. After some seconds `step` is called all the same, and waits.
        """


@runtime_checkable
class Preparing(Protocol):
    """A game whose first start takes long and waits for something outside this process."""

    def prepare(self) -> None:
        """Start what the first `reset` needs. Any thread may call it, beside other games.

        Raises: EnvError where a second try cannot help; what may have been an accident is left to
        `reset`.
        """


@runtime_checkable
class Deadlined(Protocol):
    """A game that ends by itself what does not answer.

    `env.timeout_s`, after which the whole process counts as hung, must be longer.
    """

    @property
    def longest_wait_s(self) -> float:
        """Seconds for which one call may wait."""


@runtime_checkable
class Needing(Protocol):
    """A game whose tables take something of the machine that may run out."""

    def machine_problems(self, tables: int) -> list[str]:
        """What this machine lacks for so many tables at the same time, one line each."""


@runtime_checkable
class Remarking(Protocol):
    """A game that may have a remark for the user who starts a training of it."""

    def remark(self) -> str:
        """The remark in one clause; "" where there is none."""


@runtime_checkable
class Declaring(Protocol):
    """A game that declares its objective itself, because it depends on the game's options."""

    @property
    def objective_kind(self) -> ObjectiveKind | None:
        """As `EnvSpec.objective`."""


@runtime_checkable
class Sharing(Protocol):
    """A game that may pay all its seats the same, by its rules."""

    def shares_rewards(self) -> bool:
        """Whether it does, so that no seat ever comes before another."""


@runtime_checkable
class Counting(Protocol):
    """A game whose own count can be read while it is played."""

    def points_now(self) -> tuple[float, ...] | None:
        """`Outcome.points` so far."""


@runtime_checkable
class Curricular(Protocol):
    """A game that gets harder or easier for a table of a training, by how its games went there.

    Elsewhere, in matches and evaluation games, it is as hard as its options say. All members play
    at all tables of a training, so that they meet the same levels.

    follows_results  its options ask for that
    """

    @property
    def follows_results(self) -> bool: ...

    def train_at(self, level: float) -> None:
        """Make the game that the next `reset` begins one of a training. Its seed and the level
        decide how hard it is.

        level  what `next_level` said after the table's last finished game of the training, 0 before
        """

    def next_level(self) -> float:
        """The level of the table's next game of the training, after one that is over."""


@runtime_checkable
class Readable(Protocol):
    """A game that can say its position in words, for every reader alike."""

    def position(self) -> str | None:
        """The position after the latest `reset` or `step`.

        None where seats hide something from each other.
        """

    def action_name(self, seat: int, action: Action) -> str:
        """The name of a legal action of the seat that is due, before it is played."""


@dataclass(frozen=True)
class Grid:
    """The squares of a board: the first `rows` lines of what `EnvSpec.draw` gives.

    square    action -> the square that it names, (row, column); row None: a piece falls down that
              column
    in_a_row  this many equal marks in a line win; None: something else wins
    """

    rows: int
    columns: int
    square: Callable[[int], tuple[int | None, int]]
    in_a_row: int | None = None


@dataclass(frozen=True)
class EnvSpec:
    """A registered game.

    make         builds one table; its keyword arguments come from the config's `env.options`
    chance       the seed matters beyond the seating; False: only actions decide, so matches start
                 from random plies
    replayable   seed, seats and actions reproduce the game exactly
    winners      one sentence: how the ranking comes about
    description  one sentence about the game
    scripted     named players without a network, by name ("oneply")
    paths        which of the options given are paths of the user's files: they are stored absolute,
                 and refused where only registered games may be played
    draw         a seat's observation (its leaves, as a scripted player sees them, without N) and
                 the seat -> the position as text; None: no board
    grid         where actions stand on that board; None: nowhere
    tics_per_s   of the game's engine, as people play it; None: it has no clock of its own
    objective    what results are worth (`pbt.objective`), None: not declared; a game that is
                 `Declaring` says it itself
    own_resize   the keys to set instead of `env.resize` where the game makes its images in any size
                 itself, with {height} and {width} for the numbers; "": it does not
    """

    name: str
    make: Callable[..., Game]
    chance: bool
    replayable: bool
    winners: str
    description: str = ""
    scripted: Mapping[str, ScriptedAct] = field(default_factory=dict)
    paths: Callable[[Mapping[str, Any]], Sequence[str]] = lambda options: ()
    draw: Callable[[Mapping[str, NDArray[Any]], int], str] | None = None
    grid: Grid | None = None
    tics_per_s: float | None = None
    objective: ObjectiveKind | None = None
    own_resize: str = ""


def declared_objective(env: EnvSpec, game: Game) -> ObjectiveKind | None:
    """The objective that a game of `env` declares, None where it declares none."""
    return game.objective_kind if isinstance(game, Declaring) else env.objective


def opens_at_random(env: EnvSpec, game: Game) -> bool:
    """Whether evaluation games begin with random moves, since nothing else makes them differ.

    That is so in games of turns without chance. Where all seats act at once a random action is a
    part of the result, such as a throw of rock, paper, scissors.

    game  one of `env`; it is begun to see which seats act
    """
    return not env.chance and sum(not turn.over for turn in game.reset(0)) == 1


def ranking_from_scores(scores: Sequence[float]) -> tuple[int, ...]:
    """Places by score. Higher is better, ties share the smaller place: (3, 5, 3) -> (1, 0, 1)."""
    return tuple(sum(other > score for other in scores) for score in scores)


def env_error(game: str, seed: int | None, step: int, seat: str, error: BaseException) -> EnvError:
    """The error to raise `from error` when a game's own code raised.

    It names game, seed, step and seat.
    """
    return EnvError(
        f"game {game!r} raised {type(error).__name__}: {error} (seed {seed}, step {step}, "
        f"seat {seat}); "
        "replay it with this seed, follow the game's own traceback, and fix the game"
    )
