"""A comparison as the service was asked for it: its configs are tables, not files.

The trainings are those of `arena train FILE`, so each config is written to a file beside the file
that keeps the comparison.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from arena.league.requested_work import RequestedComparison
from arena.matches.compare import FOLDER, SIDES, Comparison, Contestant, Side
from arena.matches.earlier_plans import as_begun
from pbt.config.dump import to_toml
from pbt.config.load import config_from_table
from pbt.files import write_whole


def asked_config(asked: RequestedComparison, side: Side) -> Mapping[str, Any]:
    """The table of one side, with the frames that each member trains."""
    return {**{"a": asked.a, "b": asked.b}[side], "stop_at_frames": asked.frames}


def comparison_of(asked: RequestedComparison, data: Path) -> Comparison:
    """The comparison. Raises: ConfigError for a config with problems."""
    contestants = {side: _contestant(asked, side, data) for side in SIDES}
    return as_begun(
        Comparison(asked.name, contestants, asked.seeds, asked.frames, asked.games, data)
    )


def write_configs(comparison: Comparison) -> None:
    """Write the files that the trainings read, whole."""
    comparison.path.parent.mkdir(parents=True, exist_ok=True)
    for contestant in comparison.contestants.values():
        write_whole(Path(contestant.arguments[0]), to_toml(contestant.config))


def _contestant(asked: RequestedComparison, side: Side, data: Path) -> Contestant:
    label = side.upper()
    config = config_from_table(asked_config(asked, side), f"config {label}")
    path = data / FOLDER / f"{asked.name}-{side}.toml"
    return Contestant(label, path.name, config, (str(path),))
