"""Lists from sources, and from what the program says of single names."""

import ast
import dataclasses
import inspect
import json
import re
import sys
import warnings
from collections.abc import Iterator
from importlib import import_module, invalidate_caches
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

from tests.fence.program import ROOT, call, project

PACKAGES = ("api", "arena", "pbt")
SHOWN = (
    "arena.EvaluationResult",
    "arena.MatchResult",
    "arena.Ratings",
    "arena.RunConfig",
    "arena.TournamentResult",
    "arena.TrainingControl",
    "arena.TrainingResult",
    "arena.evaluate",
    "arena.league.flat_records.FlatGame",
    "arena.league.flat_records.FlatMatch",
    "arena.league.flat_records.FlatMember",
    "arena.league.flat_records.FlatRound",
    "arena.league.flat_records.FlatSnapshot",
    "arena.league.flat_records.FlatValue",
    "arena.league.summaries.PopulationSummary",
    "arena.league.view.LeagueView",
    "arena.league.view.league",
    "arena.load_player",
    "arena.match",
    "arena.players.load_player",
    "arena.python.evaluations.FlatEpisode",
    "arena.python.following.Following",
    "arena.python.matches.Playing",
    "arena.python.ratings.FlatRating",
    "arena.python.training_result.TrainedMember",
    "arena.rate",
    "arena.resume",
    "arena.tournament",
    "arena.train",
    "arena.training.listeners.Update",
    "pbt.envs.check.CheckReport",
    "pbt.envs.check.check_game",
    "pbt.envs.contract.Counting",
    "pbt.envs.contract.Curricular",
    "pbt.envs.contract.Deadlined",
    "pbt.envs.contract.EnvSpec",
    "pbt.envs.contract.Game",
    "pbt.envs.contract.Grid",
    "pbt.envs.contract.Outcome",
    "pbt.envs.contract.Overlapping",
    "pbt.envs.contract.Preparing",
    "pbt.envs.contract.Readable",
    "pbt.envs.contract.Remarking",
    "pbt.envs.contract.Role",
    "pbt.envs.contract.ScriptedAct",
    "pbt.envs.contract.SeatTurn",
    "pbt.envs.contract.opens_at_random",
    "pbt.envs.contract.ranking_from_scores",
)
"""What documents tell users to import, and what stands beside it in the same modules."""
SHARED = "scenario wad map frame_skip screen width height variables terms"
ENDS = "respawn_delay_s spawn_protection hud warmup_tics lock_step deadline_s start_deadline_s"
OPTIONS = {
    "doom": f"{SHARED} max_tics actions timeout points",
    "doom_match": f"{SHARED} players bots bot_skill bot_curriculum max_tics buttons reward {ENDS}",
    "mpe": "scenario one_role max_cycles dynamic_rescaling",
}
"""`env.options` of the games that have some."""
TOPICS = ("population", "operation", "training", "evaluation")
"""Of `GET /v1/events`."""
GROUP = "pbt_arena.envs"
"""Entry points through which other packages bring games."""
METRIC_KINDS = ("Counter", "Gauge", "Histogram", "Summary")
VARIABLE = re.compile(r'"(ARENA_[A-Z]+)"')


def _sources() -> Iterator[str]:
    """Every source of the product."""
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            yield path.read_text(encoding="utf-8")


def _calls(word: str) -> Iterator[tuple[str, list[ast.expr]]]:
    """Calls in sources that hold the word: the name that is called, without what stands before a
    dot, and the arguments in their order.
    """
    for text in _sources():
        nodes = ast.walk(ast.parse(text)) if word in text else ()
        for node in nodes:
            if isinstance(node, ast.Call):
                named = node.func
                name = getattr(named, "id", "") or getattr(named, "attr", "")
                yield name, node.args


def _texts(node: ast.AST) -> list[str]:
    """The text constants in an expression."""
    found = (one.value for one in ast.walk(node) if isinstance(one, ast.Constant))
    return [value for value in found if isinstance(value, str)]


