"""Plays one game with random legal actions and judges every turn.

`check_game`, the probe of user files and the contract tests are built on it.
"""

import hashlib
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from pbt.envs.actions import ActionSpec
from pbt.envs.contract import (
    Action,
    Game,
    Outcome,
    SeatTurn,
    env_error,
    ranking_from_scores,
)
from pbt.envs.spaces import ObservationCodec
from pbt.envs.testing import turn_problems
from pbt.errors import EnvError
from pbt.seeding import generator

T = TypeVar("T")


@dataclass(frozen=True)
class Playthrough:
    """One game as it was played.

    problems   broken promises of the contract, in order; the game is left at the first
    unusable   those of them that are numbers which cannot be learned from
    warnings   what training takes though it is not what the space says: its kind -> the first one
    error      set when the game's code raised
    decisions  actions of all seats
    step_s     seconds inside the game's own reset and step
    digest     of every observation, mask, reward, flag and action in order: equal digests, equal
               games
    outcome    as the game declared it; None where not every seat was over within the step limit
    returns    per seat, the sum of the game's own rewards
    """

    seed: int
    problems: tuple[str, ...]
    unusable: tuple[str, ...]
    warnings: Mapping[str, str]
    error: EnvError | None
    decisions: int
    step_s: float
    digest: str
    outcome: Outcome | None
    returns: tuple[float, ...]


class Broken(Exception):
    """The game cannot be judged further."""


class Referee:
    """Judges the turns of one table. Construct it once per table.

    Raises: EnvError where a space is not supported.
    """

    def __init__(self, game: Game) -> None:
        self.game = game
        self.specs = [ActionSpec.of(role.action_space) for role in game.roles]
        self.codecs = [ObservationCodec(role.observation_space) for role in game.roles]

    def start(self, seed: int) -> None:
        self._seed, self._steps = seed, 0
        self.digest = hashlib.blake2b(digest_size=16)
        self.over: set[int] = set()
        self.returns = [0.0] * len(self.game.seat_names)
        self.problems: list[str] = []
        self.unusable: list[str] = []
        self.warnings: dict[str, str] = {}
        self._acted: set[int] = set()

    def judge(self, turns: Sequence[SeatTurn], *, first: bool) -> dict[int, SeatTurn]:
        """The turns of the seats that are due.

        Raises: Broken after noting the problems.
        """
        self._steps += not first
        seats = [turn.seat for turn in turns]
        if len(set(seats)) != len(seats):
            self._note_problem(
                f"turns for seats {seats}; expected each seat once; merge what one seat "
                "learns at one moment into one turn"
            )
        for turn in turns:
            self._judge_turn(turn, first)
        if self.problems:
            raise Broken
        for turn in turns:
            self._note(turn)
        self.over.update(turn.seat for turn in turns if turn.over)
        self._acted -= set(seats)
        due = {turn.seat: turn for turn in turns if not turn.over}
        if not due and len(self.over) < len(self.game.seat_names):
            waiting = sorted(set(range(len(self.game.seat_names))) - self.over)
            self._note_problem(
                f"no seat is due, yet seats {waiting} are not over; expected a turn for the "
                "next to act, or final turns for all"
            )
            raise Broken
        return due

    def _note_problem(self, problem: str) -> None:
        self.problems.append(f"{self._where}: {problem}")

    @property
    def _where(self) -> str:
        return f"seed {self._seed}, step {self._steps}"

    def _judge_turn(self, turn: SeatTurn, first: bool) -> None:
        """Note what is wrong with a turn, and what is odd about one that is right."""
        if not 0 <= turn.seat < len(self.game.seat_names):
            expected = f"expected 0 to {len(self.game.seat_names) - 1}"
            return self._note_problem(f"a turn for seat {turn.seat}; {expected}")
        seat = f"seat {turn.seat} ({self.game.seat_names[turn.seat]})"
        if turn.seat in self.over:
            return self._note_problem(
                f"{seat}: a turn after its episode ended; expected none until the next reset"
            )
        index = self.game.seat_roles[turn.seat]
        role, codec, terms = self.game.roles[index], self.codecs[index], self.game.reward_terms
        formal = (
            turn_problems.observation_problem(role, turn),
            turn_problems.mask_problem(role, self.specs[index], turn),
            turn_problems.reward_problem(terms, turn, first),
            turn_problems.tics_problem(turn, turn.seat in self._acted, first),
        )
        for problem in filter(None, formal):
            self._note_problem(f"{seat}: {problem}")
        if formal[0] or formal[2]:
            return
        if useless := turn_problems.number_problem(codec, terms, turn):
            self._note_problem(f"{seat}: {useless}")
            self.unusable.append(self.problems[-1])
            return
        for warning in turn_problems.observation_warnings(role, codec, turn):
            kind = f"role {index}: {warning.partition(' has values')[0]}"
            self.warnings.setdefault(kind, f"{self._where}: {seat}: {warning}")

    def _note(self, turn: SeatTurn) -> None:
        rewards = [float(reward) for reward in turn.rewards]
        self.returns[turn.seat] += sum(rewards[:1])
        facts = (turn.seat, turn.terminated, turn.truncated, turn.tics, rewards)
        self.digest.update(repr(facts).encode())
        if turn.observation is not None:
            codec = self.codecs[self.game.seat_roles[turn.seat]]
            for array in codec.arrays(turn.observation).values():
                self.digest.update(array.tobytes())
        if turn.mask is not None and not turn.over:
            self.digest.update(turn.mask.tobytes())

    def act(self, due: Mapping[int, SeatTurn], rng: np.random.Generator) -> dict[int, Action]:
        actions = {}
        for seat in sorted(due):
            spec = self.specs[self.game.seat_roles[seat]]
            actions[seat] = spec.drawn(due[seat].mask, rng.random(spec.width))
        self._acted.update(actions)
        self.digest.update(repr(sorted(actions.items())).encode())
        return actions

    def judge_outcome(self, outcome: Outcome) -> None:
        seats = len(self.game.seat_names)
        ranking = tuple(outcome.ranking)
        if len(ranking) != seats or ranking != ranking_from_scores([-place for place in ranking]):
            self._note_problem(
                f"outcome: ranking {ranking}; expected one place per seat ({seats}), 0 = "
                "best, ties sharing the smaller number"
            )
        if outcome.points is not None and (
            len(outcome.points) != seats or not np.isfinite(outcome.points).all()
        ):
            self._note_problem(
                f"outcome: points {outcome.points}; expected one finite number per seat "
                f"({seats}), or None"
            )
        self.digest.update(repr((ranking, outcome.points, outcome.reason)).encode())

    def playthrough(
        self, error: EnvError | None, outcome: Outcome | None, decisions: int, step_s: float
    ) -> Playthrough:
        """The game as it was judged; the values that the referee does not know are given."""
        return Playthrough(
            seed=self._seed,
            problems=(*self.problems, *([str(error)] if error is not None else [])),
            unusable=tuple(self.unusable),
            warnings=dict(self.warnings),
            error=error,
            decisions=decisions,
            step_s=step_s,
            digest=self.digest.hexdigest(),
            outcome=outcome,
            returns=tuple(self.returns),
        )


