"""Measures a population against players that it never trained with.

    arena train connect_four --name c4 [--set ...]
    python -m bench.strangers connect_four c4 --games 400 --json connect_four.json
    arena train leduc --name leduc
    python -m bench.strangers leduc leduc --json leduc.json

Both commands need `pip install open-spiel` and read the population from the data directory (--data,
as for `arena`).

connect_four  `arena match POPULATION@best` against bench/mcts_bot.py, OpenSpiel's tree search with
              100 simulations per move and random rollouts, by `exec:`; the report is the match's
leduc         exploitability (`arena exploitability`) in chips per hand: of every snapshot of the
              best member, of the mixture of its snapshots so far, of the mixture of all members'
              snapshots so far, and of every member's last snapshot. `share` is the best mixture's
              over that of uniformly random play. To check the program, uniform play and an
              approximate equilibrium (CFR+) are measured first.
"""

import argparse
import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyspiel

from arena.data.paths import data_dir, league_path
from arena.league.database import open_league
from arena.league.stored_snapshots import StoredSnapshot, list_snapshots
from arena.players.information_states import InformationStates, Table
from arena.players.policies import load_policy
from arena.players.resolve import resolve_players
from bench.throughput import hardware
from pbt.inference.policy_server import NetworkPolicy
from pbt.transport.slab import role_layout

BOT = Path(__file__).with_name("mcts_bot.py")
LEDUC = "leduc_poker"
# Two players: nash_conv 4.747222, Lanctot et al. 2017, "A unified game-theoretic approach to
# multiagent reinforcement learning", figure 4
UNIFORM_EXPLOITABILITY = 4.747222 / 2
CFR_ITERATIONS, CFR_AT_MOST = 100, 0.02


# --- connect four ---------------------------------------------------------------------------------


def connect_four(options: argparse.Namespace) -> dict[str, Any]:
    """Play the match. Returns the report of `arena match --json`."""
    guest = f"exec:{sys.executable} {BOT} --simulations {options.simulations}"
    played = ["--games", str(options.games), "--seed", str(options.seed), "--json"]
    command = [
        sys.executable,
        "-P",
        "-m",
        "arena",
        "match",
        f"{options.population}@best",
        guest,
        *played,
    ]
    if options.data is not None:
        command += ["--data", str(options.data)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        sys.exit(done.returncode)
    result: dict[str, Any] = json.loads(done.stdout)
    score = f"{result['score']:.1%} [{result['low']:.1%}, {result['high']:.1%}]"
    print(f"{result['a']['name']} against {result['b']['name']}: {score}, {result['games']} games")
    return result


# --- Leduc poker ----------------------------------------------------------------------------------


def leduc(options: argparse.Namespace) -> dict[str, Any]:
    """Measure the exploitability of the population on Leduc poker."""
    states = InformationStates(pyspiel.load_game(LEDUC))
    check(states)
    uniform = states.exploitability(states.uniform())
    by_member = member_policies(states, options)
    best = options.member or best_member(options)
    curve = exploitability_curve(states, by_member, best)
    last = {
        member: states.exploitability(policies[-1][1]) for member, policies in by_member.items()
    }
    print(f"uniform play {uniform:.4f}; best member {best}, and in brackets shares of uniform play")
    print(f"{'frames':>10}  {'snapshot':>16}  {'mixture':>16}  {'mixture of all':>16}")
    for row in curve:
        cells = (
            f"{row[column]:.4f} ({row[column] / uniform:6.1%})"
            for column in ("snapshot", "mixture", "population_mixture")
        )
        print(f"{row['frames']:>10}  " + "  ".join(f"{cell:>16}" for cell in cells))
    return {
        "uniform": uniform,
        "best_member": best,
        "curve": curve,
        "last_snapshots": last,
        "share": curve[-1]["mixture"] / uniform,
    }


def check(states: InformationStates) -> None:
    """Check the program against known figures. Raises: AssertionError."""
    measured = states.exploitability(states.uniform())
    assert abs(measured - UNIFORM_EXPLOITABILITY) < 1e-5, (
        f"uniform play is measured at {measured}; expected {UNIFORM_EXPLOITABILITY}"
    )
    solver = pyspiel.CFRPlusSolver(states.game)
    for _ in range(CFR_ITERATIONS):
        solver.evaluate_and_update_policy()
    measured = states.exploitability(states.table_of(solver.average_policy()))
    assert measured < CFR_AT_MOST, (
        f"the equilibrium of {CFR_ITERATIONS} iterations of CFR+ is measured at {measured}; "
        f"expected less than {CFR_AT_MOST}"
    )


def member_policies(
    states: InformationStates, options: argparse.Namespace
) -> dict[str, list[tuple[int, Table]]]:
    """Member -> (frames, policy) of its snapshots, in the order of frames."""
    data = data_dir(options.data)
    with open_league(league_path(data), read_only=True) as league:
        snapshots = [
            snapshot
            for snapshot in list_snapshots(league, options.population)
            if not snapshot.weights_removed
        ]
    policies: dict[str, list[tuple[int, Table]]] = {}
    for snapshot in snapshots:
        policies.setdefault(snapshot.record.member, []).append(
            (snapshot.record.frames, states.policy_of(network(snapshot, data).model))
        )
    return policies


def network(snapshot: StoredSnapshot, data: Path) -> NetworkPolicy:
    """The policy of a snapshot, as a match plays it."""
    env, (player,) = resolve_players([snapshot.record.snapshot_id], data)
    game = env.make(**player.env_options)
    hosted = load_policy(player, role_layout(game.roles[0], game.reward_terms, 1, 0), env)
    game.close()
    assert isinstance(hosted, NetworkPolicy)
    return hosted


def best_member(options: argparse.Namespace) -> str:
    """The member of the population's best player."""
    _, (player,) = resolve_players([f"{options.population}@best"], options.data)
    assert player.member is not None
    return player.member


def exploitability_curve(
    states: InformationStates, by_member: dict[str, list[tuple[int, Table]]], best: str
) -> list[dict[str, float]]:
    """The exploitability at each snapshot of the best member.

    Of the snapshot itself, of the mixture of the member's snapshots up to it, and of the mixture of
    all members' snapshots up to its frames.
    """
    rows = []
    for index, (frames, policy) in enumerate(by_member[best]):
        own_policies = [earlier for _, earlier in by_member[best][: index + 1]]
        all_members = [
            earlier for policies in by_member.values() for at, earlier in policies if at <= frames
        ]
        rows.append(
            {
                "frames": frames,
                "snapshot": states.exploitability(policy),
                "mixture": states.exploitability(states.mixture(own_policies)),
                "population_mixture": states.exploitability(states.mixture(all_members)),
            }
        )
    return rows


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(required=True)
    for name, run in (("connect_four", connect_four), ("leduc", leduc)):
        command = commands.add_parser(name)
        command.set_defaults(run=run)
        command.add_argument("population")
        command.add_argument("--data", type=Path, help="the data directory, as for arena")
        command.add_argument("--json", type=Path, help="where to write the results")
        if name == "connect_four":
            command.add_argument("--games", type=int, default=400)
            command.add_argument("--simulations", type=int, default=100)
            command.add_argument("--seed", type=int, default=1)
        else:
            command.add_argument("--member", help="the member to measure; default: that of @best")
    options = parser.parse_args(arguments)
    result = {**options.run(options), "hardware": hardware()}
    if options.json is not None:
        options.json.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
