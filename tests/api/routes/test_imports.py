"""Snapshots that come from another league over REST."""

import shutil
from pathlib import Path
from typing import Any

import pytest

from arena.cli.app import run
from arena.data.snapshot_cards import MAX_CARD_BYTES
from arena.league.chain import IMPORTS, read_records
from arena.programs.import_check import imported
from tests.api.routes.test_read_routes import write_league
from tests.api.routes.uploads import PATH, Files, left, send
from tests.api.service import Service, serving


def test_an_uploaded_snapshot_plays_and_can_be_removed(real: Service, best: Files) -> None:
    answer = send(real, best.form("rival"), 201)
    assert answer.headers["location"] == f"{PATH}/rival"
    made = answer.json()
    assert made["player"] == "imported/rival" and made["has_weights"] and made["problem"] is None
    assert {key: made["card"][key] for key in best.card} == best.card
    assert real.call("GET", f"{PATH}/rival") == made
    assert real.call("GET", PATH) == {"items": [made], "next": None}
    stored = real.data / "imported/weights" / f"{best.card['snapshot_id']}.safetensors"
    assert stored.read_bytes() == best.weights and left(real.data) == []
    asked = {"players": ["imported/rival", "random"], "games": 2}
    assert real.call("POST", "/v1/evaluations", asked, status=202)["players"][0] == made["player"]
    assert run(["verify", "imported", "--data", str(real.data)]) == 0
    real.call("DELETE", f"{PATH}/rival", status=204)
    for method in ("GET", "DELETE"):
        problem = real.call(method, f"{PATH}/rival", status=404)
        assert "no snapshot imported/rival" in problem["detail"]
    assert real.call("GET", PATH)["items"] == [] and not stored.exists()
    assert run(["verify", "imported", "--data", str(real.data)]) == 0
    with real.league.read() as connection:
        records = read_records(connection, IMPORTS, 0)
    assert [record.content.kind for record in records] == ["begin", "import", "import removed"]


def test_a_name_is_one_snapshots(real: Service, best: Files, home: Path) -> None:
    other = Files(home / "other.safetensors")
    assert other.card["snapshot_id"] != best.card["snapshot_id"]
    best.write(real.data / "again/best.safetensors")
    for _ in range(2):
        made = imported("taken", real.data / "again/best.safetensors", real.data)
        assert made == {"snapshot": best.card["snapshot_id"]}
    problem = send(real, other.form("taken"), 409).json()
    assert problem["errors"][0]["pointer"] == "/name" and "another snapshot" in problem["detail"]
    assert real.call("GET", f"{PATH}/taken")["card"]["snapshot_id"] == best.card["snapshot_id"]


def test_a_name_of_a_damaged_card_is_taken(best: Files, tmp_path: Path) -> None:
    weights, data = tmp_path / "uploads/upload.safetensors", tmp_path / "data"
    best.write(weights)
    (data / "imported").mkdir(parents=True)
    (data / "imported/taken.json").write_text("{")
    assert "imported/taken is another snapshot" in imported("taken", weights, data)["taken"]


@pytest.mark.parametrize(
    ("more", "pointer", "said"),
    [
        ({"card": None}, "/card", "is missing"),
        ({"weights": None}, "/weights", "is missing"),
        ({"name": None}, "/name", "is missing"),
        ({"name": "Rival!"}, "/name", "expected 1 to 64"),
        ({"name": "a.b"}, "/name", "expected 1 to 64"),
        ({"name": "../up"}, "/name", "expected 1 to 64"),
        ({"name": "a\n"}, "/name", "expected 1 to 64"),
        ({"name": "a" * 65}, "/name", "expected 1 to 64"),
        ({"name": "a" * 2000}, "/name", "more than 1024 bytes"),
        ({"card": ("c", b" " * (1 << 20))}, "/card", f"more than {MAX_CARD_BYTES} bytes"),
        ({"more": (None, "x")}, "/more", "unknown part"),
        ({"a/b": (None, "x")}, "/a~1b", "unknown part"),
    ],
)
def test_parts_that_are_wrong_are_named(
    service: Service, best: Files, more: Any, pointer: str, said: str
) -> None:
    problem = send(service, best.form(**more), 422).json()
    assert [error["pointer"] for error in problem["errors"]] == [pointer]
    assert said in problem["errors"][0]["detail"]
    assert left(service.data) == [] and service.call("GET", PATH)["items"] == []


