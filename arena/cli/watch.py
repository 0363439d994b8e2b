"""`arena watch`: plays games and makes a video of what the players see."""

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from arena.cli.app import INTERRUPTED
from arena.cli.match_options import (
    NAMES,
    EnvOption,
    GreedyOption,
    MoveTimeoutOption,
    OptionsOption,
    SeedOption,
    players_named,
)
from arena.cli.output import DataOption, JsonOption, print_json, say
from arena.guests.program import DEFAULT_MOVE_TIMEOUT_S
from arena.matches.lengths import MOST_GAMES
from arena.matches.report import player_json
from arena.players.resolve import ResolvedPlayer
from arena.words import number_of
from pbt.film.extra import require_video

if TYPE_CHECKING:
    from arena.matches.filming import Film, FilmedEnd, Filming


PlayersArgument = Annotated[
    list[str], typer.Argument(metavar="A [B]...", help=NAMES, show_default=False)
]
OutOption = Annotated[
    Path,
    typer.Option(
        metavar="FILE.mp4",
        help="The video to write, in H.264, which browsers play.",
        show_default=False,
    ),
]
GamesOption = Annotated[
    int,
    typer.Option(
        min=1, max=MOST_GAMES, help="Games to film; in games of one seat, this many per player."
    ),
]
ScaleOption = Annotated[
    int | None,
    typer.Option(
        min=1,
        max=64,
        help="Scale factor of the pictures. Default: tiles are about 288 pixels high.",
        show_default=False,
    ),
]
FpsOption = Annotated[
    float | None,
    typer.Option(
        min=0.1,
        max=240,
        help="Moves per second. Default: the speed of the game, or 10 per second.",
        show_default=False,
    ),
]
ForceOption = Annotated[bool, typer.Option("--force", help="Replace FILE.mp4 if it exists.")]


def watch(
    players: PlayersArgument,
    out: OutOption,
    games: GamesOption = 1,
    seed: SeedOption = 1,
    greedy: GreedyOption = False,
    scale: ScaleOption = None,
    fps: FpsOption = None,
    force: ForceOption = False,
    move_timeout_s: MoveTimeoutOption = DEFAULT_MOVE_TIMEOUT_S,
    env: EnvOption = None,
    options: OptionsOption = None,
    data: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """Film games: one tile per seat with what it sees, two side by side, more in a grid.

    It works for games whose players see an image, such as Doom's. Nothing is stored in the league.
    Ctrl-C ends the video after what was played so far (exit code 130); a second Ctrl-C leaves none.
    """
    require_video()
    from arena.matches.filming import film

    named = players_named(players, data, env, options, move_timeout_s)
    with _bar(" vs ".join(named.labels)) as on_progress:
        result = film(
            named.players,
            named.env,
            out,
            games=games,
            seed=seed,
            greedy=greedy,
            scale=scale,
            moves_per_s=fps,
            force=force,
            on_progress=on_progress,
        )
    if as_json:
        print_json(film_json(result, named.players, seed, greedy=greedy))
    elif result.path is not None:
        print("\n".join(film_lines(result, named.players)))
    if result.interim:
        say(
            f"ended after {len(result.games)} of {number_of(result.planned, 'game')}"
            + ("; there is no video" if result.path is None else "")
        )
        raise typer.Exit(INTERRUPTED)


def film_lines(result: "Film", players: Sequence[ResolvedPlayer]) -> list[str]:
    """The report for people."""
    from pbt.film.camera import score_text

    assert result.path is not None
    size_mb = result.path.stat().st_size / 1e6
    lines = [
        (
            f"{result.path}   {result.width}x{result.height}, {result.seconds:.1f} s, "
            f"{number_of(result.pictures, 'picture')}, {size_mb:.1f} MB"
        )
    ]
    for number, game in enumerate(result.games, start=1):
        shown = []
        for player, seat in sorted(zip(game.sitting, game.end.seats, strict=True)):
            score = score_text(seat.points, seat.returns, alone=len(game.sitting) == 1)
            shown.append(
                f"{players[player].label}   {score}"
                + (f" (place {seat.place + 1})" if len(game.sitting) > 1 else "")
            )
        lines.append(
            f"Game {number}   {',   '.join(shown)};   {game.end.reason} after "
            f"{game.end_s - game.start_s:.1f} s"
        )
    if result.voided:
        tries = "once" if len(result.voided) == 1 else f"{len(result.voided)} times"
        lines.append(
            f"Note     a game was voided {tries}, filmed up to there, and played again; "
            f"the first error: {result.voided[0]}"
        )
    return lines


def film_json(
    result: "Film", players: Sequence[ResolvedPlayer], seed: int, *, greedy: bool
) -> dict[str, Any]:
    """The video for `--json`.

    Seats are in the order of the game, each with the index of its player. start_s and end_s are
    seconds of the video.
    """
    return {
        "video": result.path,
        "env": players[0].env_name,
        "env_options": players[0].env_options,
        "players": [player_json(player) for player in players],
        "seed": seed,
        "greedy": greedy,
        "games": [_game_json(game) for game in result.games],
        "planned": result.planned,
        "voided": result.voided,
        "pictures": result.pictures,
        "seconds": result.seconds,
        "width": result.width,
        "height": result.height,
        "interim": result.interim,
    }


def _game_json(game: "FilmedEnd") -> dict[str, Any]:
    seats = zip(game.sitting, game.end.seats, strict=True)
    return {
        "seed": game.end.plan.seed,
        "seats": [
            {"player": player, "place": seat.place, "return": seat.returns, "points": seat.points}
            for player, seat in seats
        ],
        "end_reason": game.end.reason,
        "steps": game.end.steps,
        "start_s": game.start_s,
        "end_s": game.end_s,
    }


@contextmanager
def _bar(title: str) -> "Iterator[Filming | None]":
    """Show a progress bar on stderr, on a terminal only.

    The length of a game is not known in advance: during the last one the bar shows activity only.
    """
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.markup import escape
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.fields[text]}"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=Console(file=sys.stderr), transient=True) as bar:
        task = bar.add_task(escape(title), total=None, text="")

        def show(done: int, planned: int, seconds: float) -> None:
            length = f"{int(seconds) // 60}:{int(seconds) % 60:02}"
            text = f"{done} of {number_of(planned, 'game')}, {length} of video"
            bar.update(task, completed=done, total=planned if planned > 1 else None, text=text)

        yield show
