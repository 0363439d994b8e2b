"""Half an hour of duels from pixels: what a population has learned by then, and how it went on.

    python -m bench.duel --minutes 30 --folder duel --json duel.json

Trains configs/doom_duel.toml for --minutes, stops it as `arena stop` does, and has it play its
closing evaluation, after which `duel@best` is known.
Then, sampled actions, intervals 95 %:
  third    `arena match` of the best against that snapshot of the same member that is nearest to one
           third of its frames, --games games, seats swapped
  random   the same against uniformly random actions, with the difference of frags per game
  bot      --bot-games games of a minute against the engine's own bot of skill --bot-skill, one of
           no skill named: frags, and the lead over the bot
  curve    --curve-games against random of the best member's snapshots, --curve-points of them,
           evenly over its frames
Of the training: frames per second of all members together over each tenth of it, policy lag, and
the memory of all its processes, which are said
to have grown by the slope of a line through the samples after the first --settle minutes
(bench/soak.py).

Memory has its peaks while a checkpoint is written; a look that falls on one counts like any other.

The folder keeps the data directory, so that `arena watch run@best random --out duel.mp4 --data
FOLDER/data` shows what was learned. With --minutes 0 an earlier call that was broken off after its
training is taken up again: its figures of the training and its settings are read from --json, what
it trained is played, and who played it is told as "played". Run it from the repository's root; the
training wants an idle machine, the rest only takes longer on another.
"""

import argparse
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

from arena.data.paths import league_path
from arena.league.database import open_league
from arena.league.game_rows import StoredGame
from arena.league.pages import match_game_page
from arena.league.queries import list_snapshots
from arena.matches.returns import Returns, evaluate_player
from arena.players.resolve import resolve_players
from arena.stats.score import mean_interval
from bench.placements import lag_figures, updates
from bench.soak import ALL, GROWTH_LIMIT_MB, sample, summary
from bench.throughput import hardware, settings_of
from pbt.config.load import find_config
from pbt.records import PlayerRef, SnapshotRecord
from tests.e2e.faults.recovery import start_growing
from tests.e2e.faults.running import NAME, START_LIMIT_S, Run
from tests.e2e.faults.strikes import current

CONFIG = "doom_duel"
RANDOM = "random"
# The snapshot at one third is played against: on a fast machine it would be gone by the end.
SETTINGS = ("snapshots.keep_newest=1000",)
SAMPLE_S = 10.0
CLOSING_LIMIT_S = 3600.0
# A game of a minute takes a second or two.
GAME_LIMIT_S = 30.0
PARTS = 10


def say(text: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {text}", file=sys.stderr, flush=True)


# --- training -------------------------------------------------------------------------------------


def trained(options: argparse.Namespace) -> dict[str, Any]:
    run = Run(options.folder.absolute(), find_config(CONFIG).read_text(encoding="utf-8"))
    try:
        return train(run, options)
    finally:
        run.close()


def train(run: Run, options: argparse.Namespace) -> dict[str, Any]:
    began_s, began_at = time.monotonic(), time.time()
    run.start("stop_at_frames=1_000_000_000", *SETTINGS, *options.settings)
    start_growing(run)
    taken: list[tuple[float, dict[str, tuple[float, int]]]] = []
    clocks: list[tuple[float, int]] = []
    while (now_s := time.monotonic() - began_s) < 60 * options.minutes:
        clocks.append((now_s, sum(member.frames for member in current(run).members)))
        taken.append((now_s, sample(run)))
        say(f"{now_s:6.0f} s  {taken[-1][1][ALL][0]:8.1f} MB  {clocks[-1][1]:,} frames")
        time.sleep(max(0.0, min(SAMPLE_S, 60 * options.minutes - now_s)))
    assert run.stop() == 0, run.errors()
    lags = lag_figures(updates(run, began_at, time.time()))
    settled = [one for one in taken if one[0] >= 60 * options.settle]
    memory = summary(settled)["memory_mb"] if len(settled) > 1 else None
    grown = None if memory is None else memory[ALL]["fitted_growth"]
    speeds = {
        "frames_per_s": speed(clocks),
        "frames_per_s_by_tenth": [speed(part) for part in tenths(clocks)],
        "frames": clocks[-1][1],
    }
    looks = [(round(at_s), round(found[ALL][0], 1)) for at_s, found in taken]
    memories = {
        "memory_mb": memory,
        "memory_looks": looks,
        "memory_grown_mb": grown,
        "memory_ok": None if grown is None else grown < GROWTH_LIMIT_MB,
    }
    return {**speeds, **lags, **memories}


def close(data: Path) -> None:
    """The closing evaluation, after which who is best is known; what was played of it before is
    not played again.
    """
    say("the closing evaluation")
    command = [
        sys.executable,
        "-P",
        "-m",
        "arena",
        "train",
        "--resume",
        NAME,
        "--set",
        "stop_at_frames=1",
        "--data",
        str(data),
    ]
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True, timeout=CLOSING_LIMIT_S)


