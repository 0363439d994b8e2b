"""Games that went wrong, as files: what the game is made with, its seed and its actions.

A training writes them into its population's folder of logs; `arena env replay FILE` plays one.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec

from pbt.envs.actions import ActionSpec
from pbt.envs.contract import Game, env_error
from pbt.envs.testing.playthrough import Broken, Referee
from pbt.errors import EnvError
from pbt.files import write_whole

FORMAT = "pbt-arena game"
NAME = "game-error-{}.json"
MOST = 20
"""The files of one folder: an author needs a few of them, and a fault may come in every game."""


class ReproductionError(EnvError):
    """A file that the user named is missing, or holds no game that went wrong."""

    exit_code = 2


@dataclass(frozen=True)
class Reproduction:
    """A game that went wrong.

    env      the game's name
    options  that it is made with
    seed     that it was reset with
    actions  (seat, parts...) of every action in order, those of the last step included
    error    what went wrong, in the words of the training
    """

    env: str
    options: Mapping[str, Any]
    seed: int
    actions: Sequence[Sequence[float]]
    error: str

    def write(self, folder: Path) -> Path:
        """Write it as a file of this folder, which keeps the newest.

        Raises: OSError, also where the folder around it is away: no new tree stands in its place.
        """
        folder.mkdir(exist_ok=True)
        path = folder / NAME.format(self.seed)
        content = json.dumps({"format": FORMAT, **asdict(self)})
        write_whole(path, content + "\n", many_writers=True)
        files = [(file.stat().st_mtime_ns, file) for file in folder.glob(NAME.format("*"))]
        for _, old in sorted(files)[:-MOST]:
            old.unlink(missing_ok=True)
        return path


class _Stored(msgspec.Struct, forbid_unknown_fields=True):
    """A file of a game that went wrong, as `Reproduction.write` makes it."""

    format: Literal["pbt-arena game"]
    env: str
    options: dict[str, Any]
    seed: int
    actions: list[Annotated[list[int | float], msgspec.Meta(min_length=2)]]
    error: str


def read_reproduction(path: Path) -> Reproduction:
    """Read such a file. Raises: ReproductionError for another one."""
    try:
        stored = msgspec.json.decode(path.read_bytes(), type=_Stored)
    except OSError as error:
        raise ReproductionError(f"{path}: cannot be read ({error.strerror})") from error
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ReproductionError(
            f"{path}: no game that went wrong ({error}); expected a file that a training or a "
            f"match wrote, {NAME.format('SEED')} in a folder `logs`"
        ) from error
    actions = [tuple(action) for action in stored.actions]
    return Reproduction(stored.env, stored.options, stored.seed, actions, stored.error)


@dataclass(frozen=True)
class Replayed:
    """What became of a game that was played again.

    end      "error": it went wrong; "over": it came to its end; "open": all actions were played and
             it goes on; "other": it did not ask the same seats for actions, or does not have them
    steps    calls of its `step`
    problem  what went wrong; for "other", how it is another game
    error    what its code raised
    """

    end: Literal["error", "over", "open", "other"]
    steps: int
    problem: str = ""
    error: BaseException | None = None


def play_again(
    game: Game, reproduction: Reproduction, told: Callable[[int], None] = lambda steps: None
) -> Replayed:
    """Play it again at this table. told: called with the steps after each."""
    referee, left, steps = Referee(game), list(reproduction.actions), 0
    acting = "-"
    referee.start(reproduction.seed)
    try:
        due = referee.judge(game.reset(reproduction.seed), first=True)
        while due:
            move, left = left[: len(due)], left[len(due) :]
            if not move:
                return Replayed("open", steps)
            asked, given = sorted(due), [int(action[0]) for action in move]
            if asked != given:
                return Replayed("other", steps, f"seats {asked} are due, {given} acted then")
            if (unknown := _no_action(game, move)) is not None:
                return Replayed("other", steps, unknown)
            acting = ", ".join(game.seat_names[seat] for seat in given)
            steps += 1
            turns = game.step({int(seat): tuple(parts) for seat, *parts in move})
            due = referee.judge(turns, first=False)
            told(steps)
        referee.judge_outcome(game.outcome())
    except Broken:
        return Replayed("error", steps, referee.problems[0])
    # A game may raise anything, which is what it is played again for.
    except Exception as error:  # noqa: BLE001
        known = isinstance(error, EnvError)
        said = (
            error if known else env_error(reproduction.env, reproduction.seed, steps, acting, error)
        )
        return Replayed("error", steps, str(said), error.__cause__ or error)
    if referee.problems:
        return Replayed("error", steps, referee.problems[0])
    return Replayed("over", steps)


def _no_action(game: Game, move: Sequence[Sequence[float]]) -> str | None:
    """What in a move is no action of its seat, None where all are. move: (seat, parts...)."""
    for seat, *parts in move:
        spec = ActionSpec.of(game.roles[game.seat_roles[int(seat)]].action_space)
        if not spec.is_legal(parts):
            return f"{parts} is no action of seat {seat}, whose actions are {spec}"
    return None
