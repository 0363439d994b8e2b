"""The table of commands of `arena`: where each one is implemented and what `--help` says of it.

A new command is one row of COMMANDS. Its target is a function (one command, whose parameters
Typer reads from the annotations) or a `typer.Typer` (a group, such as `arena config show`).
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Command:
    """One row of the table.

    name     as the user types it
    target   "module:attribute"; the module is imported when the command is called
    panel    the heading in `arena --help` under which the command stands
    summary  one sentence for `arena --help`
    example  one command line to copy
    """

    name: str
    target: str
    panel: str
    summary: str
    example: str

    @property
    def help(self) -> str:
        return f"{self.summary} [dim]{self.example}[/dim]"


TRAIN, SERVE, COMPARE, LOOK, KEEP, SET_UP = (
    "Train",
    "Serve",
    "Compare",
    "Look",
    "Keep house",
    "Set up",
)

COMMANDS = (
    Command(
        "demo",
        "arena.cli.train:demo",
        TRAIN,
        "Train a small population in minutes and show what it learned.",
        "arena demo",
    ),
    Command(
        "train",
        "arena.cli.train:train",
        TRAIN,
        "Train a population, or resume one.",
        "arena train connect_four --name first",
    ),
    Command(
        "stop",
        "arena.cli.train:stop",
        TRAIN,
        "Ask a running training to save and stop.",
        "arena stop first",
    ),
    Command(
        "serve",
        "arena.cli.serve:serve",
        SERVE,
        "Run the service: train and watch populations over REST.",
        "arena serve",
    ),
    Command(
        "population",
        "arena.cli.population:app",
        SERVE,
        "Populations of the service: create, start, stop, edit.",
        "arena population create connect_four --start",
    ),
    Command(
        "open",
        "arena.cli.serve:open_page",
        SERVE,
        "Open the service's dashboard in a browser, logged in.",
        "arena open",
    ),
    Command(
        "match",
        "arena.cli.match:match",
        COMPARE,
        "Play players against each other.",
        "arena match first@best random --games 400",
    ),
    Command(
        "evaluate",
        "arena.cli.evaluate:evaluate",
        COMPARE,
        "Measure the returns of one player over episodes.",
        "arena evaluate first@best --episodes 100",
    ),
    Command(
        "compare",
        "arena.cli.compare:command",
        COMPARE,
        "Find out which of two configs trains the stronger players, over seeds.",
        "arena compare a.toml b.toml --seeds 3 --frames 1_000_000",
    ),
    Command(
        "tournament",
        "arena.cli.tournament:tournament",
        COMPARE,
        "Every player plays every other one.",
        "arena tournament first@best oneply random",
    ),
    Command(
        "league",
        "arena.cli.league:league",
        COMPARE,
        "Show the rating table.",
        "arena league first",
    ),
    Command(
        "matrix",
        "arena.cli.matrix:matrix",
        COMPARE,
        "Show the score of every player against every other one.",
        "arena matrix first",
    ),
    Command(
        "status",
        "arena.cli.status:status",
        LOOK,
        "Show every process of a running training.",
        "arena status first",
    ),
    Command(
        "populations",
        "arena.cli.populations:populations",
        LOOK,
        "List what has been trained, and how large it is.",
        "arena populations",
    ),
    Command(
        "lineage",
        "arena.cli.lineage:lineage",
        LOOK,
        "Show where a policy comes from; export its schedule of hyperparameters.",
        "arena lineage first@best",
    ),
    Command(
        "replay",
        "arena.cli.replay:replay",
        LOOK,
        "Show a stored game, move by move.",
        "arena replay first:1234",
    ),
    Command(
        "watch",
        "arena.cli.watch:watch",
        LOOK,
        "Make a video of what players of Doom see.",
        "arena watch duel@best duel/m1 --out duel.mp4",
    ),
    Command(
        "films",
        "arena.cli.films:films",
        LOOK,
        "List the games that were filmed during training.",
        "arena films duel",
    ),
    Command(
        "metrics",
        "arena.cli.metrics:metrics",
        LOOK,
        "Show the training curves of a population.",
        "arena metrics first --csv",
    ),
    Command(
        "games",
        "arena.cli.games:games",
        LOOK,
        "List the games of a population.",
        "arena games first --csv",
    ),
    Command(
        "rounds",
        "arena.cli.rounds:app",
        LOOK,
        "List the PBT rounds, or verify them against the stored rows.",
        "arena rounds verify first",
    ),
    Command(
        "anchor",
        "arena.cli.retention:anchor",
        KEEP,
        "Keep the weights of a snapshot for ever.",
        "arena anchor first/m2@1.2M",
    ),
    Command(
        "export",
        "arena.cli.exchange:export",
        KEEP,
        "Write a snapshot to a file, for other leagues.",
        "arena export first@best --out b.safetensors",
    ),
    Command(
        "import",
        "arena.cli.exchange:import_",
        KEEP,
        "Take in a snapshot of another league, as a player.",
        "arena import b.safetensors",
    ),
    Command(
        "delete",
        "arena.cli.retention:delete",
        KEEP,
        "Remove a population.",
        "arena delete first --dry-run",
    ),
    Command(
        "env",
        "arena.cli.env:app",
        SET_UP,
        "List the games, or check one of your own.",
        "arena env check ./my_game.py:make",
    ),
    Command(
        "config",
        "arena.cli.config:app",
        SET_UP,
        "Show what a config resolves to, or the schema of configs.",
        "arena config show connect_four",
    ),
    Command(
        "doctor",
        "arena.cli.doctor:doctor",
        SET_UP,
        "Check whether this machine is fit for training.",
        "arena doctor",
    ),
)
