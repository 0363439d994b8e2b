"""The options of a match of Doom, in `env.options`."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pbt.envs.doom.options import (
    DoomNames,
    SceneOptions,
    choice_problems,
    least_problems,
    parsed,
    scene_problems,
    unlike,
)
from pbt.errors import EnvOptionsError
from pbt.native import doom_preload

# The engine's own limit, bots included.
MOST_PLAYERS = 16
REWARDS = ("frags", "lead")
LOCK_STEPS = ("auto", "helper", "barrier")

_MOVING = ("MOVE_FORWARD", "MOVE_BACKWARD", "MOVE_LEFT", "MOVE_RIGHT", "ATTACK")
_WEAPONS = tuple(f"SELECT_WEAPON{slot}" for slot in range(1, 8))
BUTTONS = {
    # Petrenko et al. 2020, table A.4: seven heads of 3, 3, 2, 2, 2, 8 and 21 choices, together
    # 12 096 actions.
    "full": (*_MOVING, "SPEED", "USE", *_WEAPONS, "TURN_LEFT_RIGHT_DELTA"),
    # Section 4.3 names five heads for Battle and Battle2: without the weapons and without using
    # things. It does not say how many turns there are. With the 21 of table A.4 these are 756
    # actions; the code that was released has eleven turns up to 10 degrees, which makes 396
    # (`turns`, `turn_limit`).
    "battle": (*_MOVING, "SPEED", "TURN_LEFT_RIGHT_DELTA"),
    # One weapon and a small room: 54 actions.
    "arena": (*_MOVING, "TURN_LEFT", "TURN_RIGHT"),
}
"""Sets of buttons by name."""

# What a person at the screen can read off it (Petrenko et al. 2020, section A.3).
MEASUREMENTS = (
    "HEALTH",
    "ARMOR",
    "FRAGCOUNT",
    "PLAYER_COUNT",
    "SELECTED_WEAPON",
    "SELECTED_WEAPON_AMMO",
    "ATTACK_READY",
    "DEAD",
    *(f"WEAPON{slot}" for slot in range(1, 8)),
    *(f"AMMO{slot}" for slot in range(1, 8)),
)


@dataclass(frozen=True)
class MatchOptions(SceneOptions):
    """The options of one match.

    players           seats, each with an engine of its own; one seat plays alone against bots
    bots              opponents that come with the engine and take no seat
    bot_skill         0 to 100, for aiming, reacting and the rest; None: bots with names and
                      characters of their own
    bot_curriculum    in games of a training, bots follow the table's results (`bot_curriculum.py`)
                      instead of `bot_skill`, which other games take; for one player
    max_tics          length of a game, at 35 tics a second; its end is a termination
    buttons           "full", "battle", "arena", or names of ViZDoom's buttons; each group of
                      buttons that exclude each other is a head
    reward            the game's own: "frags", or "lead": one's frags less the mean of the others'
                      (with two players the sum is zero)
    respawn_delay_s   the dead wait this many seconds
    spawn_protection  players and bots cannot be hurt for two seconds after they appear
    hud               the bar with health, ammunition and weapons is drawn on the screen
    warmup_tics       without action before a game begins: players may appear on one spot, and one
                      of them dies of it
    lock_step         "helper": a library in the engines keeps players in step. "barrier": the
                      match's process waits for every player after every tic, which is slower, and
                      with more than two players equal seeds and actions may make different games.
                      "auto": the helper where it was built
    deadline_s        for one step; a match that takes longer is ended, and its game voided
    start_deadline_s  for starting the engines of a match of two, and again for each of its games to
                      begin, with every player there and alive; a second more for every further
                      player. A worker does nothing else meanwhile
    """

    scenario: str = "multi_duel"
    frame_skip: int = 2
    players: int = 2
    bots: int = 0
    bot_skill: int | None = None
    bot_curriculum: bool = False
    max_tics: int = 2100
    buttons: str | tuple[str, ...] = "full"
    reward: str = "frags"
    respawn_delay_s: int = 0
    spawn_protection: bool = False
    hud: bool = False
    warmup_tics: int = 10
    lock_step: str = "auto"
    deadline_s: float = 3.0
    start_deadline_s: float = 8.0

    @property
    def start_limit_s(self) -> float:
        """Seconds for starting the engines of this match, and for each of its games to begin."""
        return self.start_deadline_s + max(0, self.players - 2)

    @property
    def longest_wait_s(self) -> float:
        """Seconds for one call: the first game begins after the start of the engines."""
        return max(2 * self.start_limit_s, self.deadline_s)

    @property
    def button_names(self) -> tuple[str, ...]:
        """Names of the buttons, in the order of the engine's."""
        return (
            BUTTONS[self.buttons]
            if isinstance(self.buttons, str)
            else tuple(name.upper() for name in self.buttons)
        )

    @property
    def seen(self) -> tuple[str, ...]:
        """Names of the variables that are seen beside the screen, each once."""
        return (
            MEASUREMENTS
            if self.variables is None
            else tuple(dict.fromkeys(name.upper() for name in self.variables))
        )

    @property
    def score_names(self) -> tuple[str, ...]:
        """Variables with the frags of all players and bots, by the engine's numbers."""
        return tuple(
            f"PLAYER{number}_FRAGCOUNT" for number in range(1, self.players + self.bots + 1)
        )


