"""Measures how much time a system takes beside learning where games are light.

Connect four is compared with a plain loop of torch, MPE's simple_push with Sample Factory 2.

    python -m venv sf
    sf/bin/pip install torch==2.13.0 sample-factory
    sf/bin/pip install --no-deps mpe2 pettingzoo pygame-ce
    python -m bench.light --sample-factory sf/bin/python --rounds 5 --seconds 30 --json light.json

Every round runs each system, forwards and backwards in turn, so that a slow moment of the machine
hits all of them alike. A frame is one move of one agent. Ours is `arena train`, placement inline,
with everything that belongs to it (league, metrics, checkpoints). Counted are the frames that
learners consumed in --seconds, from --warmup seconds after the first updates on: of each member
from one update to a later one, as in bench/peers.py, added up.

Connect four, first by loops of torch, then in training:
  plain_loop   bench/plain_loop.py: one process on each core that the training uses, with the same
               game, network and batch, and nothing else; the sum while all of them run
  demo_loop    the same loop with the network, batch, parts and passes of the demo
  one_policy   a single member with the network (64, 64) and one pass over batches of 4 096, which
               only plays against itself at 2 048 tables, from the first move on: every move is a
               frame, as in the loop
  members_8    the same with eight members, which play each other at eight times as many tables
  members_64   the same with 64 members
  self_play    the same with four members at the tables of one
  demo_policy  one_policy with the network, batch, parts and passes of the demo, as `demo_loop`
  demo_members the same with the demo's members; on as many cores or fewer one process trains each
  demo         the demo's config: convolutions, two passes over a batch; moves of random openings,
               of frozen opponents and of evaluation games are played as well but are no frames,
               since no learner consumes them

simple_push, one member against Sample Factory with the network, activation, batch, rollout and
passes of configs/mpe_simple_push.toml:
  simulation                    one process on each core that the training uses, each stepping the
                                adapter with random actions: the upper limit for every system with
                                this adapter
  one_role                      one network plays both agents, whose observations are filled to the
                                same length, as in Sample Factory
  roles                         a network for each agent, as in the config: no filling, but twice
                                the learning and half the batch for acting
  sample_factory                plays mpe2's raw_env behind PettingZoo's converter, without
                                wrappers; ours has a converter of its own (pbt/envs/mpe.py)
  sample_factory_parallel_env   plays mpe2's parallel_env as it is shipped, with wrappers that check
                                every call and cost as much time as the game

Sample Factory counts the frames that its learner consumed, a step of each agent as one, as ours
does. It plays with the best of its settings: each of --peer-settings is run once before the rounds,
and the fastest is kept. A setting is WORKERSxENVIRONMENTS of each worker, asynchronous, with
  -plain     normalising neither input nor returns, as ours
  -batched   batched sampling
  -sync      learning and playing in turn: no policy lag
  -serial    the same in a single process
Differences: ours corrects by V-trace and lets the value go on after the time limit; Sample Factory
uses plain GAE and ends there. Both use Adam.

Reported, as medians over the rounds with least and greatest: the figures of bench/peers.py, and the
`ratio` within a round: to `plain_loop`, or the first system of --only, for connect four, to Sample
Factory for simple_push. Without --sample-factory only connect four is run.
"""

import argparse
import json
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bench.each_core import on_each_core
from bench.peer_runs import in_turn, peer_trained, speed, trained
from bench.peers import PEER, fastest, summary
from bench.plain_loop import rows_per_s
from bench.sample_factory import Figures, peer_versions, setting_options, setting_word
from bench.throughput import adapter_speed, hardware, settings_of
from pbt.config.load import find_config, load_config
from pbt.config.schema import RunConfig

