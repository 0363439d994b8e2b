"""Measures the gain of each optimisation: trains a Doom scenario with all, and without each one.

    python -m bench.optimisations --rounds 3 --seconds 20 --json optimisations.json

It runs `arena train` of doom_health_gathering_supreme with one member, placement inline. An
optimisation that is a setting is turned off by the setting. Any other is removed from a copy of the
source tree, where the plain code that tests compare it with does the same work. Every round runs
all cases, forwards and backwards in turn, so that a slow moment of the machine hits all of them
alike.

  float32        products in float32 instead of bfloat16
  torch_elu      ELU by torch instead of our own kernel
  torch_pixels   pixels normalised, cast and laid out by torch instead of our own kernel
  no_blocks      the first convolution over three channels, instead of blocks of pixels
  unpacked       weights of linear layers laid out by torch in each acting call
  fresh_memory   memory of freed tensors is given back to the system
  no_turns       workers and engines under the ordinary scheduler instead of SCHED_BATCH
  small_pages    engines without huge pages
  unpinned       workers free to move from core to core

Reported: the figures of bench/peers.py, as medians over the rounds with least and greatest. `ratio`
is frames per second without the optimisation over those with all, within a round. An optimisation
that does nothing on this machine (bfloat16 where the CPU has none) has a ratio around 1.
"""

import argparse
import json
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

from bench.peer_runs import in_turn, speed, trained
from bench.peers import OURS, OURS_ALONE, summary
from bench.sample_factory import Figures
from bench.throughput import ROOT, hardware, settings_of
from pbt.config.load import find_config

ALL = "all"
CONFIG, SKIP = "doom_health_gathering_supreme", 4
_PACKAGES = ("pbt", "arena", "api")


class Piece(NamedTuple):
    """A way to remove one optimisation.

    settings   of the config
    removed    files of the source tree to remove
    edit       (file, code, other code): the code stands once in the file, and is replaced
    variables  of the environment
    """

    settings: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    edit: tuple[str, str, str] | None = None
    variables: tuple[tuple[str, str], ...] = ()


PIECES: dict[str, Piece] = {
    ALL: Piece(),
    "float32": Piece(settings=('runtime.precision="float32"',)),
    "torch_elu": Piece(removed=("pbt/native/elu.so",)),
    "torch_pixels": Piece(removed=("pbt/native/pixels.so",)),
    "no_blocks": Piece(
        edit=(
            "pbt/models/pixels.py",
            "return side if whole and channels < _MANY_CHANNELS else 1",
            "return 1",
        )
    ),
    "unpacked": Piece(
        edit=("pbt/models/packing.py", "return hasattr(", "return False and hasattr(")
    ),
    "fresh_memory": Piece(
        edit=("pbt/runtime/process.py", "    keep_freed_memory(images=blueprint.sees_images)\n", "")
    ),
    "no_turns": Piece(edit=("pbt/runtime/process.py", "os.SCHED_BATCH", "os.SCHED_OTHER")),
    "small_pages": Piece(variables=(("GLIBC_TUNABLES", "glibc.malloc.hugetlb=0"),)),
    "unpinned": Piece(settings=("runtime.pin_workers=false",)),
}


def tree_without(piece: Piece, folder: Path) -> Path:
    """Copy the packages without one optimisation. Returns the copy.

    Raises: SystemExit when the optimisation is not there to be removed.
    """
    for package in _PACKAGES:
        shutil.copytree(
            ROOT / package, folder / package, ignore=shutil.ignore_patterns("__pycache__", "static")
        )
    for name in piece.removed:
        if not (folder / name).exists():
            raise SystemExit(
                f"{name} is not there: it was not compiled; run python hatch_build.py, or "
                "name only others with --without"
            )
        (folder / name).unlink()
    if piece.edit is not None:
        name, old_code, new_code = piece.edit
        text = (folder / name).read_text(encoding="utf-8")
        if text.count(old_code) != 1:
            raise SystemExit(
                f"{name} has {old_code!r} {text.count(old_code)} times; expected it once; the code "
                "has changed, so change PIECES in bench/optimisations.py as well"
            )
        (folder / name).write_text(text.replace(old_code, new_code), encoding="utf-8")
    return folder


def figures_without(folder: Path, piece: Piece, options: argparse.Namespace) -> Figures:
    """One run without an optimisation."""
    tree = tree_without(piece, folder / "tree")
    variables = {"PYTHONPATH": str(tree), **dict(piece.variables)}
    settings = [*OURS, *OURS_ALONE, *piece.settings, *options.settings]
    return trained(
        folder / "run", find_config(CONFIG), "inline", settings, SKIP, options, variables
    )


def asked() -> argparse.Namespace:
    """The options of this call."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    pieces = sorted(set(PIECES) - {ALL})
    parser.add_argument(
        "--without",
        nargs="+",
        choices=pieces,
        default=pieces,
        metavar="PIECE",
        help="only these: " + ", ".join(pieces),
    )
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--warmup", type=float, default=10.0)
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        dest="settings",
        help="override a value of our config; may be given often",
    )
    parser.add_argument("--json", type=Path, default=None)
    return parser.parse_args()


def main() -> None:
    options = asked()
    rounds: list[dict[str, Figures]] = []
    with tempfile.TemporaryDirectory(prefix="optimisations-", ignore_cleanup_errors=True) as folder:
        for number in range(1, options.rounds + 1):
            rounds.append({})
            for name in in_turn([ALL, *options.without], number):
                rounds[-1][name] = figures_without(
                    Path(folder) / f"{number}-{name}", PIECES[name], options
                )
            words = [f"{name} {speed(found):,.0f}" for name, found in rounds[-1].items()]
            print(f"round {number}: frames/s {'  '.join(words)}", file=sys.stderr, flush=True)
    report: dict[str, Any] = {
        "hardware": hardware(),
        "settings": settings_of(options),
        "systems": summary(rounds, ALL),
        "rounds": rounds,
    }
    for name, found in report["systems"].items():
        print(
            f"{name:14} {found['frames_per_s']['median']:9,.0f} frames/s  "
            f"{found['ratio']['median']:.3f} of all"
        )
    if options.json is not None:
        options.json.write_text(
            json.dumps(report, indent=1, allow_nan=False) + "\n", encoding="utf-8"
        )


if __name__ == "__main__":
    main()
