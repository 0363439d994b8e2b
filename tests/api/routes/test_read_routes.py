"""What the routes tell of a league is what its own functions tell."""

import os
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select, update

from api.routes.lineage_bodies import LineageBody
from api.routes.pair_bodies import CyclesBody, WinMatrixBody
from api.routes.rating_bodies import RatingsBody
from api.routes.round_cards import RoundCardBody
from api.routes.rounds import RoundList
from api.routes.win_rate_bodies import MatrixChangesBody, MemberMatrixBody, WinRatesBody
from arena.cli.rating_report import league_report
from arena.data.metrics import MetricsWriter
from arena.data.paths import population_paths
from arena.league.database import open_league
from arena.league.game_choice import GameFilter
from arena.league.game_rows import population_games
from arena.league.matches import create_match, finish_match
from arena.league.paging import league_revision
from arena.league.populations import create_population, open_incarnation
from arena.league.schema import snapshots
from arena.league.service_events import events_after
from arena.league.stored_history import list_rounds
from arena.league.writer import LeagueWriter
from pbt.config.load import config_from_table
from pbt.records import PlayerRef
from tests.api.http.test_guard import SAMPLES
from tests.api.service import Service, serving
from tests.arena.league.samples import RANDOM, event, game, round_record, snapshot, snapshot_player

GAMES = 60
CONTENT = b"these are the weights"