def speed(clocks: Sequence[tuple[float, int]]) -> float:
    """Frames of all members per second."""
    (first_s, first), (last_s, last) = clocks[0], clocks[-1]
    return (last - first) / max(last_s - first_s, 1e-9)


def tenths(clocks: Sequence[tuple[float, int]]) -> list[Sequence[tuple[float, int]]]:
    edges = [(len(clocks) - 1) * part // PARTS for part in range(PARTS + 1)]
    return [clocks[begin : end + 1] for begin, end in pairwise(edges) if end > begin]


# --- playing --------------------------------------------------------------------------------------


def play(data: Path, first: str, second: str, games: int) -> dict[str, Any]:
    """`arena match`, and the first player's frags less the second's. Raises:
    subprocess.SubprocessError when it fails or takes too long.
    """
    command = [
        sys.executable,
        "-P",
        "-m",
        "arena",
        "match",
        first,
        second,
        "--games",
        str(games),
        "--json",
        "--data",
        str(data),
    ]
    done = subprocess.run(
        command,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        timeout=START_LIMIT_S + GAME_LIMIT_S * games,
    )
    report: dict[str, Any] = json.loads(done.stdout)
    return {
        **told(report),
        "frags_ahead": frags_ahead(
            data, int(report["match"]), PlayerRef(report["a"]["kind"], report["a"]["id"])
        ),
    }


def told(report: dict[str, Any]) -> dict[str, Any]:
    players = {"a": report["a"]["name"], "b": report["b"]["name"]}
    return {
        **players,
        **{
            name: report[name]
            for name in (
                "games",
                "score",
                "low",
                "high",
                "wins",
                "draws",
                "losses",
                "verdict",
                "match",
            )
        },
    }


def frags_ahead(data: Path, match_id: int, first: PlayerRef) -> dict[str, float | None]:
    """Per game: mean, and its interval over games."""
    ahead = [
        lead(stored, first)
        for stored in match_games(data, match_id)
        if not stored.record.end_reason.startswith("voided")
    ]
    low, high = mean_interval(ahead) or (None, None)
    return {"mean": statistics.fmean(ahead), "low": low, "high": high}


def match_games(data: Path, match_id: int) -> list[StoredGame]:
    found: list[StoredGame] = []
    with open_league(league_path(data), read_only=True) as league:
        before: int | None = None
        while True:
            page = match_game_page(league, match_id, before, 500)
            found += [stored for _, stored in page.games]
            if page.next is None:
                return found
            before = page.next


def lead(stored: StoredGame, first: PlayerRef) -> float:
    """Frags of the first player less those of the other. Raises: ValueError where they were not
    counted.
    """
    seats = stored.record.seats
    own = next(seat for seat in seats if seat.player == first)
    other = next(seat for seat in seats if seat is not own)
    if own.points is None or other.points is None:
        found = f"{own.player.name} {own.points}, {other.player.name} {other.points}"
        raise ValueError(
            f"game {stored.record.number}: the frags of both players were expected, found "
            f"{found}; was this a match of Doom?"
        )
    return own.points - other.points


def against_bots(data: Path, best: str, options: argparse.Namespace) -> dict[str, Any]:
    """The best alone with a bot, which sits at no table; its return is the lead in frags."""
    spec, (player,) = resolve_players([best], data)
    found = {}
    for word, skill in (
        ("of its own skill", None),
        (f"of skill {options.bot_skill}", options.bot_skill),
    ):
        changed = {
            "players": 1,
            "bots": 1,
            "reward": "lead",
            **({} if skill is None else {"bot_skill": skill}),
        }
        episodes = evaluate_player(
            replace(player, env_options={**player.env_options, **changed}),
            spec,
            episodes=options.bot_games,
        )
        found[word] = bot_figures(episodes)
        say(f"a bot {word}: {found[word]}")
    return found


def bot_figures(found: Returns) -> dict[str, Any]:
    """Shares of games are by the lead. Raises: ValueError where frags were not counted."""
    if found.points is None:
        raise ValueError(
            "the frags of every game against a bot were expected, found games without; was "
            "this a match of Doom?"
        )
    low, high = found.return_interval or (None, None)
    games = len(found.returns)
    won = {
        "won": sum(lead > 0 for lead in found.returns) / games,
        "drawn": sum(lead == 0 for lead in found.returns) / games,
    }
    return {
        "games": games,
        "lead": found.mean_return,
        "low": low,
        "high": high,
        "frags": statistics.fmean(found.points),
        **won,
    }


def curve(data: Path, member: str, options: argparse.Namespace) -> list[dict[str, Any]]:
    """Against random, over the frames of one member."""
    made, points = snapshots(data, member), options.curve_points
    chosen = {
        nearest(made, made[-1].frames * point / max(points - 1, 1)) for point in range(points)
    }
    found = []
    for record in (record for record in made if record.snapshot_id in chosen):
        result = play(data, record.snapshot_id, RANDOM, options.curve_games)
        score = {name: result[name] for name in ("games", "score", "low", "high")}
        found.append({"frames": record.frames, **score, "frags_ahead": result["frags_ahead"]})
        interval = f"[{result['low']:.3f}, {result['high']:.3f}]"
        say(
            f"{member} at {record.frames:,} frames: {result['score']:.3f} {interval}, frags "
            f"ahead {result['frags_ahead']['mean']:+.2f}"
        )
    return found


def best_and_third(data: Path) -> tuple[str, str, str]:
    """(id of the best snapshot, its member, id of that one's snapshot at one third). Asked once:
    later games may make another one the best.
    """
    _, (player,) = resolve_players([f"{NAME}@best"], data)
    assert player.member is not None and player.frames is not None
    return (
        player.ref.name,
        player.member,
        nearest(snapshots(data, player.member), player.frames / 3),
    )


def snapshots(data: Path, member: str) -> list[SnapshotRecord]:
    """Those that play, oldest first."""
    with open_league(league_path(data), read_only=True) as league:
        return [
            stored.record
            for stored in list_snapshots(league, NAME, member)
            if not stored.weights_removed
        ]


def nearest(made: Sequence[SnapshotRecord], frames: float) -> str:
    """The id of the one."""
    return min(made, key=lambda record: abs(record.frames - frames)).snapshot_id


def write(report: dict[str, Any], to: Path | None) -> None:
    if to is not None:
        to.write_text(json.dumps(report, indent=1, allow_nan=False) + "\n", encoding="utf-8")


def begun(options: argparse.Namespace) -> dict[str, Any]:
    """The report of this call, or that of the call that trained, with this one as "played".
    Training: None where that said nothing of it.
    """
    own = {"hardware": hardware(), "settings": settings_of(options)}
    if options.minutes:
        return own
    if options.json is None or not options.json.exists():
        say(
            f"nothing is known of the training in {options.folder}: expected --json FILE, as "
            "the call that trained was given it"
        )
        return {**own, "training": None}
    before = json.loads(options.json.read_text(encoding="utf-8"))
    return {
        **{name: before.get(name) for name in ("hardware", "settings", "training")},
        "played": own,
    }


def lines(report: dict[str, Any]) -> list[str]:
    """The report for people."""
    found = []
    if (training := report["training"]) is not None:
        grown_mb = training["memory_grown_mb"]
        memory = (
            "memory was not watched for long enough"
            if grown_mb is None
            else f"memory grew {grown_mb:+.1f} MB"
        )
        found.append(
            f"trained {training['frames']:,} frames at {training['frames_per_s']:,.0f} a "
            f"second; lag {training['lag_mean']}; {memory}"
        )
    for name in ("third", "random"):
        match, ahead = report[name], report[name]["frags_ahead"]
        score = f"{match['score']:.3f} [{match['low']:.3f}, {match['high']:.3f}]"
        found.append(
            f"{match['a']} against {match['b']}: {score} over {match['games']} games, "
            f"{frags(ahead['mean'], ahead)}"
        )
    for word, bot in report["bots"].items():
        won = f"won {bot['won']:.0%}, drew {bot['drawn']:.0%} of {bot['games']} games"
        found.append(f"against a bot {word}: {won}, {frags(bot['lead'], bot)}")
    return found


def frags(mean: float, interval: Mapping[str, float | None]) -> str:
    """interval: its low and high, None where all games were equal."""
    if interval["low"] is None:
        return f"{mean:+.2f} frags in every game"
    return f"{mean:+.2f} [{interval['low']:+.2f}, {interval['high']:+.2f}] frags a game"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--minutes",
        type=float,
        default=30.0,
        help="of training; 0: go on with what stands in the folder",
    )
    parser.add_argument("--folder", type=Path, required=True, help="made for it; its data stay")
    parser.add_argument("--games", type=int, default=400)
    parser.add_argument("--bot-games", type=int, default=100)
    parser.add_argument("--bot-skill", type=int, default=50)
    parser.add_argument("--curve-points", type=int, default=6)
    parser.add_argument("--curve-games", type=int, default=40)
    parser.add_argument(
        "--settle", type=float, default=5.0, help="minutes before memory is watched"
    )
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        dest="settings",
        help="of the configuration",
    )
    parser.add_argument("--json", type=Path, default=None)
    options = parser.parse_args()
    report = begun(options)
    data = options.folder.absolute() / "data"
    try:
        if options.minutes:
            report["training"] = trained(options)
            write(report, options.json)
        close(data)
        best, member, third = best_and_third(data)
        for name, opponent in (("third", third), ("random", RANDOM)):
            report[name] = play(data, best, opponent, options.games)
            say(f"{name}: {report[name]}")
        report["bots"] = against_bots(data, best, options)
        report["curve"] = curve(data, member, options)
    finally:
        write(report, options.json)
    print("\n".join(lines(report)))


if __name__ == "__main__":
    main()
