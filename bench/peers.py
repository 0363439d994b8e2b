"""Compares the speed of our training with Sample Factory 2 on one Doom scenario.

    python -m venv sf && sf/bin/pip install torch==2.13.0 "sample-factory[vizdoom]"
    python -m bench.peers --sample-factory sf/bin/python --rounds 5 --seconds 60 --json peers.json

Both have the same scenario file, ViZDoom, frame-skip, resolution, network, batch and rollout. Every
round runs each system by its own command line, forwards and backwards in turn, so that a slow
moment of the machine hits all of them alike. Counted are the frames that learners consumed in
--seconds, from --warmup seconds after the first update on. Both systems count whole batches, so the
frames of a policy are taken from one update to a later one, by the times at which these were
written: ours writes every update, Sample Factory one every two seconds (train/loss of its
summaries).

Sample Factory plays in its asynchronous mode with the best of its settings: each of --peer-settings
is run once before the rounds, and the fastest is kept. A setting is WORKERSxENVIRONMENTS of each
worker; with "-plain" it normalises neither input nor returns (--normalize_input=False
--normalize_returns=False). Ours normalises observations where its config says so, returns never.

In the scenarios of one seat (ALONE in bench/sample_factory.py) both play the same actions from the
screen. One difference remains in health_gathering_supreme: Sample Factory adds 1 for a step in
which health rises, however small the rise; ours adds 0.04 per unit, which is 1 for a whole medikit
of 25, and less where acid or the limit of 100 takes a part of it. bench/learning.py lists how each
of them learns.

    python -m bench.peers --sample-factory sf/bin/python --scenario duel --placements inline \\
        --peer-settings 2x8 2x16

With --scenario duel both train two policies on Sample Factory's doom_duel: its map (ssl2, read from
its package), frame-skip 2, its actions, games of four minutes, no opponents from the past. They
differ in the numbers that stand beside the screen, in the scale of these numbers, and in shaping.

Reported, as medians over the rounds with least and greatest:
  frames_per_s          and steps_per_s
  cpu_s_per_1000_steps  CPU seconds of all processes
  lag_mean, lag_max     policy lag in versions of the weights; Sample Factory reports it every five
                        seconds
  dropped_rows          null for Sample Factory, which does not report it
  pss_mb                memory; shared memory counts once
  step_frames           fewest frames from one counted update of a policy to the next
  step_s                longest time between two counted updates of a policy
  measured_s            time from the first counted update to the last
  ratio                 to Sample Factory within the same round
With --roofline every round also measures the bare torch reference of bench/roofline.py, between the
systems, and reports the share of it. Sample Factory computes in float32; ours in bfloat16 where the
machine multiplies that itself, and with --float32 a second time in float32.
"""

import argparse
import json
import math
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from bench.peer_runs import in_turn, peer_trained, speed, trained
from bench.placements import PLACEMENTS, spread
from bench.sample_factory import (
    ALONE,
    SCENARIOS,
    SETTINGS,
    Figures,
    peer_command,
    peer_folder,
    peer_versions,
    setting_word,
)
from bench.throughput import ROOT, hardware, settings_of
from pbt.config.load import find_config, load_config
from pbt.envs import registry
from pbt.runtime.blueprint import game_maker
from pbt.runtime.summary import precisions

PEER = "sample_factory"
ROOFLINE = "roofline"
# Follows the name of a placement.
FLOAT32 = "-float32"
# Seconds of each part of the reference.
ROOFLINE_S = 2.0
# The reference with a single engine, which is always in the caches.
HOT = "hot_frames_per_s"
ACTIONS = "single"
OURS = (
    "pbt.enabled=false",
    "evaluation.share=0.0",
    "evaluation.final_games=0",
    "learning.batch_steps=2048",
    "learning.epochs=1",
    "learning.minibatches=1",
    "sampling.rollout_steps=32",
)
OURS_ALONE = (
    "population.members=1",
    f'env.options.actions="{ACTIONS}"',
    "env.options.variables=[]",
)


# --- the systems ----------------------------------------------------------------------------------


