"""`arena films`: the games of a population that were filmed during training."""

from typing import Any

from arena.cli.output import DataOption, JsonOption, NameArgument, print_json, print_table, say
from arena.data.paths import data_dir, league_path, population_paths
from arena.league.database import League, open_league
from arena.league.films import games_of_films
from arena.league.game_names import NamedGame, find_game
from pbt.film.folder import FilmFolder, StoredFilm


def films(
    name: NameArgument,
    data: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """List the evaluation games that were filmed during training, the newest last.

    The setting `evaluation.record_share` says which share of the evaluation games is filmed.
    """
    folder = FilmFolder(population_paths(data_dir(data), name).films)
    with open_league(league_path(data_dir(data)), read_only=True) as league:
        listed = recorded(league, name, folder.films())
    if as_json:
        print_json(
            {"films": [film_json(film, game) for film, game in listed], "problem": folder.problem()}
        )
    elif not listed:
        print(f"population {name}: no film; evaluation.record_share says how many are made")
    else:
        rows = [
            (
                game.name,
                _seats_text(game),
                game.record.end_reason,
                f"{film.size_bytes / 1e6:.1f}",
                film.path,
            )
            for film, game in listed
        ]
        print_table(("game", "seats (points)", "end", ">MB", "film"), rows, spare=("end", "MB"))
    if (problem := folder.problem()) is not None:
        say(f"note: the newest film that could not be made: {problem}")


def recorded(
    league: League, population: str, films: list[StoredFilm]
) -> list[tuple[StoredFilm, NamedGame]]:
    """The films whose games are stored, with these games. Raises: PlayerError."""
    shown = games_of_films(league, population, (film.name for film in films))
    return [
        (film, find_game(league, f"{population}:{shown[film.name][1]}"))
        for film in films
        if film.name in shown
    ]


def film_json(film: StoredFilm, game: NamedGame) -> dict[str, Any]:
    """One film for `--json`. Seats are in order; points are null where a game counts none."""
    seats = [
        {"player": game.labels[seat.player], "kind": seat.player.kind, "id": seat.player.name}
        | {"place": seat.place, "return": seat.returns, "points": seat.points}
        for seat in game.record.seats
    ]
    return {
        "game": game.name,
        "film": film.path,
        "size_bytes": film.size_bytes,
        "made_at": film.made_at,
        "seats": seats,
    }


def _seats_text(game: NamedGame) -> str:
    return ", ".join(
        f"{game.labels[seat.player]} ({seat.returns if seat.points is None else seat.points:.4g})"
        for seat in game.record.seats
    )
