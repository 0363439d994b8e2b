"""Whether matches and ratings by margin say what is true, in Leduc poker, where the truth is known.

    arena train leduc --name leduc --set runtime.placement=serial \\
        --set stop_at_frames=600_000 --set snapshots.every_frames=75_000
    python -m bench.leduc_margins leduc --json bench/results/leduc_margins.json

25 snapshots of the population are drawn and put into a circle by SEED. Each meets its eight
neighbours on either side: 200 pairs. From the tables of both policies follows the exact value of
one against the other (`bench.leduc_hands`), in chips a hand. The program has three parts:

1. `arena match` plays 2 000 deal pairs of each of five pairs, chosen by SEED. Their margins are
   held against the exact distribution: the mean by its standard error, all of it by chi-square.
2. 20 000 deal pairs of every pair are drawn from the tables. The interval is that of `arena match`
   (`arena.matches.stored.margins_of`). As many hands with deals of their own are drawn too, half of
   them in each seat; `saved` is the variance of their mean over that of the deal pairs.
3. `arena.stats.margin_ratings` rates the snapshots by these deal pairs. The exact margin against
   the panel is the mean of the exact values against all 24 others.

Every pair has random streams of its own. The file is written after each match and each ten pairs,
and the same call goes on from there. Exit code 1 when a floor is missed: intervals that hold the
exact value, 184 to 196 of 200; none of the means on the wrong side of 0 by more than 4 standard
errors; Spearman's correlation of ratings and exact panel margins, 0.95; matches within 4 standard
errors, and chi-square's p above 0.001.
"""

import argparse
import json
import math
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyspiel
import torch

from arena.data.paths import data_dir, league_path
from arena.league.database import open_league
from arena.league.matches import find_match, stored_games
from arena.league.stored_snapshots import StoredSnapshot, list_snapshots
from arena.matches.stored import game_from_seat
from arena.players.information_states import InformationStates, Table
from arena.stats.margin import unit_margins
from bench.leduc_counts import chi_square, drawn_match, missed, rated, summary
from bench.leduc_hands import LEDUC, Floats, Hands
from bench.strangers import network
from bench.throughput import hardware
from pbt.files import write_whole
from pbt.inference.policy_server import NetworkPolicy

SEED = 25_11_2026
PLAYERS, NEIGHBOURS, MATCHES, MATCH_GAMES = 25, 8, 5, 4_000
TABLE_APART, KEPT_AFTER = 1e-5, 10


class Player(NamedTuple):
    """A snapshot with the reach of its policy ([2, 120, T], `bench.leduc_hands`)."""

    snapshot: StoredSnapshot
    reach: Floats


# --- snapshots and matches --------------------------------------------------------------------


def circle(players: int = PLAYERS, neighbours: int = NEIGHBOURS) -> list[tuple[int, int]]:
    """Pairs of players in a circle, each with so many neighbours on either side."""
    return [(i, (i + step) % players) for step in range(1, neighbours + 1) for i in range(players)]


def chosen(population: str, data: Path) -> list[StoredSnapshot]:
    """25 snapshots of the population in the order of the circle. Raises: SystemExit for fewer."""
    with open_league(league_path(data), read_only=True) as league:
        every = [one for one in list_snapshots(league, population) if not one.weights_removed]
    if len(every) < PLAYERS:
        raise SystemExit(
            f"population {population!r} has {len(every)} snapshots; expected {PLAYERS} or more; "
            "train it as this program's text says"
        )
    every.sort(key=lambda one: (one.record.member, one.record.frames))
    order = np.random.default_rng([SEED, 0]).permutation(len(every))[:PLAYERS]
    return [every[place] for place in order]


def acting_difference(
    states: InformationStates, hosted: NetworkPolicy, table: Table, uniforms: Floats
) -> float:
    """How far chances are from the table where the network acts as in a match.

    uniforms  [S] from which one action is drawn at every information state
    """
    rows = len(states.legal)
    hosted.settle(torch.device("cpu"))
    with torch.inference_mode():
        acted = hosted.model.act(
            {"observation": torch.from_numpy(states.tensors)},
            torch.from_numpy(states.legal),
            torch.zeros(rows, dtype=torch.bool),
            torch.zeros(rows, 0),
            torch.from_numpy(uniforms)[:, None],
        )
    told = table[np.arange(rows), acted.actions[:, 0].numpy()]
    return float(np.abs(acted.columns["log_prob"].double().exp().numpy() - told).max())


def players_of(
    hands: Hands, states: InformationStates, options: argparse.Namespace
) -> list[Player]:
    """The players, their tables held against the networks that act."""
    found, data = [], data_dir(options.data)
    rng = np.random.default_rng([SEED, 1])
    for snapshot in chosen(options.population, data):
        hosted = network(snapshot, data)
        table = states.policy_of(hosted.model)
        apart = acting_difference(states, hosted, table, rng.random(len(table)))
        assert apart < TABLE_APART, f"{snapshot.record.snapshot_id}: acts {apart} off its table"
        found.append(Player(snapshot, hands.reach(table)))
    return found