def ours(folder: Path, system: str, options: argparse.Namespace) -> Figures:
    """One run of ours with the scenario's shipped config, on Sample Factory's scenario file.

    system  a placement, with FLOAT32 added for a run in float32
    """
    placement = system.removesuffix(FLOAT32)
    precision = [] if placement == system else ["runtime.precision=float32"]
    settings = [*scenario_settings(options), *options.settings, *precision]
    return trained(folder, our_config(options), placement, settings, options.frame_skip, options)


def our_config(options: argparse.Namespace) -> Path:
    """The shipped config of the scenario."""
    return find_config(f"doom_{options.scenario}")


def scenario_settings(options: argparse.Namespace) -> list[str]:
    """Settings that make our config play Sample Factory's scenario with its actions.

    In scenarios of one seat also its shaping, and no observation but the screen.
    """
    where, alone = (
        f'env.options.scenario="{scenario_file(options)}"',
        OURS_ALONE if options.scenario in ALONE else (),
    )
    return [
        *OURS,
        *alone,
        where,
        f"env.options.frame_skip={options.frame_skip}",
        *SCENARIOS[options.scenario].settings,
    ]


def our_precision(options: argparse.Namespace) -> list[str]:
    """The number formats that our networks compute in on this machine."""
    spec = registry.spec(SCENARIOS[options.scenario].game, allow_files=True)
    config = load_config(our_config(options), [*scenario_settings(options), *options.settings])
    with closing(game_maker(config, spec)()) as game:
        return precisions(config, game)


def scenario_file(options: argparse.Namespace) -> Path:
    """Sample Factory's scenario file."""
    return (
        peer_folder(options.sample_factory)
        / "scenarios"
        / f"{SCENARIOS[options.scenario].file or options.scenario}.cfg"
    )


def peer(folder: Path, setting: str, options: argparse.Namespace) -> Figures:
    """One run of Sample Factory in its asynchronous mode."""
    return peer_trained(folder, peer_command(folder, setting, options), options.frame_skip, options)


def reference(folder: Path, options: argparse.Namespace) -> Figures:
    """The reference of bench/roofline.py, measured now."""
    folder.mkdir(parents=True)
    path = folder / "roofline.json"
    arguments = [
        f"--scenario={scenario_file(options)}",
        f"--frame-skip={options.frame_skip}",
        f"--seconds={ROOFLINE_S}",
        "--rounds=1",
        f"--json={path}",
    ]
    subprocess.run(
        [sys.executable, "-m", "bench.roofline", *arguments],
        check=True,
        stdout=subprocess.DEVNULL,
        cwd=ROOT,
    )
    report = json.loads(path.read_text(encoding="utf-8"))
    return {
        "frames_per_s": float(report["reference_frames_per_s"]),
        HOT: float(report["hot_reference_frames_per_s"]),
    }


# --- rounds ---------------------------------------------------------------------------------------


def summary(rounds: Sequence[dict[str, Figures]], base: str = PEER) -> dict[str, Any]:
    """System -> medians over the rounds that have the figure; None where no round has it.

    Ratios to the base and to the roofline are taken within a round.
    """
    by_system: dict[str, Any] = {}
    for system in sorted(rounds[0]):
        runs = [figures[system] for figures in rounds]
        by_system[system] = {
            name: spread(values)
            if (values := [value for figures in runs if (value := figures[name]) is not None])
            else None
            for name in runs[0]
        }
        by_system[system]["ratio"] = spread(
            [speed(figures[system]) / speed(figures[base]) for figures in rounds]
        )
        if ROOFLINE in rounds[0]:
            for share, figure in (
                ("share_of_roofline", "frames_per_s"),
                ("share_of_hot_roofline", HOT),
            ):
                by_system[system][share] = spread(
                    [
                        speed(figures[system]) / (figures[ROOFLINE][figure] or math.inf)
                        for figures in rounds
                    ]
                )
    return by_system


def figures_of(folder: Path, system: str, setting: str, options: argparse.Namespace) -> Figures:
    """One run of a system. setting: of Sample Factory."""
    if system == PEER:
        return peer(folder, setting, options)
    return reference(folder, options) if system == ROOFLINE else ours(folder, system, options)


