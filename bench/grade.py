"""Grades players of connect four by a solver: how often their moves keep the value of a position.

    python -m bench.grade --references --json bench/results/grades.json
    python -m bench.grade demo@best demo/m0@142k --data arena-data --json grades.json

The positions are the critical ones of `bench.positions`: some move keeps what perfect play makes of
the position, and some other loses it. A grade is the mean share of value-keeping moves, with a 95 %
interval in which positions are the unit:

  plays   as the player plays in matches: the probability that its policy gives to such moves
          together, exactly. Of MCTS and of the perfect player it is one move for each position
  greedy  of networks: of the most likely move

Both also stand by number of stones and by source of the position. Of networks the correlation of
the value head with the truth (1, 0, -1 for the side to move) is measured on the positions that were
drawn whatever they are, with an interval by 1 000 resamples. `bench.graded_players` has the names.

--references  grades random, oneply, minimax:5, mcts:100, mcts:1000 and perfect. perfect needs
              `pip install bitbully`, mcts needs `pip install open-spiel`
--json FILE   is written after every player. A player that stands there, graded on the same
              positions with the same seed, is not graded again; `--again` grades it
"""

import argparse
import json
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from arena.stats.intervals import mean_interval, wilson_interval
from bench.connect_four_board import COLUMNS
from bench.graded_players import Asked, player_named
from bench.positions import DRAWN, SHA256, Position, stored_positions
from bench.throughput import hardware
from pbt.errors import PbtError
from pbt.files import write_whole
from pbt.seeding import generator

REFERENCES = ("random", "oneply", "minimax:5", "mcts:100", "mcts:1000", "perfect")
RESAMPLES = 1000
AXES: dict[str, Callable[[Position], str]] = {
    "stones": lambda position: position.stones,
    "source": lambda position: position.source,
}


def kept(chances: NDArray[np.float64], positions: Sequence[Position]) -> NDArray[np.float64]:
    """[N] the probability of value-keeping moves together. chances: [N, 7]."""
    keeping = np.zeros((len(positions), COLUMNS))
    for row, position in zip(keeping, positions, strict=True):
        row[list(position.keeping)] = 1.0
    found: NDArray[np.float64] = (chances * keeping).sum(axis=1)
    return found


def share(values: NDArray[np.float64]) -> dict[str, float]:
    """The mean over positions with its interval: Wilson's, or Student's of shares in between."""
    mean = float(values.mean())
    certain = bool(np.isin(values, (0.0, 1.0)).all())
    interval = None if certain else mean_interval(values.tolist())
    low, high = interval or wilson_interval(mean, len(values))
    return {"share": mean, "low": low, "high": high, "positions": len(values)}


def shares(values: NDArray[np.float64], positions: Sequence[Position]) -> dict[str, Any]:
    """The share of all, and that of each stratum."""
    found: dict[str, Any] = share(values)
    for axis, stratum_of in AXES.items():
        strata = np.array([stratum_of(position) for position in positions])
        found[axis] = {
            stratum: share(values[strata == stratum]) for stratum in dict.fromkeys(strata.tolist())
        }
    return found


def correlation(values: NDArray[np.float64], truth: NDArray[np.float64]) -> dict[str, float]:
    """Pearson's, with the 2.5 and 97.5 % quantiles of resampled positions."""
    rng, count = generator(1, "correlation"), len(values)
    rows = rng.integers(count, size=(RESAMPLES, count))
    resampled = [np.corrcoef(values[row], truth[row])[0, 1] for row in rows]
    low, high = np.quantile(resampled, [0.025, 0.975])
    whole = float(np.corrcoef(values, truth)[0, 1])
    return {"correlation": whole, "low": float(low), "high": float(high), "positions": count}


def graded(asked: Asked, positions: Sequence[Position]) -> dict[str, Any]:
    """The grades of a player that was asked in all positions."""
    critical = np.array([position.critical for position in positions])
    chosen = [position for position in positions if position.critical]
    found: dict[str, Any] = {
        "plays": shares(kept(asked.chances[critical], chosen), chosen),
        "greedy": None,
        "value": None,
    }
    if asked.greedy is not None:
        greedy = np.eye(COLUMNS)[asked.greedy]
        found["greedy"] = shares(kept(greedy[critical], chosen), chosen)
    if asked.values is not None:
        drawn = np.array([position.sample == DRAWN for position in positions])
        truth = np.array([float(position.value) for position in positions])
        found["value"] = correlation(asked.values[drawn].astype(np.float64), truth[drawn])
    return found


def line(label: str, found: dict[str, Any]) -> str:
    """A row of the table for people."""
    cells = [
        f"{one['share']:7.2%} [{one['low']:.2%}, {one['high']:.2%}]" if one else "-"
        for one in (found["plays"], found["greedy"])
    ]
    value = found["value"]
    last = f"{value['correlation']:.3f} [{value['low']:.3f}, {value['high']:.3f}]" if value else "-"
    return f"{label:<24} {cells[0]:<26} {cells[1]:<26} {last}"


def earlier(file: Path | None, seed: int) -> dict[str, Any]:
    """The grades that the file holds, of the same positions and seed."""
    if file is None or not file.exists():
        return {}
    stored = json.loads(file.read_text(encoding="utf-8"))
    if stored.get("sha256") != SHA256 or stored.get("seed") != seed:
        raise SystemExit(
            f"{file}: graded on other positions or with another seed; expected SHA-256 "
            f"{SHA256[:12]}... and seed {seed}: name another file, or remove this one"
        )
    return dict(stored["players"])


def options_of(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("players", nargs="*", metavar="PLAYER")
    parser.add_argument("--references", action="store_true")
    parser.add_argument("--data", type=Path, help="the data directory, as for arena")
    parser.add_argument("--seed", type=int, default=1, help="of MCTS")
    parser.add_argument("--json", type=Path, help="where to write the grades")
    parser.add_argument("--again", action="store_true")
    options = parser.parse_args(arguments)
    if not options.players and not options.references:
        parser.error("no player; name some, such as demo@best, or add --references")
    return options


def main(arguments: Sequence[str] | None = None) -> int:
    options = options_of(arguments)
    positions, known = stored_positions(), earlier(options.json, options.seed)
    critical = sum(position.critical for position in positions)
    print(f"{critical} critical positions of connect four, {SHA256[:12]}")
    print(f"{'player':<24} {'plays':<26} {'greedy':<26} value head")
    for name in [*(REFERENCES if options.references else ()), *options.players]:
        try:
            label, player = player_named(name, options.data, options.seed)
        except PbtError as error:
            raise SystemExit(str(error)) from error
        if label not in known or options.again:
            began = time.perf_counter()
            known[label] = graded(player(positions), positions)
            known[label]["seconds"] = round(time.perf_counter() - began, 1)
            stored = {"sha256": SHA256, "critical": critical, "seed": options.seed}
            stored |= {"measured_on": hardware(), "players": known}
            if options.json is not None:
                write_whole(options.json, json.dumps(stored, indent=1) + "\n")
        print(line(label, known[label]), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
