"""`arena replay`: one stored game, move by move."""

from typing import Annotated

import typer

from arena.cli.output import DataOption, JsonOption, print_json, say
from arena.data.paths import data_dir, league_path
from arena.league.database import open_league
from arena.league.game_names import FORMS, NamedGame, find_game
from arena.matches.replay import Move, Replay
from arena.matches.replay import replay as play_again
from arena.matches.replay_report import plain_action, replay_json

DIFFERENT = 1


def replay(
    game: Annotated[str, typer.Argument(metavar="GAME", help=f"{FORMS}.")],
    data: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """Replay a game from its seed and its stored actions; exit with 1 when it differs.

    Boards are printed as text; other games as lines of moves and rewards.
    """
    with open_league(league_path(data_dir(data)), read_only=True) as league:
        named = find_game(league, game)
    replayed = play_again(named, allow_files=True)
    if as_json:
        print_json(replay_json(named, replayed))
    else:
        print("\n".join(_lines(named, replayed)))
    if replayed.problems:
        say(
            f"error: game {named.name} does not replay as it was stored: "
            f"{'; '.join(replayed.problems)}"
        )
        raise typer.Exit(DIFFERENT)


def _lines(named: NamedGame, replayed: Replay) -> list[str]:
    record = named.record
    players = [named.labels[seat.player] for seat in record.seats]
    seats = ", ".join(
        f"{name} {player}" for name, player in zip(replayed.seat_names, players, strict=True)
    )
    lines = [f"{named.name}   {named.env_name}, seed {record.seed}: {seats}"]
    if replayed.start is not None:
        lines += ["", replayed.start]
    step_shown = 0
    for move in replayed.moves:
        number = f"{move.step:>4}" if move.step != step_shown else "    "
        step_shown = move.step
        chosen = plain_action(move.action) if move.name is None else move.name
        words = (
            f"{number}  {replayed.seat_names[move.seat]} {players[move.seat]}: "
            f"{chosen}{' (opening)' * move.opening}{_rewards(move, replayed)}"
        )
        lines += [words] if move.board is None else ["", words, move.board]
    seated = zip(replayed.seat_names, players, record.seats, strict=True)
    result = ", ".join(
        f"{name} {player} {_place(seat.place)} (return {seat.returns:.4g})"
        for name, player, seat in seated
    )
    checked = (
        "does NOT replay as stored"
        if replayed.problems
        else f"replays as stored, trajectory {record.trajectory_hash}"
    )
    return [*lines, "", f"Result   {result}; {record.end_reason}", f"Checked  {checked}"]


def _rewards(move: Move, replayed: Replay) -> str:
    """The rewards that are not zero, with the name of the term where there are several."""
    several = len(replayed.terms) > 1
    rewards = [
        f"{replayed.seat_names[seat]} {value:+.4g}{f' {term}' * several}"
        for seat, values in sorted(move.rewards.items())
        for term, value in zip(replayed.terms, values, strict=True)
        if value
    ]
    return f"   -> {', '.join(rewards)}" if rewards else ""


def _place(place: int) -> str:
    return "first" if place == 0 else f"place {place + 1}"
