"""Films of training-time evaluation games (`evaluation.record_share`)."""

from fastapi import APIRouter
from pydantic import BaseModel
from starlette.responses import FileResponse

from api.context import Here
from api.http.problems import Problem
from api.routes.bodies import PopulationName
from api.routes.games import GameKey
from api.routes.snapshots import BINARY
from arena.league.films import film_of_game, games_of_films
from pbt.errors import PlayerError
from pbt.film.folder import FilmFolder

router = APIRouter(prefix="/v1", tags=["games"])

MAX_KEY = 2**63 - 1
MEDIA_TYPE = "video/mp4"


class FilmBody(BaseModel):
    """A film.

    game        the league's id of the game that it shows
    number      the number of that game in its population
    size_bytes  of the file
    made_at     seconds since 1970
    """

    game: str
    number: int
    size_bytes: int
    made_at: float


class FilmList(BaseModel):
    """The films of a population.

    items    newest first
    problem  why the newest film that could not be made failed; null when all could be made
    """

    items: list[FilmBody]
    problem: str | None


@router.get("/populations/{name}/films", operation_id="listFilms", response_model=FilmList)
def list_films(here: Here, name: PopulationName) -> FilmList:
    """Newest first. A game is listed as soon as it is both filmed and committed."""
    folder = FilmFolder(here.paths(name).films)
    films = folder.films()
    shown = games_of_films(here.league, name, [film.name for film in films])
    items = [
        FilmBody(
            game=str(shown[film.name][0]),
            number=shown[film.name][1],
            size_bytes=film.size_bytes,
            made_at=film.made_at,
        )
        for film in reversed(films)
        if film.name in shown
    ]
    return FilmList(items=items, problem=folder.problem())


@router.get(
    "/games/{game_id}/film",
    operation_id="getFilm",
    response_class=FileResponse,
    responses={
        200: {"content": {MEDIA_TYPE: {"schema": BINARY}}},
        206: {"description": "the range asked for"},
        416: {},
    },
)
def get_film(here: Here, game_id: GameKey) -> FileResponse:
    """What the seats of a game saw, side by side, as H.264 in MP4.

    Ranges are served, so that a browser can jump in it.
    """
    filmed = film_of_game(here.league, key) if (key := int(game_id)) <= MAX_KEY else None
    if filmed is None:
        raise PlayerError(f"no game {game_id} of a training")
    population, name = filmed
    path = here.paths(population).films / name.file
    if not here.holds(path):
        why = (
            "evaluation.record_share says which share of the games is filmed, record_films and "
            "record_mb how many films are kept"
        )
        raise Problem(
            "not-found", f"game {game_id} was not filmed, or its film was removed since; {why}"
        )
    return FileResponse(
        path,
        media_type=MEDIA_TYPE,
        filename=f"{population}-{name.file}",
        content_disposition_type="inline",
    )
