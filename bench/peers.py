"""Side by side with Sample Factory 2 on one Doom scenario: same scenario file, ViZDoom, frame-skip,
resolution, network, batch and rollout.

    python -m venv sf && sf/bin/pip install torch==2.13.0 "sample-factory[vizdoom]"
    python -m bench.peers --sample-factory sf/bin/python --rounds 5 --seconds 60 --json peers.json

Every round runs each system, as its own command line starts it, forwards and backwards in turn, so
a slow moment of the machine hits all alike. Counted are the frames that learners consumed in
`seconds` seconds, from `warmup` seconds after the first update on. Both count whole batches, so the
frames of a policy are taken from one update to a later one, by the moments at which these were
written down: ours writes every update, Sample Factory one each two seconds (train/loss of its
summaries). Sample Factory plays its asynchronous mode with the best of its settings: each of
`--peer-settings` is run once before the rounds, the fastest is kept. A setting is
WORKERSxENVIRONMENTS of each worker; with "-plain" it normalises neither input nor returns
(--normalize_input=False --normalize_returns=False). Ours normalises what it sees where its
configuration says so, returns never.

Alone (ALONE in bench/sample_factory.py) both play the same actions from the screen. What still
differs: in health_gathering_supreme a step in which health rises gives Sample Factory 1 on top,
however small the rise; ours gives 0.04 per unit of it, which is 1 for a whole medikit of 25 and
less for one of which acid or the limit of 100 takes a part. What each learns with: see
bench/learning.py.

    python -m bench.peers --sample-factory sf/bin/python --scenario duel --placements inline
    --peer-settings 2x8 2x16

With --scenario duel both train two policies on Sample Factory's doom_duel: its map (ssl2, read from
its package), frame-skip 2, its actions, games of four minutes, nobody of the past. What differs
there: which numbers stand beside the screen and how they are scaled, and shaping.

Reported, as medians over the rounds with least and greatest: frames and steps per second, CPU
seconds of all processes per 1 000 steps, policy lag in versions of the weights (of Sample Factory
as its reports say it, one each five seconds), dropped rows (null: it does not say), memory (what
processes share counted once), how finely frames were counted (step_frames: least frames from one
counted update of a policy to the next; step_s: longest time between two; measured_s: from the first
to the last), and the ratio to Sample Factory within the same round. With --roofline every round
also measures the bare torch reference of bench/roofline.py, between the systems, and reports the
share of it. Sample Factory computes in float32; ours in bfloat16 where the machine multiplies that
itself, with --float32 a second time without.
"""

import argparse
import json
import math
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

import psutil

from bench.placements import PLACEMENTS, lag_figures, resolution, spread, status_after, updates
from bench.placements import speed as speed_of
from bench.sample_factory import (
    ALONE,
    LOG,
    SCENARIOS,
    SETTINGS,
    Figures,
    end_all,
    lags,
    peer_command,
    peer_folder,
    peer_versions,
    reports,
    setting_word,
    start_peer,
    updates_until,
    wait_for,
)
from bench.throughput import ROOT, hardware, settings_of
from pbt.config.load import find_config, load_config
from pbt.envs import registry
from pbt.runtime.summary import precisions
from tests.e2e.faults import processes
from tests.e2e.faults.recovery import start_growing
from tests.e2e.faults.running import Run

MB = 1e6
PEER = "sample_factory"
ROOFLINE = "roofline"
# Behind a placement.
FLOAT32 = "-float32"
# Of each of its parts.
ROOFLINE_S = 2.0
# As if its one engine were always in the caches.
HOT = "hot_frames_per_s"
# It starts its matches one after the other, a second or two each.
START_S = 600.0


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


class Usage:
    """CPU seconds and memory of all processes that carry a run's mark."""

    def __init__(self, mark: str, main: int) -> None:
        self._mark, self._main = mark, main
        self._before, self._began_s = self._seconds(), time.monotonic()

    def _seconds(self) -> dict[int, float]:
        return {
            pid: taken
            for pid in processes.of_run(self._mark, self._main)
            if (taken := cpu_seconds(pid)) is not None
        }

    def rate(self) -> float:
        """CPU seconds per second since this was made, of processes that still live."""
        now_s = time.monotonic()
        return sum(taken - self._before.get(pid, 0.0) for pid, taken in self._seconds().items()) / (
            now_s - self._began_s
        )

    def pss_mb(self) -> float:
        return (
            sum(processes.pss_bytes(pid) for pid in processes.of_run(self._mark, self._main)) / MB
        )


