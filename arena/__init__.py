"""The package of results: players, matches, ratings, the league, training, the command line.

Scripts and notebooks call the functions that stand here (docs/python.md): `import arena`, then
`arena.train("connect_four")`. Each is imported on first use, so that the import stays cheap and
loads no torch. `arena.league(data)` calls the package `arena.league`.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from arena.league.view import league as league
    from arena.players.load import load_player as load_player
    from arena.python.evaluations import EvaluationResult as EvaluationResult
    from arena.python.evaluations import evaluate as evaluate
    from arena.python.exploitabilities import ExploitabilityResult as ExploitabilityResult
    from arena.python.exploitabilities import exploitability as exploitability
    from arena.python.matches import MatchResult as MatchResult
    from arena.python.matches import match as match
    from arena.python.ratings import Ratings as Ratings
    from arena.python.ratings import rate as rate
    from arena.python.tournaments import TournamentResult as TournamentResult
    from arena.python.tournaments import tournament as tournament
    from arena.python.training_result import TrainingResult as TrainingResult
    from arena.python.trainings import resume as resume
    from arena.python.trainings import train as train
    from arena.signals import TrainingControl as TrainingControl
    from pbt.config.schema import RunConfig as RunConfig

_EXPORTED = {
    "EvaluationResult": "arena.python.evaluations",
    "ExploitabilityResult": "arena.python.exploitabilities",
    "MatchResult": "arena.python.matches",
    "Ratings": "arena.python.ratings",
    "RunConfig": "pbt.config.schema",
    "TournamentResult": "arena.python.tournaments",
    "TrainingControl": "arena.signals",
    "TrainingResult": "arena.python.training_result",
    "evaluate": "arena.python.evaluations",
    "exploitability": "arena.python.exploitabilities",
    "load_player": "arena.players.load",
    "match": "arena.python.matches",
    "rate": "arena.python.ratings",
    "resume": "arena.python.trainings",
    "tournament": "arena.python.tournaments",
    "train": "arena.python.trainings",
}
"""What is imported on first use, and where it stands. `league` is a package, which has a call."""


def __getattr__(name: str) -> Any:
    """Module attribute access (PEP 562). Raises: AttributeError for a name that is not exported."""
    if name == "league":
        return import_module("arena.league")
    if name not in _EXPORTED:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_EXPORTED[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_EXPORTED, "league"})