def write_league(data: Path) -> None:
    """A league with games, rounds, snapshots, a match and curves, as trainings write them, and
    the files that go with it.
    """
    config = config_from_table({"env": {"name": "connect_four"}}, "test").model_dump(mode="json")
    with open_league(data / "league.db") as league:
        population_id = create_population(
            league, "demo", "connect_four", config, {}, [("m0", "player"), ("m1", "player")]
        )
        for start in range(2):
            first = start * GAMES // 2
            incarnation = open_incarnation(
                league, population_id, os.getpid(), last_game=first - 1, last_rounds={"m0": start}
            )
            with LeagueWriter(league, incarnation) as writer:
                if start == 0:
                    for letter in "ab":
                        writer.snapshot(snapshot(letter, f"m{'ab'.index(letter)}", 1000))
                    writer.event(event("begun"))
                for number in range(first, first + GAMES // 2):
                    if number % 3:
                        writer.game(game(number))
                    else:
                        players = (snapshot_player("ab"[number % 2]), RANDOM)
                        writer.game(
                            game(
                                number, players, (0, 1) if number % 2 else (1, 0), kind="evaluation"
                            )
                        )
                writer.round(round_record("m0", start + 1, 1000 * (start + 1)))
        match = create_match(
            league,
            "connect_four",
            {},
            [snapshot_player("a"), PlayerRef("scripted", "oneply")],
            4,
            1,
            {"greedy": False},
        )
        finish_match(league, match, 4)
    paths = population_paths(data, "demo")
    paths.snapshots.mkdir(parents=True)
    (paths.snapshots / f"{'a' * 64}.safetensors").write_bytes(CONTENT)
    with MetricsWriter(paths.metrics, 1, tensorboard=False) as metrics:
        for frames in range(0, 10_000, 100):
            metrics.series("m0", frames, {"entropy": frames / 2, "loss": 1.0})
            metrics.series("m1", frames, {"entropy": 1.0})


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A service of such a league."""
    data = tmp_path_factory.mktemp("told")
    write_league(data)
    with serving(data) as running:
        yield running


def get(service: Service, path: str, status: int = 200) -> Any:
    return service.call("GET", path, None, status)


def test_members_and_their_values(told: Service) -> None:
    members = get(told, "/v1/populations/demo/members")["items"]
    assert [(member["name"], member["frames"], member["rounds"]) for member in members] == [
        ("m0", 1000, 2),
        ("m1", 1000, 0),
    ]
    history = get(told, "/v1/populations/demo/hyperparameters?member=m0")
    assert list(history["members"]) == ["m0"]
    assert [
        (point["round"], point["copied_from"], point["values"]["learning_rate"])
        for point in history["members"]["m0"]
    ] == [
        (1, "m1", 0.1 + 0.2),
        (2, "m1", 0.1 + 0.2),
    ]


def test_pages_of_games_are_all_games_newest_first(told: Service) -> None:
    for query, wanted in (
        ("", GameFilter()),
        ("&kind=evaluation", GameFilter("evaluation")),
        ("&player=m0", GameFilter(players=("m0",))),
        (f"&player={'a' * 64}", GameFilter(players=("a" * 64,))),
        ("&player=demo/m0@1k", GameFilter(players=("a" * 64,))),
        ("&player=unknown", GameFilter(players=("unknown",))),
        ("&player=m0,unknown", GameFilter(players=("m0", "unknown"))),
        (
            f"&kind=evaluation&player={'a' * 64}&opponent=random,m1",
            GameFilter("evaluation", ("a" * 64,), opponents=("random",)),
        ),
        (f"&player={'a' * 64}&opponent={'b' * 64}", GameFilter(players=("unknown",))),
    ):
        expected = [
            stored.record.number for stored in population_games(told.league, "demo", wanted)
        ][::-1]
        found, cursor, pages = [], "", 0
        while True:
            page = get(told, f"/v1/populations/demo/games?limit=7{query}{cursor}")
            found += [item["number"] for item in page["items"]]
            pages += 1
            if page["next"] is None:
                break
            cursor = f"&cursor={page['next']}"
        assert found == expected
        assert pages == max(1, -(-len(expected) // 7))


def test_a_game_whole(told: Service) -> None:
    found = get(told, "/v1/populations/demo/games?limit=1")["items"][0]
    expected = next(
        stored
        for stored in population_games(told.league, "demo")
        if stored.record.number == found["number"]
    )
    record = expected.record
    assert (found["seed"], found["steps"], found["incarnation"]) == (
        str(record.seed),
        record.steps,
        expected.incarnation,
    )
    assert [(seat["player"], seat["place"], seat["returns"]) for seat in found["seats"]] == [
        (seat.player.name, seat.place, seat.returns) for seat in record.seats
    ]


def test_matches(told: Service) -> None:
    listed = get(told, "/v1/matches?finished=true&env=connect_four")
    assert [(item["id"], item["players"][1]) for item in listed["items"]] == [
        ("1", {"kind": "scripted", "name": "oneply"})
    ]
    assert get(told, "/v1/matches?finished=false")["items"] == []
    assert get(told, "/v1/matches/1") == listed["items"][0]
    assert get(told, "/v1/matches/1/games") == {"items": [], "next": None}
    get(told, "/v1/matches/2", 404)


def test_ratings_cost_nothing_while_the_league_stands_still(told: Service) -> None:
    admin = {"authorization": f"Bearer {told.token('viewer')}"}
    for path in ("/v1/ratings", "/v1/win-matrix", "/v1/cycles"):
        first = told.client.get(f"{path}?population=demo", headers=admin)
        assert (first.status_code, first.headers["etag"]) == (
            200,
            f'"{league_revision(told.league)}"',
        )
        for tags in (
            first.headers["etag"],
            f'"x", {first.headers["etag"]}',
            f"W/{first.headers['etag']}",
            "*",
        ):
            again = told.client.get(
                f"{path}?population=demo", headers={**admin, "if-none-match": tags}
            )
            assert (again.status_code, again.content) == (304, b"")
        assert (
            told.client.get(
                f"{path}?population=demo", headers={**admin, "if-none-match": '"x"'}
            ).status_code
            == 200
        )
        assert first.json()["objective"] == "win"
        get(told, f"{path}?population=unknown", 404)
    assert (
        get(told, "/v1/ratings?population=demo")["players"]
        == league_report(told.league, "demo")["players"]
    )


def test_what_stands_on_more_than_results_is_tagged_by_its_content(told: Service) -> None:
    viewer = {"authorization": f"Bearer {told.token('viewer')}"}
    for path in ("/v1/populations/demo/hyperparameters", "/v1/populations/demo/lineage?player=m0"):
        first = told.client.get(path, headers=viewer)
        again = told.client.get(path, headers={**viewer, "if-none-match": first.headers["etag"]})
        assert (first.status_code, again.status_code, again.content) == (200, 304, b"")
        assert (
            told.client.get(path, headers={**viewer, "if-none-match": '"x"'}).content
            == first.content
        )


def test_the_revision_changes_with_everything_a_rating_is_made_of(tmp_path: Path) -> None:
    with open_league(tmp_path / "league.db") as league:
        seen = [league_revision(league)]

        def changed() -> bool:
            seen.append(league_revision(league))
            return seen[-1] not in seen[:-1]

        ids = [
            create_population(league, name, "connect_four", {"env": {"options": {}}}, {})
            for name in ("one", "two")
        ]
        first, second = (
            open_incarnation(league, population_id, os.getpid()) for population_id in ids
        )
        assert changed()
        for incarnation in (second, first, second):
            with LeagueWriter(league, incarnation) as writer:
                writer.game(game(len(seen), kind="evaluation"))
            assert changed()
        with LeagueWriter(league, first) as writer:
            writer.game(game(77))
        assert not changed(), "training games change no rating"
        match = create_match(league, "connect_four", {}, [RANDOM], 1, 1, {})
        assert changed()
        finish_match(league, match, 1)
        assert changed()
        open_incarnation(league, ids[0], os.getpid())
        assert changed()


def test_curves(told: Service) -> None:
    refused = get(told, "/v1/populations/demo/metrics?keys=entropy,entrpy", 422)
    assert "entrpy" in refused["detail"] and "there are: " in refused["detail"]
    found = get(told, "/v1/populations/demo/metrics?points=4&keys=entropy&first=1000&last=2000")[
        "members"
    ]
    assert {member: list(curves) for member, curves in found.items()} == {
        "m0": ["entropy"],
        "m1": ["entropy"],
    }
    curve = found["m0"]["entropy"]
    assert [curve[name][place] for place in (0, -1) for name in ("frames", "values")] == [
        1000,
        500.0,
        2000,
        1000.0,
    ]
    assert len(curve["frames"]) == len(curve["values"]) <= 4
    assert set(get(told, "/v1/populations/demo/metrics?member=m0")["members"]["m0"]) == {
        "entropy",
        "loss",
    }
    get(told, "/v1/populations/demo/metrics?first=5&last=4", 422)
    get(told, "/v1/populations/demo/metrics?points=3", 422)


def test_snapshots_and_their_weights(told: Service) -> None:
    listed = get(told, "/v1/populations/demo/snapshots")["items"]
    assert [(item["id"][0], item["member"], item["has_weights"]) for item in listed] == [
        ("a", "m0", True),
        ("b", "m1", True),
    ]
    assert get(told, f"/v1/snapshots/{'a' * 64}") == listed[0]
    headers = {"authorization": f"Bearer {told.token('viewer')}"}
    path = f"/v1/snapshots/{'a' * 64}/weights"
    assert told.client.get(path, headers=headers).content == CONTENT
    part = told.client.get(path, headers={**headers, "range": "bytes=6-8"})
    assert (part.status_code, part.content) == (206, b"are")
    beyond = told.client.get(path, headers={**headers, "range": "bytes=900-"})
    assert (beyond.status_code, beyond.headers["content-type"], beyond.json()["status"]) == (
        416,
        "application/problem+json",
        416,
    )
    get(told, f"/v1/snapshots/{'b' * 64}/weights", 410)  # its file is gone
    with told.league.write() as connection:
        connection.execute(
            update(snapshots).where(snapshots.c.snapshot_id == "a" * 64).values(weights_removed=1)
        )
    get(told, path, 410)
    with told.league.write() as connection:
        connection.execute(update(snapshots).values(weights_removed=0))
        assert connection.execute(select(snapshots.c.weights_removed)).scalars().all() == [0, 0]
    get(told, f"/v1/snapshots/{'c' * 64}", 404)
    get(told, f"/v1/snapshots/{'c' * 63}", 422)


def test_a_link_out_of_the_data_directory_is_not_followed(told: Service, tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("secret")
    link = population_paths(told.data, "demo").snapshots / f"{'b' * 64}.safetensors"
    link.symlink_to(secret)
    try:
        get(told, f"/v1/snapshots/{'b' * 64}/weights", 410)
    finally:
        link.unlink()


def test_lineage_and_events(told: Service) -> None:
    found = get(told, "/v1/populations/demo/lineage?player=m1")
    assert [(step["kind"], step["member"]) for step in found["steps"]] == [("start", "m1")]
    get(told, "/v1/populations/demo/lineage?player=m9", 404)
    assert [item["text"] for item in get(told, "/v1/populations/demo/events?limit=1")["items"]] == [
        "begun"
    ]


def test_rounds_say_what_they_were_decided_from(told: Service) -> None:
    path = "/v1/populations/demo/rounds"
    found = get(told, path)["items"]
    stored = list_rounds(told.league, "demo")
    assert [(one["member"], one["round"]) for one in found] == [("m0", 1), ("m0", 2)]
    for one, expected in zip(found, stored, strict=True):
        record = expected.record
        assert one["directive"] == {
            **asdict(record.directive),
            "mutated": [*record.directive.mutated],
        }
        assert [score["objective"] for score in one["scores"]] == [
            score.objective for score in record.scores
        ]
        assert (one["rules"], one["hyperparams"], one["seed"], one["verdict"]) == (
            record.rules,
            record.hyperparams,
            str(record.seed),
            record.verdict,
        )
        assert one["wiring"] is None
    RoundList.model_validate(get(told, path), strict=True)
    assert get(told, f"{path}?member=m1")["items"] == []
    assert get(told, f"{path}?sort=-created&limit=1")["items"][0]["round"] == 2
    get(told, "/v1/populations/unknown/rounds", 404)


def test_a_card_holds_the_rounds_of_one_number(told: Service) -> None:
    path = "/v1/populations/demo/rounds"
    card = get(told, f"{path}/2")
    RoundCardBody.model_validate(card, strict=True)
    (one,) = card["members"]
    assert (card["round"], one["member"], one["did"]) == (2, "m0", "copied")
    assert (one["copied_from"], one["donor_frames"], one["reason"]) == ("m1", 1000, "kept")
    point = get(told, "/v1/populations/demo/hyperparameters")["members"]["m0"][1]
    assert (point["copied_from"], point["donor_frames"]) == ("m1", 1000)
    assert "no member has had round 3" in get(told, f"{path}/3", 404)["detail"]
    get(told, f"{path}/0", 422)


def test_an_anchor_is_set_and_taken_away(told: Service) -> None:
    path = f"/v1/snapshots/{'a' * 64}"
    for _ in range(2):
        assert told.call("PUT", f"{path}/anchor")["is_anchor"] is True
    assert get(told, path)["is_anchor"] is True
    for _ in range(2):
        assert told.call("DELETE", f"{path}/anchor")["is_anchor"] is False
    assert get(told, path)["is_anchor"] is False
    told.call("PUT", f"/v1/snapshots/{'c' * 64}/anchor", None, 404)
    viewer = {"authorization": f"Bearer {told.token('viewer')}"}
    assert told.client.put(f"{path}/anchor", headers=viewer).status_code == 403
    with told.league.write() as connection:
        connection.execute(update(snapshots).values(weights_removed=1))
    told.call("PUT", f"{path}/anchor", None, 410)
    with told.league.write() as connection:
        connection.execute(update(snapshots).values(weights_removed=0))


def test_strength_is_as_its_models_say(told: Service) -> None:
    """Answers are written without a check, so here is one: no field more, none less."""
    for path, model in (
        ("ratings", RatingsBody),
        ("win-matrix", WinMatrixBody),
        ("cycles", CyclesBody),
    ):
        answer = get(told, f"/v1/{path}?population=demo")
        assert model.model_validate(answer).model_dump() == answer
    for path, model in (
        ("", WinRatesBody),
        ("?against=others&block_frames=1", WinRatesBody),
        ("/matrix?recent=0&frames=999", MemberMatrixBody),
        ("/matrix", MemberMatrixBody),
        ("/changes?first=0", MatrixChangesBody),
    ):
        answer = get(told, f"/v1/populations/demo/win-rates{path}")
        assert model.model_validate(answer).model_dump() == answer
    answer = get(told, "/v1/populations/demo/lineage?player=m1")
    assert LineageBody.model_validate(answer).model_dump() == answer


def test_win_rates_refuse_what_is_not_there(told: Service) -> None:
    path = "/v1/populations/demo/win-rates"
    get(told, "/v1/populations/unknown/win-rates", 404)
    assert "others, itself, m0, m1" in get(told, f"{path}?against=missing", 404)["detail"]
    get(told, f"{path}?against=demo/m0@1", 404)
    get(told, f"{path}?block_frames=0", 422)
    assert get(told, f"{path}/changes?first=9&last=9", 422)["errors"] == [
        {"pointer": "last", "detail": "not after first"}
    ]
    get(told, f"{path}/changes", 422)
    get(told, "/v1/populations/demo/games?player=demo/m0@1", 404)
    get(told, f"{path}/matrix?recent=-1", 422)


def test_a_get_changes_nothing(told: Service) -> None:
    def state() -> list[Any]:
        with told.league.read() as connection:
            names = [
                row[0]
                for row in connection.exec_driver_sql(
                    "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name"
                )
            ]
            return [
                (name, connection.exec_driver_sql(f"SELECT * FROM {name}").all()) for name in names
            ]

    # The supervisor passes on what the training noted, once, when it first looks.
    told.wait(lambda: events_after(told.league, 0, 1, ["training"])[0])
    before = state()
    for path, by in told.app.openapi()["paths"].items():
        if "get" in by and path != "/v1/events":
            filled = path.format(**{**SAMPLES, "name": "demo", "snapshot_id": "a" * 64})
            needed = "".join(
                f"&{parameter['name']}={'m0' if parameter['name'] == 'player' else 'demo'}"
                for parameter in by["get"].get("parameters", ())
                if parameter["in"] == "query" and parameter["required"]
            )
            told.client.get(
                f"{filled}?{needed[1:]}",
                headers={"authorization": f"Bearer {told.token('viewer')}"},
            )
    assert state() == before