def cpu_seconds(pid: int) -> float | None:
    """None when it is gone."""
    try:
        times = psutil.Process(pid).cpu_times()
    except psutil.NoSuchProcess:
        return None
    return times.user + times.system


def measured(
    points: Sequence[dict[str, Any]], cpu_rate: float, skip: int, **more: float | None
) -> Figures:
    """points: updates of the time measured;  cpu_rate: CPU seconds per second of it.  Raises:
    SystemExit when there are too few of them.
    """
    frames_per_s = speed_of(points)
    steps_per_s = frames_per_s / skip
    return {
        "frames_per_s": frames_per_s,
        "steps_per_s": steps_per_s,
        "cpu_s_per_1000_steps": 1000 * cpu_rate / steps_per_s,
        **resolution(points),
        **more,
    }


# --- the systems ----------------------------------------------------------------------------------


def ours(folder: Path, system: str, options: argparse.Namespace) -> Figures:
    """`arena train` of the scenario's shipped configuration, on the peer's own scenario files.
    system: a placement, perhaps with FLOAT32 behind it
    """
    placement = system.removesuffix(FLOAT32)
    precision = [] if placement == system else ["runtime.precision=float32"]
    settings = [*scenario_settings(options), *options.settings, *precision]
    return trained(folder, our_config(options), placement, settings, options.frame_skip, options)


def trained(
    folder: Path,
    config: Path,
    placement: str,
    settings: Sequence[str],
    skip: int,
    options: argparse.Namespace,
    variables: Mapping[str, str] = MappingProxyType({}),
) -> Figures:
    """`arena train` of a configuration. skip: frames of a step;  options: warmup and seconds;
    variables: of the environment, beside this one's
    """
    run = Run(folder, config.read_text(encoding="utf-8"), **variables)
    try:
        run.start("stop_at_frames=1_000_000_000", f"runtime.placement={placement}", *settings)
        start_growing(run)
        first = status_after(run, time.time() + options.warmup)
        usage = Usage(run.mark, run.pid)
        last = status_after(run, first.written_at + options.seconds)
        cpu_rate, points = usage.rate(), updates(run, first.written_at, last.written_at)
        dropped = sum(last.rows.dropped.values()) - sum(first.rows.dropped.values())
        return measured(
            points,
            cpu_rate,
            skip,
            pss_mb=usage.pss_mb(),
            dropped_rows=dropped,
            **lag_figures(points),
        )
    finally:
        run.close()
        run.remove()


def our_config(options: argparse.Namespace) -> Path:
    return find_config(f"doom_{options.scenario}")