PLAIN_LOOP, DEMO_LOOP, SIMULATION = "plain_loop", "demo_loop", "simulation"
LOOPS = {PLAIN_LOOP: "light", DEMO_LOOP: "demo"}
DEMO = find_config("demo")
# More tables in shorter slots: as many rows are on their way, and calls cost less a row.
TABLES, SHORT = 2048, "sampling.rollout_steps=8"
ONLY_ITSELF = (
    "sampling.opening_plies=0",
    "matchmaking.past_share=0.0",
    "evaluation.share=0.0",
)
SELF_PLAY = (
    "model.conv=[]",
    "model.hidden=[64, 64]",
    "learning.epochs=1",
    "learning.minibatches=1",
    "learning.batch_steps=4096",
    "learning.shuffle=slots",
    "learning.vtrace=true",
    f"sampling.environments={TABLES}",
    SHORT,
    *ONLY_ITSELF,
)
ONE = ("population.members=1", "pbt.enabled=false")
BOARDS: dict[str, tuple[str, ...]] = {
    "one_policy": (*SELF_PLAY, *ONE),
    **{
        f"members_{count}": (
            *SELF_PLAY,
            f"population.members={count}",
            f"sampling.environments={count * TABLES}",
            "pbt.enabled=false",
        )
        for count in (8, 64)
    },
    "self_play": (*SELF_PLAY, "population.members=4"),
    "demo_policy": (*ONLY_ITSELF, *ONE),
    "demo_members": ONLY_ITSELF,
    "demo": (),
}
CONNECT_FOUR = (*LOOPS, *BOARDS)

PUSH = find_config("mpe_simple_push")
ALONE = (
    "population.members=1",
    "pbt.enabled=false",
    "evaluation.share=0.0",
    "evaluation.final_games=0",
)
ROLES: dict[str, tuple[str, ...]] = {"one_role": ("env.options.one_role=true",), "roles": ()}
CHECKED = f"{PEER}_parallel_env"
SIMPLE_PUSH = (SIMULATION, *ROLES, PEER, CHECKED)
PLAIN = (
    "2x32-plain",
    "2x32-plain-batched",
    "2x128-plain-batched",
    "2x256-plain-batched",
    "2x16-plain-sync",
    "1x32-plain-serial",
)
SETTINGS = ("2x8", "2x16", "2x32", *PLAIN)

# --- connect four ---------------------------------------------------------------------------------


def connect_four(folder: Path, system: str, options: argparse.Namespace) -> Figures:
    """One run of a system on connect four."""
    if system in LOOPS:
        return {"frames_per_s": on_each_core(rows_per_s, options.seconds, LOOPS[system])}
    return trained(folder, DEMO, "inline", [*BOARDS[system], *options.settings], 1, options)


# --- simple_push ----------------------------------------------------------------------------------


def simulated(seconds: float, name: str, game_options: dict[str, Any]) -> float:
    """Frames per second of random play."""
    return adapter_speed(seconds, name, **game_options)


def simple_push(folder: Path, system: str, setting: str, options: argparse.Namespace) -> Figures:
    """One run of a system on simple_push. setting: of Sample Factory."""
    if system in (PEER, CHECKED):
        return peer(folder, setting, options, system.removeprefix(PEER))
    if system == SIMULATION:
        game_options = load_config(str(PUSH), []).env.options
        return {"frames_per_s": on_each_core(simulated, options.seconds, "mpe", game_options)}
    return trained(folder, PUSH, "inline", [*ALONE, *ROLES[system], *options.settings], 1, options)


def peer(folder: Path, setting: str, options: argparse.Namespace, kind: str = "") -> Figures:
    """One run of Sample Factory on simple_push. kind: "" or "_parallel_env"."""
    config = load_config(str(PUSH), [*ALONE, *options.settings])
    program = Path(__file__).with_name("sample_factory_mpe.py").resolve()
    command = [
        str(options.sample_factory),
        "-P",
        str(program),
        *peer_options(config, kind),
        *setting_options(setting),
        f"--train_dir={folder}",
    ]
    return peer_trained(folder, command, 1, options)


