"""A match of Doom: several players, or one among bots."""

from collections.abc import Mapping
from contextlib import suppress
from functools import lru_cache
from typing import Any, NoReturn

import numpy as np
from gymnasium import spaces

from pbt.envs.contract import EnvSpec, Outcome, Role, SeatTurn, ranking_from_scores
from pbt.envs.doom.bot_curriculum import FIRST_LEVEL, drawn_skills, level_after
from pbt.envs.doom.buttons import heads_of, turn_values
from pbt.envs.doom.game import action_space, swept
from pbt.envs.doom.machine import machine_problems
from pbt.envs.doom.match_link import MatchLink
from pbt.envs.doom.match_memory import MatchMemory
from pbt.envs.doom.match_options import MatchOptions, read_match_options
from pbt.envs.doom.match_rewards import MatchRewards
from pbt.envs.doom.match_room import room_problems
from pbt.envs.doom.options import OWN_RESIZE, TICS_PER_S, named_paths
from pbt.envs.doom.scene import known
from pbt.envs.doom.variables import LARGEST, scaled, scales
from pbt.errors import EnvCrash, EnvOptionsError
from pbt.native import doom_preload
from pbt.processes.watched_time import WatchedTime

_REMEMBERED_ACTIONS = 20_000
# After the warm-up of the options: until every player is alive and every bot has come.
_LONGEST_WARMUP_TICS, _WARMUP_TICS = 700, 5


