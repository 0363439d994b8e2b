"""`arena demo`: trains a small population on connect four, then measures how strong it became.

When it is run again it goes on, or shows the results that are stored.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from arena.cli.copies import copy_lines, how_copies_are_judged, value_lines
from arena.cli.display import Display, clock, short
from arena.cli.match_text import match_lines
from arena.cli.rating_table import print_league
from arena.data.paths import PopulationPaths, league_path, population_paths
from arena.league.database import League, open_league
from arena.league.stored_snapshots import list_snapshots
from arena.league.summaries import list_populations
from arena.matches.play import play_match
from arena.players.resolve import resolve_players
from arena.python.trainings import resume, train
from arena.signals import SignalControl
from pbt.config.load import load_config
from pbt.config.schema import RunConfig
from pbt.files import write_whole

NAME = "demo"
GAMES, SEED = 400, 1
VERDICTS_FILE = "verdicts.json"

Say = Callable[[str], None]


@dataclass(frozen=True)
class Verdict:
    """The result of one match of the best member.

    opponent  a player name
    question  what the match answers
    lines     the report of the match
    """

    opponent: str
    question: str
    lines: Sequence[str]


def run_demo(
    data: Path, say: Say, display: Display, config_name: str = NAME, overrides: tuple[str, ...] = ()
) -> bool:
    """Train, or go on, or find the training finished; then print the rating table and the verdicts.

    Returns False when the training was stopped before its end.
    """
    paths, config = population_paths(data, NAME), load_config(config_name, overrides)
    say(introduction(config))
    if not train_to_end(config, data, paths, say, display):
        say("Stopped and saved. The same command goes on from here.")
        return False
    with open_league(league_path(data)) as league:
        print_league(league, NAME, top=12)
        print("\nWhat did PBT do?")
        for line in pbt_lines(league, data):
            print(line)
    for verdict in verdicts(data, paths, say):
        print(f"\n{verdict.question}")
        for line in verdict.lines:
            print(f"  {line}")
    print(what_next(data))
    return True


def introduction(config: RunConfig) -> str:
    """What is about to happen, and how the demo differs from a usual training."""
    pbt = config.pbt
    return (
        f"{config.population.members} members learn {config.env.name} by playing each other, "
        f"{short(config.stop_at_frames)} frames each "
        "(1 frame = 1 move of one's own).\n"
        "The first begins with the config's values, the others with values up to "
        f"{pbt.spread_start:g} times above or below.\n"
        f"Shortened for the demo: a PBT round every {short(pbt.period_frames)} frames, the first "
        f"after {short(pbt.warmup_frames)}.\n"
        f"{how_copies_are_judged(pbt)}"
    )


def pbt_lines(league: League, data: Path) -> list[str]:
    """What PBT did, and the values of the best member."""
    _, (best,) = resolve_players([f"{NAME}@best"], data)
    values = value_lines(league, NAME, str(best.member))
    return [
        *copy_lines(league, NAME),
        *([f"The values of {best.member}, the member of {NAME}@best:", *values] if values else []),
    ]


def train_to_end(
    config: RunConfig, data: Path, paths: PopulationPaths, say: Say, display: Display
) -> bool:
    """Start or resume the training; do nothing if it is finished.

    Returns False when it was stopped before its end.
    """
    if not paths.config.exists():
        with display:
            trained = train(
                config, NAME, data=data, on_progress=display, stop=SignalControl(), strict=False
            )
    elif league_state(data) == "finished":
        say(
            "The demo is trained already; these are its results. To train anew: "
            "arena delete demo --yes"
        )
        return True
    else:
        say("The training was interrupted; it goes on from the newest checkpoint.")
        with display:
            trained = resume(
                NAME, data=data, on_progress=display, stop=SignalControl(), strict=False
            )
    result = trained.training
    progress = result.progress
    say(
        f"{short(progress.frames)} frames and {progress.training_games} games in "
        f"{clock(progress.elapsed_s)}."
    )
    if result.assessment is not None:
        say(f"{NAME}: {result.assessment.sentence}")
    result.refuse_faults()
    return result.finished


def league_state(data: Path) -> str:
    with open_league(league_path(data)) as league:
        return next(
            (summary.state for summary in list_populations(league) if summary.name == NAME),
            "unknown",
        )


def verdicts(data: Path, paths: PopulationPaths, say: Say) -> list[Verdict]:
    """The three matches; read from the file if they were played after a training of this length."""
    stored = paths.root / VERDICTS_FILE
    stop_at_frames = json.loads(paths.config.read_bytes())["stop_at_frames"]
    if stored.exists():
        kept = json.loads(stored.read_bytes())
        if kept["stop_at_frames"] == stop_at_frames:
            return [Verdict(**entry) for entry in kept["verdicts"]]
    _, (best,) = resolve_players([f"{NAME}@best"], data)
    earlier = earlier_self(data, str(best.member), stop_at_frames // 3)
    questions = {
        "random": "Does it beat random play?",
        "oneply": (
            "Does it beat a player that wins or blocks whenever it can, and plays at "
            "random otherwise?"
        ),
        earlier: "Is it stronger than it was after a third of the training?",
    }
    played = [
        Verdict(opponent, question, play(best.label, opponent, data, say))
        for opponent, question in questions.items()
    ]
    write_whole(
        stored,
        json.dumps(
            {"stop_at_frames": stop_at_frames, "verdicts": [vars(verdict) for verdict in played]},
            indent=1,
        ),
    )
    return played


def earlier_self(data: Path, member: str, frames: int) -> str:
    """The player name of the member's snapshot that is nearest to this number of frames.

    Snapshots come a little after each period, so the last one at or below it may be far away.
    """
    with open_league(league_path(data), read_only=True) as league:
        clocks = [
            snapshot.record.frames
            for snapshot in list_snapshots(league, NAME, member)
            if not snapshot.weights_removed
        ]
    return f"{NAME}/{member}@{min(clocks, key=lambda clock: abs(clock - frames))}"


def play(player: str, opponent: str, data: Path, say: Say) -> tuple[str, ...]:
    say(f"playing {GAMES} games: {player} against {opponent}")
    spec, (a, b) = resolve_players([player, opponent], data)
    with open_league(league_path(data)) as league:
        return tuple(match_lines(play_match(a, b, games=GAMES, seed=SEED, league=league, env=spec)))


def what_next(data: Path) -> str:
    """Commands that the user may try next."""
    option = "" if data == Path("arena-data").absolute() else f" --data {data}"
    return f"""
What to try next
  arena match demo@best demo/m0{option}            any two players, with error bars
  arena verify demo{option}                        every row and decision, verified
  arena train --resume demo --set stop_at_frames=6_000_000{option}
  arena train connect_four{option}                 the same game for longer, with longer periods
  arena env check ./my_game.py:make        your own game; see docs/own_games.md"""