def read_match_options(given: Mapping[str, Any], known: DoomNames) -> MatchOptions:
    """The checked options.

    Raises: EnvOptionsError with everything that is wrong.
    """
    options = parsed(MatchOptions, given)
    problems = choice_problems(
        {"reward": (options.reward, REWARDS), "lock_step": (options.lock_step, LOCK_STEPS)}
    )
    problems += least_problems(
        options,
        {
            "players": 1,
            "bots": 0,
            "bot_skill": 0,
            "max_tics": 1,
            "respawn_delay_s": 0,
            "warmup_tics": 1,
        },
    )
    problems += [
        f"{name} = {value}: must be more than 0 seconds"
        for name in ("deadline_s", "start_deadline_s")
        if not 0 < (value := getattr(options, name)) < float("inf")
    ]
    if options.lock_step == "helper" and doom_preload() is None:
        problems.append(
            'lock_step = "helper": not compiled here; install a C compiler and then '
            'pbt-arena again, or say "auto", which is slower'
        )
    problems += _player_problems(options)
    problems += _button_problems(options, known) + scene_problems(options, known)
    if problems:
        raise EnvOptionsError(problems)
    return options


def _player_problems(options: MatchOptions) -> list[str]:
    """What is wrong with the numbers of players and bots and their skill, one line each."""
    problems = []
    if options.players + options.bots > MOST_PLAYERS:
        problems.append(
            f"players + bots = {options.players + options.bots}: Doom has room for {MOST_PLAYERS}"
        )
    if options.players == 1 and not options.bots:
        problems.append(
            "players = 1 and bots = 0: no opponent; add bots, or play a scenario alone: "
            'env.name = "doom"'
        )
    if options.bot_skill is not None and options.bot_skill > 100:
        problems.append(f"bot_skill = {options.bot_skill}: must be at most 100")
    if options.bot_curriculum and options.players != 1:
        problems.append(
            f"bot_curriculum = true: bots follow the results of one player, and players = "
            f"{options.players}; say players = 1, or leave it out"
        )
    if options.bot_curriculum and options.bot_skill is None:
        problems.append(
            "bot_curriculum = true: games that are no training need a skill, too; say "
            "bot_skill = 100"
        )
    return problems


def _button_problems(options: MatchOptions, known: DoomNames) -> list[str]:
    """What is wrong with the buttons, one line each."""
    if isinstance(options.buttons, str):
        if options.buttons in BUTTONS:
            return []
        return ["buttons" + unlike("", options.buttons, BUTTONS, "set of buttons")]
    if not options.buttons:
        return ["buttons = []: expected at least one"]
    unknown = [
        f"buttons.{place}" + unlike("", name, sorted(known.buttons), "button")
        for place, name in enumerate(options.button_names)
        if name not in known.buttons
    ]
    twice = sorted(name for name, times in Counter(options.button_names).items() if times > 1)
    return unknown + [
        f"buttons: {name} stands there more than once; expected each once" for name in twice
    ]
