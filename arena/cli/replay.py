"""`arena replay`: one stored game, move by move."""

from dataclasses import asdict
from typing import Annotated, Any

import numpy as np
import typer

from arena.cli.output import DataOption, JsonOption, print_json, say
from arena.league.database import open_league
from arena.league.game_names import FORMS, NamedGame, find_game
from arena.paths import data_dir, league_path
from arena.replay import Move, Replay
from arena.replay import replay as play_again

DIFFERENT = 1


def replay(
    game: Annotated[str, typer.Argument(metavar="GAME", help=f"{FORMS}.")],
    data: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """Replay a game from its seed and its stored actions: boards as text, other games as lines of moves and rewards. Exit 1 when it differs."""
    with open_league(league_path(data_dir(data)), read_only=True) as league:
        named = find_game(league, game)
    found = play_again(named)
    if as_json:
        print_json(_report(named, found))
    else:
        print("\n".join(_lines(named, found)))
    if found.problems:
        say(f"error: game {named.name} does not replay as it was stored: {'; '.join(found.problems)}")
        raise typer.Exit(DIFFERENT)


def _report(named: NamedGame, found: Replay) -> dict[str, Any]:
    """Boards are text, null where the game has none; rewards by seat, one per reward term."""
    record = named.record
    seats = [
        {"seat": name, "player": named.labels[seat.player], "kind": seat.player.kind, "id": seat.player.name}
        | {"place": seat.place, "returns": seat.returns, "points": seat.points}
        for name, seat in zip(found.seat_names, record.seats, strict=True)
    ]
    return {
        "game": named.name,
        "env": named.env_name,
        "env_options": named.env_options,
        "seed": record.seed,
        "greedy": record.greedy,
        "opening_plies": record.opening_plies,
        "seats": seats,
        "reward_terms": found.terms,
        "start": found.start,
        "moves": [{**asdict(move), "action": _plain(move.action)} for move in found.moves],
        "end_reason": record.end_reason,
        "trajectory_hash": record.trajectory_hash,
        "problems": found.problems,
    }


def _lines(named: NamedGame, found: Replay) -> list[str]:
    record = named.record
    players = [named.labels[seat.player] for seat in record.seats]
    seats = ", ".join(f"{name} {player}" for name, player in zip(found.seat_names, players, strict=True))
    lines = [f"{named.name}   {named.env_name}, seed {record.seed}: {seats}"]
    if found.start is not None:
        lines += ["", found.start]
    step_shown = 0
    for move in found.moves:
        number = f"{move.step:>4}" if move.step != step_shown else "    "
        step_shown = move.step
        words = f"{number}  {found.seat_names[move.seat]} {players[move.seat]}: {_plain(move.action)}{' (opening)' * move.opening}"
        lines += ["", words + _rewards(move, found)] if move.board is not None else [words + _rewards(move, found)]
        lines += [move.board] if move.board is not None else []
    seated = zip(found.seat_names, players, record.seats, strict=True)
    result = ", ".join(f"{name} {player} {_place(seat.place)} (return {seat.returns:.4g})" for name, player, seat in seated)
    checked = "does NOT replay as stored" if found.problems else f"replays as stored, trajectory {record.trajectory_hash}"
    return [*lines, "", f"Result   {result}; {record.end_reason}", f"Checked  {checked}"]


def _rewards(move: Move, found: Replay) -> str:
    """Those that are not zero, with the term's name where there are several."""
    several = len(found.terms) > 1
    said = [
        f"{found.seat_names[seat]} {value:+.4g}{f' {term}' * several}"
        for seat, values in sorted(move.rewards.items())
        for term, value in zip(found.terms, values, strict=True)
        if value
    ]
    return f"   -> {', '.join(said)}" if said else ""


def _place(place: int) -> str:
    return "first" if place == 0 else f"place {place + 1}"


def _plain(action: Any) -> Any:
    """Numbers and lists instead of numpy's."""
    if isinstance(action, np.ndarray | np.generic):
        return action.tolist()
    if isinstance(action, dict):
        return {key: _plain(part) for key, part in action.items()}
    return [_plain(part) for part in action] if isinstance(action, tuple | list) else action
