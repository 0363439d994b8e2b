"""Trains PufferLib 3.0 on its own connect four, on the CPU, and counts the rows that it learns.

    python3.11 -m venv puf
    puf/bin/pip install torch==2.13.0 'setuptools<81' wheel Cython 'numpy<2' gymnasium==0.29.1 \\
        gym==0.23.0 pettingzoo==1.24.1 psutil rich rich_argparse imageio pyro-ppl
    tar xzf pufferlib-3.0.0.tar.gz
    cd pufferlib-3.0.0
    mkdir -p raylib-5.5_webassembly box2d-web box2d-linux-amd64
    sed -i 's#ocean/.*/binding.c#ocean/connect4/binding.c#' setup.py
    sed -i 's#shutil.which("nvcc")#False#' setup.py
    ../puf/bin/pip install --no-build-isolation --no-deps .
    cd ..
    python -m bench.pufferlib --python puf/bin/python --rounds 3 --json pufferlib.json

The archive is the source distribution among the files of PufferLib 3.0.0 on the package index,
which has no wheels of it; `pip download` runs its setup.py, which fails without the folders below.
A C and a C++ compiler are needed. The empty folders stand for downloads that only other games and
the browser need. The first `sed` leaves connect four as the only game that is built, the second
builds the trainer's part in C++ without CUDA.

A row is a step of PufferLib's only learning seat. Its connect four answers each of them by a search
of four moves, in C, so that a row stands for two moves of a game, of which one is learned. The
search takes most of the time; `game` is the speed of the game alone, with random moves in one
process. For a light game, as ours is, build into a second environment with

    sed -i 's/child_env_pieces, 3)/child_env_pieces, 0)/' pufferlib/ocean/connect4/connect4.h

before the installation: then the opponent wins where it can at once, and else plays at random.

PufferLib's own trainer, `PuffeRL`, runs its `evaluate` and `train` in turn with the values of its
connect4.ini, but for these: no LSTM; its Default policy with `hidden_size` 64, whose encoder of one
layer (42 to 64, GELU) gets a second one (64 to 64, GELU; not with --layers 1), and a linear head
each for moves and value; Adam at 2e-3 for Muon; no end of the training; the minibatch of the
setting; and its dashboard is not drawn. It makes one pass over each batch, as is its default
(update_epochs = 1). A batch is a segment of 64 steps of each environment. There is one learner,
since several of them need NCCL, and so GPUs.

Counted are the rows of all minibatches, in whole batches, for --seconds from --warmup seconds on.
Not all of them teach something:
  distinct  the share of a batch's segments that are learned at all. Each minibatch is drawn from
            the whole batch, by priority and without replacement, so that of several in a batch
            some segments come twice and others never; 1 where the batch is one minibatch. Taken
            from three more batches that are not timed.
  idle      the share of rows that show the end of a game: the next step only clears the board,
            whatever the move
The last of the 64 rows of a segment has no advantage either. Further figures:
  games          the share of the time in which the trainer plays games or waits for them
  without_games  rows per second of the rest of the time, where one process does it all

A setting is BACKEND-ENVIRONMENTS-MINIBATCH-THREADS, threads being torch's in the learner:
  serial  games and learner in one process
  sync    games in two worker processes, which the learner awaits together
  half    the same, but one worker plays while the learner acts for the other (its default)
A process that waits for another does so in a busy loop. Every setting is run once in each of
--rounds, forwards and backwards in turn; reported are medians, and the fastest setting.
"""

import argparse
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

from bench.pufferlib_trainer import GAME_ALONE, Figures, setting_of
from bench.throughput import hardware, settings_of

TRAINER = Path(__file__).with_name("pufferlib_trainer.py").resolve()
# For the imports, and a batch that was begun in time.
PATIENCE_S = 180.0
SETTINGS = tuple(
    f"{sizes}-{threads}"
    for sizes in (
        "serial-64-4096",
        "serial-512-4096",
        "serial-512-32768",
        "sync-64-4096",
        "sync-512-4096",
        "sync-512-32768",
        "half-128-4096",
        "half-512-4096",
        "half-512-32768",
    )
    for threads in (1, 2)
)
ROWS = "learned steps of the one learning seat; PufferLib's search plays the other"
COLUMNS = ("learned_per_s", "games", "without_games", "distinct", "idle")


def setting_word(word: str) -> str:
    """The word itself, checked at once. Raises: argparse.ArgumentTypeError."""
    setting_of(word)
    return word


