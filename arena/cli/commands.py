"""The table of commands of `arena`: where each one is implemented and what `--help` says of it.

A new command is one row of COMMANDS. Its target is a function (one command, whose parameters
Typer reads from the annotations) or a `typer.Typer` (a group, such as `arena config show`).
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Command:
    """One row of the table.

    name       as the user types it
    panel      the heading in `arena --help` under which the command stands
    summary    one sentence for `arena --help`
    arguments  what stands behind the name in the example
    where      "module:attribute" in `arena.cli`; without it, both are the name
    """

    name: str
    panel: str
    summary: str
    arguments: str = ""
    where: str = ""

    @property
    def target(self) -> str:
        """The "module:attribute" that is imported when the command is called."""
        return f"arena.cli.{self.where or f'{self.name}:{self.name}'}"

    @property
    def example(self) -> str:
        """One command line to copy."""
        return f"arena {self.name} {self.arguments}".rstrip()

    @property
    def help(self) -> str:
        return f"{self.summary} [dim]{self.example}[/dim]"


TRAIN, SERVE, COMPARE = "Train", "Serve", "Compare"
LOOK, KEEP, SET_UP = "Look", "Keep house", "Set up"

COMMANDS = (
    Command(
        "demo",
        TRAIN,
        "Train a small population in minutes and show what it learned.",
        where="train:demo",
    ),
    Command("train", TRAIN, "Train a population, or resume one.", "connect_four --name first"),
    Command("stop", TRAIN, "Ask a running training to save and stop.", "first", "train:stop"),
    Command("serve", SERVE, "Run the service: train and watch populations over REST."),
    Command(
        "population",
        SERVE,
        "Populations of the service: create, start, stop, edit.",
        "create connect_four --start",
        "population:app",
    ),
    Command(
        "open",
        SERVE,
        "Open the service's dashboard in a browser, logged in.",
        where="serve:open_page",
    ),
    Command(
        "token",
        SERVE,
        "Tokens of the service: create, list, revoke; links that only read.",
        "create ci --level viewer --expires 30d",
        "tokens:app",
    ),
    Command("match", COMPARE, "Play players against each other.", "first@best random --games 400"),
    Command(
        "evaluate",
        COMPARE,
        "Measure the returns of one player over episodes.",
        "first@best --episodes 100",
    ),
    Command(
        "compare",
        COMPARE,
        "Find out which of two configs trains the stronger players, over seeds.",
        "a.toml b.toml --seeds 3 --frames 1_000_000",
        "compare:command",
    ),
    Command(
        "tournament", COMPARE, "Every player plays every other one.", "first@best oneply random"
    ),
    Command("league", COMPARE, "Show the rating table.", "first"),
    Command("matrix", COMPARE, "Show the score of every player against every other one.", "first"),
    Command(
        "exploitability",
        COMPARE,
        "Compute what a best response wins against players of Leduc poker and its like.",
        "leduc --mixture",
        "exploitability:command",
    ),
    Command("status", LOOK, "Show every process of a running training.", "first"),
    Command("populations", LOOK, "List what has been trained, and how large it is."),
    Command(
        "lineage",
        LOOK,
        "Show where a policy comes from; export its schedule of hyperparameters.",
        "first@best",
    ),
    Command("replay", LOOK, "Show a stored game, move by move.", "first:1234"),
    Command(
        "watch",
        LOOK,
        "Make a video of what players of Doom see.",
        "duel@best duel/m1 --out duel.mp4",
    ),
    Command("films", LOOK, "List the games that were filmed during training.", "duel"),
    Command("metrics", LOOK, "Show the training curves of a population.", "first --csv"),
    Command("games", LOOK, "List the games of a population.", "first --csv"),
    Command(
        "rounds",
        LOOK,
        "List the PBT rounds of a population.",
        "list first",
        "rounds:app",
    ),
    Command(
        "report",
        LOOK,
        "Write one HTML file about a population that opens without a network.",
        "first --out first.html",
    ),
    Command(
        "verify",
        LOOK,
        "Verify a population or a match: every row, decision, file and game.",
        "first",
    ),
    Command(
        "anchor",
        KEEP,
        "Keep the weights of a snapshot for ever.",
        "first/m2@1.2M",
        "retention:anchor",
    ),
    Command(
        "export",
        KEEP,
        "Write a snapshot to a file, for other leagues.",
        "first@best --out b.safetensors",
        "exchange:export",
    ),
    Command(
        "import",
        KEEP,
        "Take in a snapshot of another league, as a player.",
        "b.safetensors",
        "exchange:import_",
    ),
    Command("delete", KEEP, "Remove a population.", "first --dry-run", "retention:delete"),
    Command(
        "backup",
        KEEP,
        "Write the data directory to one file, also while trainings run.",
        "backup.tar",
    ),
    Command(
        "restore",
        KEEP,
        "Make a new data directory from a backup.",
        "backup.tar --data restored",
        "backup:restore",
    ),
    Command(
        "env",
        SET_UP,
        "List the games, or check one of your own.",
        "check ./my_game.py:make",
        "env:app",
    ),
    Command(
        "config",
        SET_UP,
        "Show what a config resolves to, or the schema of configs.",
        "show connect_four",
        "config:app",
    ),
    Command("upgrade", SET_UP, "Upgrade a league of an earlier version."),
    Command("doctor", SET_UP, "Check whether this machine is fit for training."),
)
