"""Films of recorded games: listed with their games, served with ranges, and nothing else is."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from arena.data.paths import population_paths
from arena.league.database import open_league
from arena.league.films import games_of_films
from arena.league.matches import create_match
from arena.league.populations import create_population, open_incarnation
from arena.league.writer import LeagueWriter
from pbt.film.folder import FilmFolder, FilmName
from tests.api.service import Service, serving
from tests.arena.league.samples import CONFIG, MEMBERS, RANDOM, game, snapshot_player

CONTENT = b"a film of a duel"
SEATED = (snapshot_player("a"), RANDOM)


def film_of(number: int) -> FilmName:
    record = game(number)
    return FilmName(record.environment, record.count, record.trajectory_hash)


def write(data: Path, number: int, made_at: float) -> None:
    films = population_paths(data, "demo").films
    films.mkdir(parents=True, exist_ok=True)
    path = films / film_of(number).file
    path.write_bytes(CONTENT)
    os.utime(path, (made_at, made_at))


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """Six evaluation games in two starts, of which the second took the last one back and played
    it again; films of games 1, 5 and 40.
    """
    data = tmp_path_factory.mktemp("told")
    with open_league(data / "league.db") as league:
        population_id = create_population(league, "demo", "doom_match", CONFIG, {}, MEMBERS)
        create_population(league, "other", "doom_match", CONFIG, {}, MEMBERS)
        for numbers in (range(6), range(5, 7)):
            incarnation = open_incarnation(
                league, population_id, os.getpid(), last_game=numbers[0] - 1
            )
            with LeagueWriter(league, incarnation) as writer:
                for number in numbers:
                    writer.game(game(number, SEATED, kind="evaluation"))
        create_match(league, "doom_match", {}, SEATED, 4, 1, {})
    for number, made_at in ((1, 1000.0), (5, 2000.0), (40, 3000.0)):
        write(data, number, made_at)
    with serving(data) as running:
        yield running


def get(service: Service, path: str, status: int = 200) -> Any:
    return service.call("GET", path, None, status)


def games(service: Service) -> dict[int, str]:
    """Number -> id, of those that stand."""
    return {
        item["number"]: item["id"] for item in get(service, "/v1/populations/demo/games")["items"]
    }


def test_films_are_listed_with_the_games_they_show(told: Service) -> None:
    ids = games(told)
    found = get(told, "/v1/populations/demo/films")
    # Game 40 is not committed yet.
    assert [
        (item["game"], item["number"], item["size_bytes"], item["made_at"])
        for item in found["items"]
    ] == [
        (ids[5], 5, len(CONTENT), 2000.0),
        (ids[1], 1, len(CONTENT), 1000.0),
    ]
    assert found["problem"] is None
    assert get(told, "/v1/populations/other/films") == {"items": [], "problem": None}
    get(told, "/v1/populations/unknown/films", 404)


def test_why_a_film_could_not_be_made_is_told(told: Service) -> None:
    folder = FilmFolder(population_paths(told.data, "demo").films)
    folder.note_problem("the disk is full")
    try:
        assert get(told, "/v1/populations/demo/films")["problem"] == "the disk is full"
    finally:
        (folder.path / "problem.txt").unlink()


def test_a_film_is_served_whole_and_in_parts(told: Service) -> None:
    path, headers = (
        f"/v1/games/{games(told)[1]}/film",
        {"authorization": f"Bearer {told.token('viewer')}"},
    )
    whole = told.client.get(path, headers=headers)
    assert (whole.status_code, whole.content, whole.headers["content-type"]) == (
        200,
        CONTENT,
        "video/mp4",
    )
    part = told.client.get(path, headers={**headers, "range": "bytes=2-5"})
    assert (part.status_code, part.content) == (206, CONTENT[2:6])
    assert told.client.get(path, headers={**headers, "range": "bytes=900-"}).status_code == 416
    assert told.client.get(path).status_code == 401


def test_a_game_that_was_played_again_as_before_has_the_same_film(told: Service) -> None:
    with told.league.read():
        (newest, number) = games_of_films(told.league, "demo", [film_of(5)])[film_of(5)]
    assert (str(newest), number) == (games(told)[5], 5)


def test_games_without_a_film(told: Service) -> None:
    for path in (f"/v1/games/{games(told)[2]}/film", "/v1/games/7/film", f"/v1/games/{2**63}/film"):
        get(told, path, 404)
    get(told, "/v1/games/x/film", 422)


def test_a_link_out_of_the_data_directory_is_not_followed(told: Service, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("secret")
    link = population_paths(told.data, "demo").films / film_of(3).file
    link.symlink_to(secret)
    try:
        get(told, f"/v1/games/{games(told)[3]}/film", 404)
        assert len(get(told, "/v1/populations/demo/films")["items"]) == 2
    finally:
        link.unlink()
