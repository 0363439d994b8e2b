"""Trains MPE's simple_spread and simple_tag, and measures what returns have become of it.

    python -m bench.objectives --folder objectives --games spread --frames 500_000 --json FILE
    python -m bench.objectives --folder objectives --games tag --frames 300_000 --matches 2400 \\
        --json FILE

Both games count in returns. In simple_spread three players share one return; in simple_tag
predators and prey have returns of their own. Each seed is one population, trained by the shipped
configuration, stopped at --frames of each member. Then follow the commands that a user types.
UNTRAINED is the best one's own member at frame 0. Matches are fresh: their games chose no best.
  league    the mean returns of all snapshots, which are the curve of the training
  match     (simple_spread) `arena match NAME@best UNTRAINED --fresh`, and the same against random;
            (simple_tag) one match of the best and the untrained of both roles, and random
  evaluate  (simple_spread) `arena evaluate NAME@best UNTRAINED random`: the lead of the best over
            the others on the same episodes, each with itself in all seats
  refusal   (simple_tag) `arena match NAME@best random`, whose error names the choices
  verify    `arena verify NAME`
A step whose result the file already has is not run again, and a training that was cut off is
resumed, so a program that was stopped goes on where it was. The folder is the data directory.

Reported for each population: commands, exit codes and what was printed; "curve", by member and
frames; and "figures": whether the best beats the untrained, in simple_spread by the interval of the
lead, in simple_tag by that of the lead in the match, for either role.
"""

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from arena.data.paths import population_paths
from bench.throughput import hardware

CONFIGS = {"spread": "mpe_simple_spread", "tag": "mpe_simple_tag"}
Report = dict[str, Any]