def test_a_part_comes_once(service: Service, best: Files) -> None:
    twice = [*best.form().items(), ("name", (None, "other"))]
    (error,) = send(service, twice, 422).json()["errors"]
    assert error == {"pointer": "/name", "detail": "given more than once"}


BOUNDARY = "multipart/form-data; boundary=x"


@pytest.mark.parametrize(
    ("kind", "content", "status", "said"),
    [
        ("application/json", b"{}", 415, "expected multipart/form-data"),
        ("application/x-www-form-urlencoded", b"name=a", 415, "expected multipart/form-data"),
        ("multipart/form-data", b"--x\r\n", 400, "no boundary"),
        ("multipart/form-data; boundary=", b"--x\r\n", 400, "no boundary"),
        (f"multipart/form-data; boundary={'x' * 71}", b"--x\r\n", 400, "no boundary"),
        (BOUNDARY, b"no form", 400, "no multipart/form-data"),
        (BOUNDARY, b"--x\r\n\r\na\r\n--x--\r\n", 422, "unknown part"),
        (
            BOUNDARY,
            b'--x\r\ncontent-disposition: form-data; name="name"\r\n\r\na',
            400,
            "ends early",
        ),
        (BOUNDARY, b"--x--\r\n", 422, "lacks name, card, weights"),
    ],
)
def test_bodies_that_are_no_forms(
    service: Service, kind: str, content: bytes, status: int, said: str
) -> None:
    sent = {"authorization": f"Bearer {service.token('admin')}", "content-type": kind}
    answer = service.client.post(PATH, content=content, headers=sent)
    assert answer.status_code == status and said in answer.json()["detail"], answer.text
    assert left(service.data) == []


def test_no_body_is_no_upload(service: Service) -> None:
    assert service.call("POST", PATH, status=400)["type"].endswith("bad-request")


def test_a_form_in_small_pieces_is_the_same_form(service: Service, best: Files) -> None:
    request = service.client.build_request("POST", PATH, files=best.form())
    content = request.read()
    sent = {
        "authorization": f"Bearer {service.token('admin')}",
        "content-type": request.headers["content-type"],
    }
    pieces = (content[at : at + 7] for at in range(0, len(content), 7))
    answer = service.client.post(PATH, content=pieces, headers=sent)
    assert answer.status_code == 201, answer.text
    stored = service.data / "imported/weights" / f"{best.card['snapshot_id']}.safetensors"
    assert stored.read_bytes() == best.weights


def test_an_upload_that_is_too_long_is_refused(tmp_path: Path, best: Files) -> None:
    with serving(tmp_path / "data", max_import_bytes=4096) as service:
        assert len(best.weights) > 4096
        problem = send(service, best.form(), 413).json()
        assert problem["detail"] == "the body has more than 4096 bytes"
        request = service.client.build_request("POST", PATH, files=best.form())
        content = request.read()
        headers = {
            "authorization": f"Bearer {service.token('admin')}",
            "content-type": request.headers["content-type"],
        }
        answer = service.client.post(PATH, content=iter([content]), headers=headers)
        assert "content-length" not in answer.request.headers and answer.status_code == 413
        assert left(service.data) == []


def test_other_routes_keep_their_limit(service: Service) -> None:
    long = b" " * (2 << 20)
    sent = {"authorization": f"Bearer {service.token('admin')}", "content-type": "application/json"}
    for path in ("/v1/populations", "/v1/imports/x"):
        answer = service.client.post(path, content=long, headers=sent)
        assert answer.status_code in (413, 405)
    assert service.client.post("/v1/jobs", content=long, headers=sent).status_code == 413
    sent["content-type"] = BOUNDARY
    for path in ("/v1/populations", "/v1/imports/x", "/v1/imports/"):
        assert service.client.post(path, content=b"--x--", headers=sent).status_code == 415


def test_a_disk_without_room_refuses_what_would_fill_it(tmp_path: Path, best: Files) -> None:
    gigabyte = 10**9
    tmp_path.mkdir(exist_ok=True)
    hard = shutil.disk_usage(tmp_path).free - gigabyte
    with serving(tmp_path / "data", hard_disk_bytes=max(hard, 0)) as service:
        problem = send(service, best.form(), 507, **{"content-length": str(gigabyte)}).json()
        assert "too little free space for this snapshot" in problem["detail"]
        send(service, best.form(), 201)
    with serving(tmp_path / "data", hard_disk_bytes=1 << 60) as full:
        full.wait(lambda: full.app.state.context.supervisor.disk == "hard")
        send(full, best.form("other"), 507)
        full.call("DELETE", f"{PATH}/rival", status=204)