def one_run(word: str, options: argparse.Namespace) -> dict[str, Any]:
    """The versions and figures of one run. Raises: SystemExit with the end of its output."""
    with tempfile.TemporaryDirectory(prefix="pufferlib-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        figures, log = folder / "figures.json", folder / "log.txt"
        # PufferLib leaves a link and checkpoints in the folder in which it runs. Without -P,
        # `import pufferlib` would find this module.
        command = [str(options.python), "-P", str(TRAINER), word]
        command += [f"--seconds={options.seconds}", f"--warmup={options.warmup}"]
        command += [f"--layers={options.layers}", f"--json={figures}"]
        with log.open("wb") as out:
            process = subprocess.Popen(
                command,
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                start_new_session=True,
            )
        try:
            process.wait(options.seconds + options.warmup + PATIENCE_S)
        except subprocess.TimeoutExpired:
            print(f"{word}: no figures in time", file=sys.stderr)
        finally:
            # Its workers may outlive it, and would falsify every later figure.
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        if not figures.exists():
            words = log.read_text(encoding="utf-8", errors="replace").splitlines()
            raise SystemExit(f"{word} ended with {process.returncode}:\n" + "\n".join(words[-30:]))
        answer: dict[str, Any] = json.loads(figures.read_text(encoding="utf-8"))
        return answer


def report_of(options: argparse.Namespace) -> dict[str, Any]:
    """Run everything."""
    alone = one_run(GAME_ALONE, options)
    runs: list[dict[str, Any]] = []
    for number in range(1, options.rounds + 1):
        for word in options.settings if number % 2 else reversed(options.settings):
            figures = one_run(word, options)["figures"]
            runs.append({"round": number, "setting": word, **figures})
            speed = figures["learned_per_s"]
            print(f"round {number}: {word} {speed:,.0f} rows/s", file=sys.stderr, flush=True)
    medians = {word: medians_of(word, runs) for word in options.settings}
    return {
        "peer": alone["versions"],
        "rows": ROWS,
        "game_rows_per_s": alone["figures"]["rows_per_s"],
        "fastest": max(medians, key=lambda word: medians[word]["learned_per_s"] or 0.0),
        "medians": medians,
        "runs": runs,
    }


def medians_of(word: str, runs: list[dict[str, Any]]) -> Figures:
    """Each figure of a setting, as the median over its runs."""
    own = [run for run in runs if run["setting"] == word]
    return {
        name: None if own[0][name] is None else statistics.median(run[name] for run in own)
        for name in COLUMNS
    }


def table(report: dict[str, Any]) -> str:
    """The settings as a table, the fastest first."""
    medians: dict[str, Figures] = report["medians"]
    lines = [f"{'setting':24}" + "".join(f"{name:>15}" for name in COLUMNS)]
    for word in sorted(medians, key=lambda word: -(medians[word]["learned_per_s"] or 0.0)):
        cells = (
            "-" if figure is None else f"{figure:,.0f}" if figure > 1 else f"{figure:.3f}"
            for figure in medians[word].values()
        )
        lines.append(f"{word:24}" + "".join(f"{cell:>15}" for cell in cells))
    best = report["fastest"]
    return "\n".join(
        [
            *lines,
            f"fastest: {best}, {medians[best]['learned_per_s']:,.0f} learned rows/s of one seat",
            f"the game alone, random moves in one process: {report['game_rows_per_s']:,.0f} rows/s",
        ]
    )


def asked() -> argparse.Namespace:
    """The options of this call."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--python",
        type=Path,
        required=True,
        metavar="PYTHON",
        help="python of the environment that has PufferLib",
    )
    parser.add_argument(
        "--settings", nargs="+", type=setting_word, default=SETTINGS, metavar="SETTING"
    )
    parser.add_argument("--layers", type=int, choices=(1, 2), default=2, help="hidden ones, of 64")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--warmup", type=float, default=5.0)
    parser.add_argument("--json", type=Path, default=None)
    return parser.parse_args()


def main() -> None:
    options = asked()
    # Not resolved: a virtual environment's python is a link.
    options.python = options.python.absolute()
    report = {"hardware": hardware(), "settings": settings_of(options), **report_of(options)}
    print(table(report))
    if options.json is not None:
        options.json.write_text(
            json.dumps(report, indent=1, allow_nan=False) + "\n", encoding="utf-8"
        )


if __name__ == "__main__":
    main()