def play(referee: Referee, name: str, seed: int, action_seed: int, max_steps: int) -> Playthrough:
    """Play one game and judge it. Never raises for what the game does.

    The actions depend on action_seed and the masks alone.
    """
    game = referee.game
    rng = generator(action_seed, "playthrough")
    referee.start(seed)
    steps = decisions = 0
    step_s = 0.0
    error: EnvError | None = None
    outcome: Outcome | None = None
    acting = "-"
    try:
        turns, step_s = _timed(game.reset, seed)
        due = referee.judge(turns, first=True)
        while due and steps < max_steps:
            actions = referee.act(due, rng)
            acting = ", ".join(game.seat_names[seat] for seat in actions)
            steps += 1
            decisions += len(actions)
            turns, seconds = _timed(game.step, actions)
            step_s += seconds
            due = referee.judge(turns, first=False)
        if not due:
            outcome = game.outcome()
            referee.judge_outcome(outcome)
    except Broken:
        pass
    except EnvError as raised:
        error = raised
    # A game may raise anything, and it becomes the report's finding.
    except Exception as raised:  # noqa: BLE001
        error = env_error(name, seed, steps, acting, raised)
        error.__cause__ = raised
    return referee.playthrough(error, outcome, decisions, step_s)


def _timed(call: Callable[[T], list[SeatTurn]], argument: T) -> tuple[list[SeatTurn], float]:
    """(what the game returns, seconds that it took)."""
    began = time.perf_counter()
    turns = call(argument)
    return turns, time.perf_counter() - began