class DoomMatch:
    """All seats act at the same time, and each has an engine of its own.

    The engines are started at the first game and play one game after the other. An observation is
    {"screen": [height, width, 3] uint8, "variables": [n] float32, scaled to about 1}, also at the
    end.

    A game ends when its time is over, which is a termination, or when the scenario ends it, at an
    unknown tic of the last step; all tics that were asked for in that step count. The seed decides
    the first game of the engines. Later ones go on with the engines' random numbers, as network
    games of Doom do, so a game cannot be replayed by its seed.

    Raises: EnvCrash when an engine ends, does not answer in time, or plays another game than the
    others. The game is lost then, and the table goes on.
    """

    def __init__(self, options: MatchOptions) -> None:
        self._options = options
        self._link: MatchLink | None = None
        self._begun = False
        self._measured: list[list[float]] = []
        # Of the curriculum: the level of the next game and of this one, None outside a training.
        self._next_level: float | None = None
        self._level: float | None = None
        heads = heads_of(options.button_names, turn_values(options.turns, options.turn_limit))
        self._pressed = lru_cache(_REMEMBERED_ACTIONS)(heads.pressed)
        self._counted = MatchRewards(options)
        self._scales = scales(options.seen)
        screen = spaces.Box(0, 255, (options.height, options.width, 3), np.uint8)
        variables = spaces.Box(-LARGEST, LARGEST, (len(options.seen),), np.float32)
        space = spaces.Dict({"screen": screen, "variables": variables}) if options.seen else screen
        self.roles: tuple[Role, ...] = (Role("player", space, action_space(heads.sizes)),)
        self.seat_names: tuple[str, ...] = tuple(
            f"player{number}" for number in range(1, options.players + 1)
        )
        self.seat_roles: tuple[int, ...] = (0,) * options.players
        self.reward_terms: tuple[str, ...] = ("reward", *(term.name for term in options.terms))

    @property
    def longest_wait_s(self) -> float:
        """See `contract.Deadlined`."""
        return self._options.longest_wait_s

    def machine_problems(self, tables: int) -> list[str]:
        """See `contract.Needing`."""
        options = self._options
        return machine_problems(tables, options.players, (options.height, options.width))

    def remark(self) -> str:
        """Says that the library is missing, where the options leave the lock-step open."""
        if (
            self._options.players == 1
            or self._options.lock_step != "auto"
            or doom_preload() is not None
        ):
            return ""
        return (
            "matches wait for every player after every tic: the library that keeps them "
            "in step is not compiled, see `arena doctor`"
        )

    def prepare(self) -> None:
        """Start the process of the match, which is the longer half of its start.

        The seed of the first game decides how the engines start, so they are not started here.
        """
        if self._link is None:
            with suppress(EnvCrash):
                self._link = MatchLink(self._options, self._counted.names)

    def reset(self, seed: int) -> list[SeatTurn]:
        """Start a game; the first one starts the engines."""
        if self._link is None:
            self._link = MatchLink(self._options, self._counted.names)
        if not self._link.started:
            try:
                self._link.start(seed)
            except BaseException:
                self.close()
                raise
        self._begun = False
        beginning = WatchedTime()
        self._choose_bots(seed, beginning)
        self._ask(b"N", self._options.warmup_tics, beginning)
        self._memory.pressed[:] = 0.0
        self._wait_for_everybody(beginning)
        self._first_tic, self._tics = self._now(), 0
        self._frags_before, self._scores_before = self._column("FRAGCOUNT"), self._scores()[0]
        self._counted.begin()
        return self._turns([[0.0] * len(self.reward_terms)] * self._options.players, 0, over=False)

    def begin(self, actions: Mapping[int, tuple[int, ...]]) -> None:
        """Have the engines play without waiting for them.

        The next `step` with the same actions brings the result.
        """
        pressed = [self._pressed(actions[seat]) for seat in range(self._options.players)]
        self._asked_tics = min(self._options.frame_skip, self._options.max_tics - self._tics)
        self._memory.pressed[:] = pressed
        self._running.begin(b"P", self._asked_tics)
        self._begun = True

    def answered(self, timeout_s: float) -> bool:
        """See `contract.Answering`."""
        return self._link is None or self._link.answered(timeout_s)

    def step(self, actions: Mapping[int, tuple[int, ...]]) -> list[SeatTurn]:
        """Hold the buttons for `frame_skip` tics, fewer where the game ends."""
        if not self._begun:
            self.begin(actions)
        self._begun = False
        self._finish()
        before, self._measured = self._measured, self._measure()
        tics = self._now() - self._first_tic - self._tics
        ended = bool(self._memory.over.any())
        if ended and tics <= 0:
            # The clock of a map that is over stands at 0.
            tics = self._asked_tics
        elif tics != self._asked_tics and not ended:
            self._lost(f"{tics} tics were played of {self._asked_tics} that were asked for")
        self._tics += tics
        over = ended or self._tics >= self._options.max_tics
        if over:
            self._reason = "rules" if ended else "timeout"
            self._check_scores()
        return self._turns(self._counted.rewards(self._measured, before), tics, over)

    def outcome(self) -> Outcome:
        """Ranking by frags, less one for each suicide; they are the points as well."""
        frags = self.points_now()
        return Outcome(ranking_from_scores(frags), frags, self._reason)

    def points_now(self) -> tuple[float, ...]:
        """Frags since the game began, by seat."""
        return tuple(
            after - before
            for after, before in zip(self._column("FRAGCOUNT"), self._frags_before, strict=True)
        )

    @property
    def follows_results(self) -> bool:
        """See `contract.Curricular`."""
        return self._options.bot_curriculum

    def train_at(self, level: float) -> None:
        """See `contract.Curricular`."""
        self._next_level = level or FIRST_LEVEL

    def next_level(self) -> float:
        """See `contract.Curricular`."""
        assert self._level is not None, "a game of a training is over"
        pairs = zip(self._scores()[0], self._scores_before, strict=True)
        others = [after - before for after, before in pairs]
        # By the engine's number, the player's own frags stand among those of all.
        own = others.pop(int(self._column("PLAYER_NUMBER")[0]))
        return level_after(self._level, own, others)

    def engine_tics(self) -> tuple[int, ...]:
        """The tic of the game, warm-up included, that each seat's engine says it has come to."""
        return tuple(self._memory.tics.tolist())

    def close(self) -> None:
        link, self._link = self._link, None
        if link is not None:
            link.close()

    @property
    def _running(self) -> MatchLink:
        assert self._link is not None, "reset comes first, also after an EnvCrash"
        return self._link

    @property
    def _memory(self) -> MatchMemory:
        return self._running.memory

    def _finish(self, beginning: WatchedTime | None = None) -> None:
        """Wait for what was begun.

        Raises: EnvCrash, after which there is no match.
        """
        try:
            self._running.finish(beginning)
        except BaseException:
            self.close()
            raise

    def _ask(self, letter: bytes, tics: int, beginning: WatchedTime) -> None:
        self._running.begin(letter, tics)
        self._finish(beginning)

    def _lost(self, found: str) -> NoReturn:
        link, self._link = self._running, None
        raise link.crash(f"the players are not in step: {found}")

    def _measure(self) -> list[list[float]]:
        """The variables by seat. Health below zero, as after some deaths, counts as zero."""
        health, measured = self._counted.column["HEALTH"], self._memory.measured
        if (measured[:, health] < 0).any():
            np.maximum(measured[:, health], 0.0, out=measured[:, health])
        rows: list[list[float]] = measured.tolist()
        return rows

    def _column(self, name: str) -> list[float]:
        column = self._counted.column[name]
        return [row[column] for row in self._measured]

    def _now(self) -> int:
        """The tic that all engines have come to."""
        tics = self.engine_tics()
        if min(tics) != max(tics):
            self._lost(f"their engines have come to tics {list(tics)}")
        return tics[0]

    def _wait_for_everybody(self, beginning: WatchedTime) -> None:
        """Play on until all players are there and alive.

        With many players some are always dead. After the longest warm-up it is enough that each has
        been alive.

        Raises: EnvCrash for players that do not come.
        """
        options, lived = self._options, set[int]()
        waited, total = options.warmup_tics, options.players + options.bots
        longest = waited + _LONGEST_WARMUP_TICS + round(TICS_PER_S * options.respawn_delay_s)
        while True:
            self._measured = self._measure()
            living = {seat for seat, dead in enumerate(self._column("DEAD")) if not dead}
            lived |= living
            counts = [int(count) for count in self._column("PLAYER_COUNT")]
            enough = living if waited < longest else lived
            if len(enough) == options.players and counts == [total] * options.players:
                return
            if waited >= longest:
                came = min(counts) - (options.players - len(lived))
                link, self._link = self._running, None
                raise link.crash(f"{came} of {total} players and bots came within {waited} tics")
            self._ask(b"P", tics := min(_WARMUP_TICS, longest - waited), beginning)
            waited += tics

    def _choose_bots(self, seed: int, beginning: WatchedTime) -> None:
        """Give bots the skills of a game of the curriculum, if the next one is."""
        self._level, self._next_level = self._next_level, None
        if self._level is not None:
            for skill in drawn_skills(seed, self._level, self._options.bots):
                self._ask(b"B", skill, beginning)

    def _scores(self) -> list[list[int]]:
        """By seat, the frags of all players and bots as its engine counts them."""
        return [[int(row[column]) for column in self._counted.scores] for row in self._measured]

    def _check_scores(self) -> None:
        scores = self._scores()
        if any(row != scores[0] for row in scores):
            self._lost(f"their engines count different frags, {scores}")

    def _turns(self, rewards: list[list[float]], tics: int, over: bool) -> list[SeatTurn]:
        screens = self._memory.screens.copy()
        observations: list[Any] = list(screens)
        if count := len(self._scales):
            variables = scaled(self._memory.measured[:, :count], self._scales)
            observations = [
                {"screen": screen, "variables": row}
                for screen, row in zip(screens, variables, strict=True)
            ]
        return [
            SeatTurn(seat, observations[seat], None, row, terminated=over, tics=tics)
            for seat, row in enumerate(rewards)
        ]


def make(**options: Any) -> DoomMatch:
    """One table.

    options  see MatchOptions
    Raises: EnvOptionsError for options that are wrong, EnvError without ViZDoom.
    """
    read = read_match_options(options, known())
    if problems := room_problems(read):
        raise EnvOptionsError(problems)
    swept()
    return DoomMatch(read)


SPEC = EnvSpec(
    name="doom_match",
    make=make,
    chance=True,
    replayable=False,
    winners="most frags when the time is over",
    objective="win",
    description=(
        "A match of Doom: duel, deathmatch, with or without bots, from pixels "
        "(env.options.scenario, players, bots)"
    ),
    paths=named_paths,
    tics_per_s=TICS_PER_S,
    own_resize=OWN_RESIZE,
)