def real_match(
    players: Sequence[Player], pair: tuple[int, int], hands: Hands, seed: int, data: Path | None
) -> dict[str, Any]:
    """A match by `arena match`, beside the exact value and distribution."""
    law = hands.law(*(players[one].reach for one in pair))
    named = [players[one].snapshot.record.snapshot_id for one in pair]
    told = ["--games", str(MATCH_GAMES), "--objective", "margin", "--seed", str(seed), "--json"]
    where = [] if data is None else ["--data", str(data)]
    command = [sys.executable, "-P", "-m", "arena", "match", *named, *told, *where]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    report = json.loads(done.stdout)
    with open_league(league_path(data_dir(data)), read_only=True) as league:
        match = find_match(league, report["match"])
        records = stored_games(league, match)
    margins = unit_margins(
        [
            game_from_seat(one, [seat.player for seat in one.seats].index(match.players[0]))
            for one in records
        ]
    )
    printed = {name: report["margin"][name] for name in ("mean", "low", "high", "deviation")}
    assert math.isclose(np.mean(margins), printed["mean"], abs_tol=1e-9)
    assert len(margins) == MATCH_GAMES / 2
    error = math.sqrt(law.swapped / len(margins))
    return {
        "a": pair[0],
        "b": pair[1],
        "deals": len(margins),
        "exact": law.value,
        **printed,
        "exact_deviation": math.sqrt(law.swapped),
        "errors_off": (printed["mean"] - law.value) / error,
        **chi_square(margins, law),
    }


# --- the program ----------------------------------------------------------------------------------


def earlier(path: Path, plan: dict[str, Any]) -> dict[str, Any]:
    """What a call that was cut off has stored. Raises: SystemExit where the plan is another one."""
    if not path.exists():
        return {"plan": plan, "matches": [], "pairs": []}
    stored: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    if stored["plan"] != plan:
        raise SystemExit(
            f"{path}: found results of another plan, or of other snapshots; name another file with "
            "--json, or remove this one"
        )
    return stored


def keep(path: Path, stored: dict[str, Any]) -> None:
    """Write the file, one line for each pair."""
    parts = []
    for name, value in {**stored, "measured_on": hardware()}.items():
        lines = (
            "[\n  " + ",\n  ".join(map(json.dumps, value)) + "\n ]"
            if isinstance(value, list)
            else json.dumps(value)
        )
        parts.append(f" {json.dumps(name)}: {lines}")
    write_whole(path, "{\n" + ",\n".join(parts) + "\n}\n")


def run(options: argparse.Namespace) -> dict[str, Any]:
    """All parts; returns what is stored."""
    states = InformationStates(pyspiel.load_game(LEDUC))
    hands = Hands(states)
    players = players_of(hands, states, options)
    named = [
        [
            player.snapshot.record.snapshot_id,
            player.snapshot.record.member,
            player.snapshot.record.frames,
        ]
        for player in players
    ]
    plan = {"seed": SEED, "deals": options.deals, "match_games": MATCH_GAMES, "players": named}
    stored, pairs = earlier(options.json, plan), circle()
    met = np.random.default_rng([SEED, 2]).choice(len(pairs), MATCHES, replace=False)
    for place in range(len(stored["matches"]), MATCHES):
        row = real_match(players, pairs[met[place]], hands, SEED + place, options.data)
        stored["matches"].append(row)
        keep(options.json, stored)
        print(json.dumps(row), flush=True)
    for place in range(len(stored["pairs"]), len(pairs)):
        a, b = pairs[place]
        both = players[a].reach, players[b].reach
        row = drawn_match(hands, both, options.deals, [SEED, 3, place])
        stored["pairs"].append({"a": a, "b": b, "deals": options.deals, **row})
        if place % KEPT_AFTER == KEPT_AFTER - 1:
            keep(options.json, stored)
    exact = np.array([[hands.law(a.reach, b.reach).value for b in players] for a in players])
    stored["ratings"] = rated(stored["pairs"], exact)
    stored["summary"] = summary(stored)
    keep(options.json, stored)
    return stored


def main(arguments: Sequence[str] | None = None) -> int:
    """Returns 1 when a floor is missed."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("population")
    parser.add_argument("--data", type=Path, help="the data directory, as for arena")
    parser.add_argument("--deals", type=int, default=20_000, help="deal pairs of each pair")
    parser.add_argument("--json", type=Path, required=True, help="where to write the results")
    stored = run(parser.parse_args(arguments))
    print(json.dumps(stored["summary"], indent=1))
    broken = missed(stored)
    print("\n".join(broken) or "no floor is missed")
    return int(bool(broken))


if __name__ == "__main__":
    sys.exit(main())