def scenario_settings(options: argparse.Namespace) -> list[str]:
    """Our configuration on the peer's own scenario file, with its actions; alone with its
    shaping, and nothing but the screen seen.
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
    """What our networks compute in on this machine."""
    spec = registry.spec(SCENARIOS[options.scenario].game, allow_files=True)
    return precisions(
        load_config(our_config(options), [*scenario_settings(options), *options.settings]), spec
    )


def scenario_file(options: argparse.Namespace) -> Path:
    return (
        peer_folder(options.sample_factory)
        / "scenarios"
        / f"{SCENARIOS[options.scenario].file or options.scenario}.cfg"
    )


def peer(folder: Path, setting: str, options: argparse.Namespace) -> Figures:
    """Sample Factory, asynchronous."""
    return peer_trained(folder, peer_command(folder, setting, options), options.frame_skip, options)


def peer_trained(
    folder: Path, command: Sequence[str], skip: int, options: argparse.Namespace
) -> Figures:
    """Sample Factory, as the command starts it. skip, options: as in `trained`"""
    folder.mkdir(parents=True)
    process, mark = start_peer(
        folder, [*command, "--train_for_seconds=100000", "--flush_summaries_interval=1"]
    )
    log = folder / LOG
    try:
        wait_for(
            lambda: any(int(report["frames"]) > 0 for report in reports(log)), START_S, process, log
        )
        time.sleep(options.warmup)
        began_at, usage, seen = time.time(), Usage(mark, process.pid), len(reports(log))
        time.sleep(options.seconds)
        cpu_rate, pss_mb = usage.rate(), usage.pss_mb()
        points = updates_until(folder, began_at, began_at + options.seconds, process)
        return measured(
            points, cpu_rate, skip, pss_mb=pss_mb, dropped_rows=None, **lags(reports(log)[seen:])
        )
    finally:
        end_all(mark, process)


def reference(folder: Path, options: argparse.Namespace) -> Figures:
    """What bench/roofline.py says of this machine now."""
    folder.mkdir(parents=True)
    found = folder / "roofline.json"
    words = [
        f"--scenario={scenario_file(options)}",
        f"--frame-skip={options.frame_skip}",
        f"--seconds={ROOFLINE_S}",
        "--rounds=1",
        f"--json={found}",
    ]
    subprocess.run(
        [sys.executable, "-m", "bench.roofline", *words],
        check=True,
        stdout=subprocess.DEVNULL,
        cwd=ROOT,
    )
    report = json.loads(found.read_text(encoding="utf-8"))
    return {
        "frames_per_s": float(report["reference_frames_per_s"]),
        HOT: float(report["hot_reference_frames_per_s"]),
    }


# --- rounds ---------------------------------------------------------------------------------------


def summary(rounds: Sequence[dict[str, Figures]], base: str = PEER) -> dict[str, Any]:
    """System -> medians over the rounds that have the figure, None where none has; ratios are
    taken to the base, and the roofline, within a round.
    """
    found: dict[str, Any] = {}
    for system in sorted(rounds[0]):
        mine = [each[system] for each in rounds]
        found[system] = {
            name: spread(told)
            if (told := [value for each in mine if (value := each[name]) is not None])
            else None
            for name in mine[0]
        }
        found[system]["ratio"] = spread(
            [speed(each[system]) / speed(each[base]) for each in rounds]
        )
        if ROOFLINE in rounds[0]:
            for share, figure in (
                ("share_of_roofline", "frames_per_s"),
                ("share_of_hot_roofline", HOT),
            ):
                found[system][share] = spread(
                    [speed(each[system]) / (each[ROOFLINE][figure] or math.inf) for each in rounds]
                )
    return found


def speed(figures: Figures) -> float:
    return figures["frames_per_s"] or 0.0


def figures_of(folder: Path, system: str, setting: str, options: argparse.Namespace) -> Figures:
    if system == PEER:
        return peer(folder, setting, options)
    return reference(folder, options) if system == ROOFLINE else ours(folder, system, options)


def in_turn(systems: Sequence[str], number: int) -> list[str]:
    """Forwards in every other round, else backwards."""
    return list(systems) if number % 2 else list(reversed(systems))


def fastest(
    folder: Path,
    options: argparse.Namespace,
    play: Callable[[Path, str, argparse.Namespace], Figures] = peer,
) -> tuple[str, dict[str, float]]:
    """Sample Factory's best setting, and the frames per second of each; a single one is not
    tried.
    """
    tried: dict[str, float] = {}
    for setting in options.peer_settings if len(options.peer_settings) > 1 else ():
        tried[setting] = speed(play(folder / f"try-{setting}", setting, options))
        print(f"{PEER} {setting}: {tried[setting]:,.0f} frames/s", file=sys.stderr, flush=True)
    return max(tried, key=lambda each: tried[each]) if tried else options.peer_settings[0], tried


def add_shared_options(parser: argparse.ArgumentParser, scenarios: Iterable[str]) -> None:
    """Those of this program and of bench/learning.py."""
    parser.add_argument(
        "--sample-factory",
        type=Path,
        required=True,
        metavar="PYTHON",
        help="of the environment that has it",
    )
    parser.add_argument("--scenario", choices=sorted(scenarios), default="health_gathering_supreme")
    parser.add_argument(
        "--frame-skip", type=int, default=None, help="tics of a decision; without, the scenario's"
    )
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        dest="settings",
        help="of our configuration",
    )
    parser.add_argument("--json", type=Path, default=None)


def parsed(parser: argparse.ArgumentParser) -> argparse.Namespace:
    """With what depends on the scenario."""
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
        help="play ours in float32, too, as Sample Factory computes",
    )
    parser.add_argument(
        "--roofline",
        action="store_true",
        help="measure the bare torch reference in every round, too",
    )
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--warmup", type=float, default=15.0)
    options = parsed(parser)
    if options.roofline and options.scenario not in ALONE:
        parser.error(
            f"--roofline: knows games of one seat; expected --scenario {', '.join(sorted(ALONE))}"
        )
    machine = {
        "hardware": hardware(),
        "peer": peer_versions(options.sample_factory),
        "precision": our_precision(options),
    }
    # The reference between ours and the peer: next to both.
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