def fastest(
    folder: Path,
    options: argparse.Namespace,
    play: Callable[[Path, str, argparse.Namespace], Figures] = peer,
) -> tuple[str, dict[str, float]]:
    """(Sample Factory's fastest setting, frames per second of each). A single one is not tried."""
    tried: dict[str, float] = {}
    for setting in options.peer_settings if len(options.peer_settings) > 1 else ():
        tried[setting] = speed(play(folder / f"try-{setting}", setting, options))
        print(f"{PEER} {setting}: {tried[setting]:,.0f} frames/s", file=sys.stderr, flush=True)
    return max(tried, key=lambda each: tried[each]) if tried else options.peer_settings[0], tried


def add_shared_options(parser: argparse.ArgumentParser, scenarios: Iterable[str]) -> None:
    """Add the options that this program and bench/learning.py share."""
    parser.add_argument(
        "--sample-factory",
        type=Path,
        required=True,
        metavar="PYTHON",
        help="python of the environment that has Sample Factory",
    )
    parser.add_argument("--scenario", choices=sorted(scenarios), default="health_gathering_supreme")
    parser.add_argument(
        "--frame-skip", type=int, default=None, help="tics of a decision; default: the scenario's"
    )
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        dest="settings",
        help="override a value of our config; may be given often",
    )
    parser.add_argument("--json", type=Path, default=None)


def parsed(parser: argparse.ArgumentParser) -> argparse.Namespace:
    """The options, completed by the scenario's defaults."""
    options = parser.parse_args()
    # Not resolved: a virtual environment's python is a link.
    options.sample_factory = options.sample_factory.absolute()
    options.frame_skip = options.frame_skip or SCENARIOS[options.scenario].skip
    return options


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add_shared_options(parser, SCENARIOS)
    parser.add_argument(
        "--placements", nargs="*", choices=PLACEMENTS, default=["inline", "central"]
    )
    parser.add_argument(
        "--peer-settings",
        nargs="+",
        type=setting_word,
        default=SETTINGS,
        metavar="SETTING",
        help="2x16, 2x16-plain, ...",
    )
    parser.add_argument(
        "--float32",
        action="store_true",
        help="run ours also in float32, in which Sample Factory computes",
    )
    parser.add_argument(
        "--roofline",
        action="store_true",
        help="measure also the bare torch reference in every round",
    )
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--warmup", type=float, default=15.0)
    options = parsed(parser)
    if options.roofline and options.scenario not in ALONE:
        parser.error(
            "--roofline works for games of one seat only; expected --scenario "
            f"{', '.join(sorted(ALONE))}"
        )
    machine = {
        "hardware": hardware(),
        "peer": peer_versions(options.sample_factory),
        "precision": our_precision(options),
    }
    # The reference stands between ours and Sample Factory, next to both.
    exact = [placement + FLOAT32 for placement in options.placements if options.float32]
    systems = [*options.placements, *exact, *([ROOFLINE] if options.roofline else []), PEER]
    rounds: list[dict[str, Figures]] = []
    with tempfile.TemporaryDirectory(prefix="peers-", ignore_cleanup_errors=True) as folder:
        setting, tried = fastest(Path(folder), options)
        for number in range(1, options.rounds + 1):
            rounds.append({})
            for system in in_turn(systems, number):
                rounds[-1][system] = figures_of(
                    Path(folder) / f"{number}-{system}", system, setting, options
                )
            words = [f"{system} {speed(found):,.0f}" for system, found in rounds[-1].items()]
            print(f"round {number}: frames/s {'  '.join(words)}", file=sys.stderr, flush=True)
    report = {
        **machine,
        "settings": settings_of(options),
        "peer_setting": setting,
        "tried": tried,
        "systems": summary(rounds),
        "rounds": rounds,
    }
    print(
        json.dumps(
            {name: part for name, part in report.items() if name != "rounds"},
            indent=1,
            allow_nan=False,
        )
    )
    if options.json is not None:
        options.json.write_text(
            json.dumps(report, indent=1, allow_nan=False) + "\n", encoding="utf-8"
        )


if __name__ == "__main__":
    main()