def test_a_repeated_upload_is_one_import(service: Service, best: Files, home: Path) -> None:
    key = {"Idempotency-Key": "k"}
    first, again = (send(service, best.form(), 201, **key) for _ in range(2))
    assert first.content == again.content and again.headers["location"] == f"{PATH}/rival"
    other = Files(home / "other.safetensors")
    for form in (best.form("second"), other.form("rival")):
        assert send(service, form, 422, **key).json()["type"].endswith("reused-key")
    for _ in range(2):
        service.call("DELETE", f"{PATH}/rival", status=204, **key)
    send(service, best.form(), 201, **key)
    assert service.call("GET", PATH)["items"] == [], "it is the stored answer, not a new import"


def test_the_rights_that_an_upload_needs(service: Service, best: Files, tmp_path: Path) -> None:
    viewer = f"Bearer {service.token('viewer')}"
    send(service, best.form(), 403, authorization=viewer)
    send(service, best.form(), 401, authorization="Bearer wrong")
    answer = service.client.delete(f"{PATH}/rival", headers={"authorization": viewer})
    assert answer.status_code == 403
    assert service.client.get(PATH, headers={"authorization": viewer}).status_code == 200
    assert left(service.data) == [] and service.call("GET", PATH)["items"] == []
    with serving(service.data, read_only=True) as reading:
        send(reading, best.form(), 403)
        assert reading.call("GET", PATH)["items"] == []


def test_pages_of_other_sites_cannot_upload(service: Service, best: Files) -> None:
    """Browsers send a form to another site without asking that site first."""
    code = service.call("POST", "/v1/session/codes")["code"]
    said = service.client.post("/v1/session", json={"code": code}).headers["set-cookie"]
    service.client.cookies.clear()
    cookie = {"cookie": said.split(";")[0]}
    for site in (
        {},
        {"origin": "http://evil.example"},
        {"origin": "null"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site", "origin": "http://127.0.0.1"},
    ):
        answer = service.client.post(PATH, files=best.form(), headers={**cookie, **site})
        assert answer.status_code == 403 and answer.json()["type"].endswith("cross-site")
    own = {**cookie, "origin": "http://127.0.0.1", "sec-fetch-site": "same-origin"}
    assert service.client.post(PATH, files=best.form(), headers=own).status_code == 201


def test_damaged_cards_are_listed_and_can_be_removed(service: Service, best: Files) -> None:
    send(service, best.form("good"), 201)
    folder = service.data / "imported"
    (folder / "bad.json").write_text("{")
    shutil.copy(folder / "good.json", folder / "with.dots.json")
    shutil.copy(folder / "good.json", folder / "Not a name.json")
    bad, good, dots = service.call("GET", PATH)["items"]
    assert (bad["name"], bad["card"], bad["has_weights"]) == ("bad", None, False)
    assert bad["problem"].startswith("imported/bad: no card of a snapshot")
    assert (good["problem"], dots["player"]) == (None, "imported/with.dots")
    assert service.call("GET", f"{PATH}/bad") == bad
    for name in ("bad", "with.dots"):
        service.call("DELETE", f"{PATH}/{name}", status=204)
    next(folder.glob("weights/*")).unlink()
    assert service.call("GET", f"{PATH}/good")["has_weights"] is False
    service.call("GET", f"{PATH}/Not%20a%20name", status=422)


def test_ratings_name_the_damaged_card_that_is_in_their_way(tmp_path: Path) -> None:
    write_league(tmp_path)
    (tmp_path / "imported").mkdir()
    (tmp_path / "imported/bad.json").write_text("{")
    with serving(tmp_path) as service:
        path = "/v1/ratings?population=demo"
        problem = service.call("GET", path, status=503)
        assert "arena delete imported/bad --yes" in problem["detail"]
        viewer = {"authorization": f"Bearer {service.token('viewer')}"}
        assert str(tmp_path) not in service.client.get(path, headers=viewer).text
        service.call("DELETE", f"{PATH}/bad", status=204)
        assert service.call("GET", path)["players"]