def peer_options(config: RunConfig, kind: str) -> list[str]:
    """Options of Sample Factory for our network, batch, rollout and passes."""
    learning, model = config.learning, config.model
    if model.core != "none" or learning.batch_steps % learning.minibatches:
        raise SystemExit(
            "for Sample Factory: expected a network without memory, and minibatches that "
            "divide the batch"
        )
    return [
        f"--env={config.env.options['scenario']}{kind}",
        "--algo=APPO",
        "--device=cpu",
        "--env_frameskip=1",
        "--use_rnn=False",
        "--with_wandb=False",
        "--experiment=run",
        f"--nonlinearity={model.activation}",
        "--encoder_mlp_layers",
        *map(str, model.hidden),
        f"--rollout={config.sampling.rollout_steps}",
        f"--batch_size={learning.batch_steps // learning.minibatches}",
        f"--num_batches_per_epoch={learning.minibatches}",
        f"--num_epochs={learning.epochs}",
        f"--gamma={learning.gamma}",
        f"--gae_lambda={learning.gae_lambda}",
        f"--learning_rate={learning.learning_rate}",
    ]


# --- rounds ---------------------------------------------------------------------------------------


def told(number: int, figures_by_system: dict[str, Figures]) -> None:
    words = [f"{system} {speed(figures):,.0f}" for system, figures in figures_by_system.items()]
    print(f"round {number}: frames/s {'  '.join(words)}", file=sys.stderr, flush=True)


def report_of(options: argparse.Namespace, folder: Path, peers: Sequence[str]) -> dict[str, Any]:
    """Run all rounds. peers: settings of Sample Factory to choose from; empty without it."""
    setting, tried = fastest(folder, options, peer) if peers else ("", {})
    boards: list[dict[str, Figures]] = []
    pushes: list[dict[str, Figures]] = []
    for number in range(1, options.rounds + 1):
        place = folder / str(number)
        boards.append(
            {
                system: connect_four(place / system, system, options)
                for system in in_turn(options.only, number)
            }
        )
        told(number, boards[-1])
        if peers:
            pushes.append(
                {
                    system: simple_push(place / system, system, setting, options)
                    for system in in_turn(SIMPLE_PUSH, number)
                }
            )
            told(number, pushes[-1])
    report: dict[str, Any] = {"connect_four": summary(boards, options.only[0])}
    if peers:
        report |= {"peer_setting": setting, "tried": tried, "simple_push": summary(pushes)}
    return {**report, "rounds": {"connect_four": boards, "simple_push": pushes}}


def add_peer(parser: argparse.ArgumentParser) -> None:
    """Add the options of Sample Factory."""
    parser.add_argument(
        "--sample-factory",
        type=Path,
        default=None,
        metavar="PYTHON",
        help="python of the environment that has Sample Factory and mpe2",
    )
    parser.add_argument(
        "--peer-settings",
        nargs="+",
        type=setting_word,
        default=SETTINGS,
        metavar="SETTING",
        help="2x16, 2x16-plain, ...",
    )


def asked() -> argparse.Namespace:
    """The options of this call."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add_peer(parser)
    parser.add_argument(
        "--only",
        nargs="+",
        choices=CONNECT_FOUR,
        default=CONNECT_FOUR,
        metavar="SYSTEM",
        help="systems of connect four to run, the one that ratios are to first",
    )
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=30.0)
    parser.add_argument("--warmup", type=float, default=10.0)
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        dest="settings",
        help="override a value of our configs; may be given often",
    )
    parser.add_argument("--json", type=Path, default=None)
    return parser.parse_args()


def main() -> None:
    options = asked()
    machine: dict[str, Any] = {"hardware": hardware()}
    if options.sample_factory is not None:
        # Not resolved: a virtual environment's python is a link.
        options.sample_factory = options.sample_factory.absolute()
        machine["peer"] = peer_versions(options.sample_factory, "mpe2")
    peers = options.peer_settings if options.sample_factory is not None else ()
    with tempfile.TemporaryDirectory(prefix="light-", ignore_cleanup_errors=True) as folder:
        report = {
            **machine,
            "settings": settings_of(options),
            **report_of(options, Path(folder), peers),
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