def event_kinds() -> set[str]:
    """The first argument wherever an event is made: `Event("copy", ...)`, or by the controller."""
    topics = _topics()
    found = {f"topic {topic}" for topic in TOPICS if topic in topics}
    for name, arguments in (*_calls("Event("), *_calls("_member_event(")):
        if name.endswith(("Event", "_member_event")) and len(arguments) > 2:
            found |= {f"kind {kind}" for kind in _choices(arguments[0])}
    return found


def _choices(node: ast.expr) -> list[str]:
    """Of a text, or of `one if condition else other`."""
    if isinstance(node, ast.IfExp):
        return [*_choices(node.body), *_choices(node.orelse)]
    return [node.value] if isinstance(node, ast.Constant) and isinstance(node.value, str) else []


def _topics() -> list[str]:
    document = json.loads((ROOT / "docs/schemas/openapi.json").read_text())
    parameters = document["paths"]["/v1/events"]["get"]["parameters"]
    (topics,) = (parameter for parameter in parameters if parameter["name"] == "topics")
    return re.findall(r"\w+", topics["description"])


def prometheus() -> set[str]:
    """Names of the service's metrics, with their labels."""
    found = set()
    for kind, arguments in _calls("prometheus"):
        if kind in METRIC_KINDS and len(arguments) > 1:
            name, _, *labels = (_texts(argument) for argument in arguments)
            metric = f"prometheus {' '.join(name)}"
            found |= {metric, *(f"{metric} {label}" for group in labels for label in group)}
    return found


def variables() -> set[str]:
    """Environment variables of ours."""
    return {f"variable {name}" for text in _sources() for name in VARIABLE.findall(text)}


def imports() -> set[str]:
    """Those of SHOWN that can be imported, with their fields, methods or parameters."""
    found = set()
    for name in SHOWN:
        module, _, attribute = name.rpartition(".")
        with warnings.catch_warnings():
            # What moved says so, and still works.
            warnings.simplefilter("ignore", DeprecationWarning)
            try:
                shown = getattr(import_module(module), attribute)
            except (ImportError, AttributeError):
                continue
        found |= {name, *(f"{name} {part}" for part in _parts(shown))}
    return found


def _parts(shown: Any) -> set[str]:
    if inspect.isfunction(shown):
        return set(inspect.signature(shown).parameters)
    if not inspect.isclass(shown):
        return set()
    named = {*vars(shown), *shown.__annotations__}
    if dataclasses.is_dataclass(shown):
        named |= {field.name for field in dataclasses.fields(shown)}
    return {name for name in named if not name.startswith("_")}


def options() -> set[str]:
    """Those of OPTIONS that the refusal of another one names."""
    found = set()
    for game, names in OPTIONS.items():
        refusal = call("env", "check", game, "--set", "nonsense=1").said
        known = set(re.findall(r"\w+", refusal))
        found |= {f"{game} {name}" for name in names.split() if name in known}
    return found


def names() -> set[str]:
    """Programs, games with their players, shipped configs, and what `make` makes."""
    games = json.loads(call("env", "list", "--json").out)
    found = {f"program {name}" for name in project()["scripts"]}
    found |= {f"game {game['name']}" for game in games}
    for game in games:
        found |= {f"player {player} of {game['name']}" for player in game["opponents"]}
    found |= {f"config {path.stem}" for path in (ROOT / "configs").glob("*.toml")}
    makefile = (ROOT / "Makefile").read_text()
    return found | {f"make {name}" for name in re.findall(r"^([a-z-]+):", makefile, re.MULTILINE)}


def entry_points() -> set[str]:
    """GROUP, where a package that brings a game through it is found."""
    with TemporaryDirectory() as folder, patch.object(sys, "path", [*sys.path, folder]):
        stated = Path(folder) / "fence-1.0.dist-info"
        stated.mkdir()
        (stated / "METADATA").write_text("Metadata-Version: 2.1\nName: fence\nVersion: 1.0\n")
        (stated / "entry_points.txt").write_text(f"[{GROUP}]\nfenced = fence_game:SPEC\n")
        invalidate_caches()
        said = call("env", "list", "--json").said
    return {f"group {GROUP}"} if "fence_game:SPEC" in said else set()
