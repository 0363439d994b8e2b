"""The games that recorded films show, and the films of games.

A film is the pictures of one game. It is named after (table, count, hash of the actions).
"""

from collections.abc import Iterable

from sqlalchemy import select

from arena.league.database import League
from arena.league.populations import find_population
from arena.league.schema import games, incarnations, populations
from pbt.film.folder import FilmName


def film_of_game(league: League, key: int) -> tuple[str, FilmName] | None:
    """(population, name of the film) of a game, whether a film exists or not.

    None when no training has a game with this key of the league. Matches record no films.
    """
    place = games.c.environment.label("table_number"), games.c.count.label("table_count")
    query = select(populations.c.name, *place, games.c.trajectory_hash).select_from(games)
    query = query.join(incarnations, incarnations.c.id == games.c.incarnation_id).join(
        populations, populations.c.id == incarnations.c.population_id
    )
    with league.read() as connection:
        row = connection.execute(query.where(games.c.id == key)).first()
    return (
        None
        if row is None
        else (row.name, FilmName(row.table_number, row.table_count, row.trajectory_hash.hex()))
    )


def games_of_films(
    league: League, population: str, films: Iterable[FilmName]
) -> dict[FilmName, tuple[int, int]]:
    """Film -> (key, number) of its game.

    Where a resumed training played the game again, it is the newest one. Films whose game is not
    stored (yet) are left out. Raises: PlayerError.
    """
    game_of_film: dict[FilmName, tuple[int, int]] = {}
    with league.read() as connection:
        population_id = int(find_population(connection, population).id)
        starts = (
            select(incarnations.c.id)
            .where(incarnations.c.population_id == population_id)
            .scalar_subquery()
        )
        for film in films:
            place = (
                games.c.environment == film.table,
                games.c.count == film.count,
                games.c.trajectory_hash == bytes.fromhex(film.trajectory_hash),
            )
            mine = (
                select(games.c.id, games.c.number)
                .where(games.c.incarnation_id.in_(starts), *place)
                .order_by(games.c.id.desc())
            )
            row = connection.execute(mine.limit(1)).first()
            if row is not None:
                game_of_film[film] = (int(row.id), int(row.number))
    return game_of_film