class Population:
    """One population of a game, and the results of its steps.

    game     "spread" or "tag"
    seed     of the training, the matches and the evaluations
    options  of the program
    report   all results so far, which `--json` holds
    """

    def __init__(self, game: str, seed: int, options: argparse.Namespace, report: Report) -> None:
        self.game, self.seed, self.name = game, seed, f"{game}{seed}"
        self._options, self._report = options, report
        start = {"seed": seed, "frames": options.frames}
        self.found: Report = report["populations"].setdefault(self.name, start)

    def step(self, step: str, *words: str, codes: Sequence[int] = (0,)) -> None:
        """Run a command of the program, unless its result is known, and keep what it printed.

        codes  the exit codes that are no fault. Raises: SystemExit on any other
        """
        if step in self.found:
            return
        print(f"{self.name}: arena {' '.join(words)}", file=sys.stderr, flush=True)
        began_s = time.monotonic()
        where = ["--data", str(self._options.folder)]
        done = subprocess.run(
            [sys.executable, "-P", "-m", "arena", *words, *where],
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode not in codes:
            raise SystemExit(f"arena {' '.join(words)} ended with {done.returncode}: {done.stderr}")
        self.found[step] = {
            "command": f"arena {' '.join(words)}",
            "exit_code": done.returncode,
            "seconds": round(time.monotonic() - began_s, 1),
            "printed": _parsed(done.stdout),
            "said": done.stderr.strip().splitlines() if done.returncode else [],
        }
        _write(self._options.json, self._report)

    def train(self) -> None:
        """Train, or go on with a training that was cut off."""
        if population_paths(self._options.folder, self.name).root.exists():
            self.step("train", "train", "--resume", self.name, "--json")
            return
        sets = ("--set", f"seed={self.seed}", "--set", f"stop_at_frames={self._options.frames}")
        self.step("train", "train", CONFIGS[self.game], "--name", self.name, *sets, "--json")

    def table(self) -> Report:
        """The table of returns."""
        self.step("league", "league", self.name, "--top", "0", "--json")
        found: Report = self.found["league"]["printed"]
        return found

    def best(self) -> dict[str, str]:
        """Role -> the label of its best snapshot."""
        names = {row["id"]: row["player"] for row in self.table()["players"]}
        return {role: names[best] for role, best in self.table()["best_by_role"].items()}

    def measured(self, step: str, *words: str) -> Report:
        """What a command says; its games are --matches."""
        number = "--episodes" if words[0] == "evaluate" else "--games"
        self.step(step, *words, number, str(self._options.matches), "--json")
        found: Report = self.found[step]["printed"]
        return found


def untrained(player: str) -> str:
    """The first snapshot of the member that this snapshot is of."""
    return f"{player.partition('@')[0]}@0"


def _parsed(text: str) -> Any:
    """The last line as JSON, or all lines where it is none."""
    lines = text.strip().splitlines()
    try:
        return json.loads(lines[-1]) if lines else None
    except json.JSONDecodeError:
        return lines


def spread(one: Population) -> Report:
    """The returns of the best of a cooperative game beside an untrained one and `random`."""
    (best,) = one.best().values()
    others = {"untrained": untrained(best), "random": "random"}
    self_play = {}
    for word, other in others.items():
        match = one.measured(f"match {word}", "match", f"{one.name}@best", other, "--fresh")
        self_play[word] = [row["self_play"] for row in match["players"]]
    evaluated = one.measured("evaluate", "evaluate", f"{one.name}@best", *others.values())
    leads = [row["lead"] for row in evaluated["beside"]]
    return {
        "best": best,
        "self_play_of_best_and_other": self_play,
        "lead": dict(zip(others, leads, strict=True)),
        "improved": all(lead is not None and lead[1] > 0 for lead in leads),
    }


def tag(one: Population) -> Report:
    """The lead of the best of each role over the untrained one of that role."""
    one.step("refusal", "match", f"{one.name}@best", "random", codes=(2,))
    best = one.best()
    names = [
        name
        for role, player in best.items()
        for name in (f"{one.name}/{role}@best", untrained(player))
    ]
    match = one.measured("match", "match", *names, "random", "--fresh")
    roles: dict[str, Report] = {}
    for lead in match["leads"]:
        ahead, behind = (match["standings"][lead[side]] for side in ("ahead", "behind"))
        player, other = ahead["player"]["name"], behind["player"]["name"]
        if player == best[ahead["role"]] and other in ("random", untrained(player)):
            word = "random" if other == "random" else "untrained"
            roles.setdefault(ahead["role"], {"best": player})[word] = lead["lead"]
    ends = [roles.get(role, {}).get("untrained", {}).get("low") for role in best]
    return {"roles": roles, "improved": all(low is not None and low > 0 for low in ends)}


def curve(one: Population) -> dict[str, list[Sequence[float | None]]]:
    """Member -> (frames, mean return, low, high) of its snapshots."""
    found: dict[str, list[Sequence[float | None]]] = {}
    for row in sorted(one.table()["players"], key=lambda row: row["frames"]):
        point = (row["frames"], row["mean_return"], row["low"], row["high"])
        found.setdefault(row["player"].partition("@")[0], []).append(point)
    return dict(sorted(found.items()))


def _write(path: Path | None, report: Report) -> None:
    if path is not None:
        path.write_text(json.dumps(report, indent=1, allow_nan=False) + "\n", encoding="utf-8")


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--folder", type=Path, required=True, help="the data directory")
    parser.add_argument("--games", nargs="+", choices=list(CONFIGS), default=list(CONFIGS))
    parser.add_argument("--seeds", nargs="+", type=int, default=[1, 2])
    parser.add_argument("--frames", type=int, default=500_000, help="of each member")
    parser.add_argument(
        "--matches", type=int, default=600, help="games of a match, episodes of an evaluation"
    )
    parser.add_argument("--json", type=Path, help="where to write the results")
    options = parser.parse_args(arguments)
    report: Report = {"hardware": hardware(), "populations": {}}
    if options.json is not None and options.json.exists():
        report = json.loads(options.json.read_text(encoding="utf-8"))
    for game in options.games:
        for seed in options.seeds:
            one = Population(game, seed, options, report)
            one.train()
            figures = (spread if game == "spread" else tag)(one)
            one.step("verify", "verify", one.name)
            one.found |= {"figures": figures, "curve": curve(one)}
            _write(options.json, report)
            print(f"{one.name}: {json.dumps(figures)}")


if __name__ == "__main__":
    main()
