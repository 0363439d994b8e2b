"""Snapshots that come from another league over REST."""

import hashlib
import json
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load

from arena.cli.app import run
from arena.data.snapshot_cards import MAX_CARD_BYTES, card_beside
from arena.league.chain import IMPORTS, read_records
from arena.programs.import_check import imported
from pbt.models.tensor_file import read_tensor_file
from pbt.models.weights import to_bytes
from tests.api.routes.test_read_routes import write_league
from tests.api.service import Service, serving
from tests.arena.tiny_populations import UNRATED, train

REAL = {
    "importer": (sys.executable, "-P", "-m", "arena.programs.import_check"),
    "request_checker": (sys.executable, "-P", "-m", "arena.programs.request_check"),
}
PATH = "/v1/imports"


class Files:
    """What an upload sends: weights, and their card."""

    def __init__(self, weights: Path) -> None:
        self.weights, self.card = weights.read_bytes(), json.loads(card_beside(weights).read_text())

    def form(self, name: str | None = "rival", **more: Any) -> dict[str, Any]:
        """The parts as an HTTP client takes them; a part that is None is left out."""
        parts = {
            "name": None if name is None else (None, name),
            "card": ("best.json", json.dumps(self.card)),
            "weights": ("best.safetensors", self.weights),
            **more,
        }
        return {part: content for part, content in parts.items() if content is not None}

    def changed(self, weights: bytes) -> "Files":
        """With these weights, and a card that says they are the ones."""
        self.weights = weights
        sha256 = hashlib.sha256(weights).hexdigest()
        self.card |= {"snapshot_id": sha256, "size_bytes": len(weights)}
        return self

    def write(self, weights: Path) -> None:
        weights.parent.mkdir(parents=True)
        weights.write_bytes(self.weights)
        card_beside(weights).write_text(json.dumps(self.card))


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with two exported snapshots of one population."""
    folder = tmp_path_factory.mktemp("home")
    train(folder / "data", "home", UNRATED)
    for member, out in (("m1", "best"), ("m0", "other")):
        words = ["export", f"home/{member}", "--out", str(folder / f"{out}.safetensors")]
        assert run([*words, "--data", str(folder / "data")]) == 0
    return folder


@pytest.fixture
def best(home: Path) -> Files:
    return Files(home / "best.safetensors")


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A service that checks uploads with the program itself."""
    with serving(tmp_path_factory.mktemp("real") / "data", **REAL) as running:
        yield running


def send(service: Service, form: Any, status: int, **headers: str) -> Any:
    """The answer to an upload by an admin, unless the headers say otherwise."""
    sent = {"authorization": f"Bearer {service.token('admin')}", **headers}
    answer = service.client.post(PATH, files=form, headers=sent)
    assert answer.status_code == status, answer.text
    return answer


def left(data: Path) -> list[Path]:
    """Files of uploads that are still there."""
    return list((data / "service/uploads").rglob("*"))


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


def first_tensor(weights: bytes) -> tuple[str, torch.Tensor]:
    return next(
        (name, tensor)
        for name, tensor in sorted(load(weights).items())
        if name.startswith("model.") and tensor.dim() == 2
    )


def rewritten(files: Files, home: Path, tensor: torch.Tensor) -> Files:
    """With another tensor in place of the first one, and a card of just these weights."""
    metadata = json.loads(read_tensor_file(home / "best.safetensors").metadata["pbt"])
    tensors = {**load(files.weights), first_tensor(files.weights)[0]: tensor}
    return files.changed(to_bytes(tensors, metadata))


def with_nan(files: Files) -> torch.Tensor:
    spoiled = first_tensor(files.weights)[1].clone()
    spoiled[0, 0] = torch.nan
    return spoiled


def spoiled(kind: str, files: Files, home: Path) -> Files:
    match kind:
        case "flipped":
            files.weights = files.weights[:-1] + bytes([files.weights[-1] ^ 1])
        case "cut":
            files.weights = files.weights[:-1]
        case "none":
            files.changed(b"PK\x03\x04 no safetensors")
        case "nan":
            rewritten(files, home, with_nan(files))
        case "shape":
            rewritten(files, home, torch.zeros(3, 3))
        case "file":
            files.card["env_name"] = "/home/ada/evil.py:make"
        case "package":
            files.card["env_name"] = "gymnasium:Evil-v0"
        case "option":
            files.card["env_options"] = {"no": "such"}
        case "game":
            files.card["env_name"] = "no_such_game"
        case "role":
            files.card["role"] = "goalkeeper"
        case "field":
            files.card["import"] = "os"
    return files


@pytest.mark.parametrize(
    ("kind", "pointer", "said"),
    [
        ("flipped", "/weights", "weights: found SHA-256"),
        ("cut", "/weights", "cut off or has something appended"),
        ("none", "/weights", "weights"),
        ("nan", "/weights", "numbers that are not finite"),
        ("shape", "/weights", "(3, 3)"),
        ("file", "/card", "evil.py is a file"),
        ("package", "/card", "gymnasium:Evil-v0 is code of a package"),
        ("option", "/card", "cannot be made here"),
        ("game", "/card", "'no_such_game' is not known"),
        ("role", "/card", "role 'goalkeeper'"),
        ("field", "/card", "card: no card of a snapshot: import"),
    ],
)
def test_files_that_lie_are_refused_where_they_lie(
    best: Files, home: Path, tmp_path: Path, kind: str, pointer: str, said: str
) -> None:
    """By the program itself, called without a process of its own."""
    weights, data = tmp_path / "uploads/upload.safetensors", tmp_path / "data"
    spoiled(kind, best, home).write(weights)
    ((place, text),) = imported("liar", weights, data)["problems"]
    assert place == pointer and said in text
    assert str(tmp_path) not in text and "upload" not in text and "/ada" not in text
    assert not any(word in text for word in ("--allow-files", "--env", "--name", "site-packages"))
    assert not data.exists()


def test_what_the_program_refuses_is_told_and_nothing_stays(real: Service, best: Files) -> None:
    before = sorted((real.data / "imported").rglob("*"))
    best.weights = best.weights[:-1] + bytes([best.weights[-1] ^ 1])
    problem = send(real, best.form("liar"), 422).json()
    (error,) = problem["errors"]
    assert error["pointer"] == "/weights" and "weights: found SHA-256" in error["detail"]
    assert str(real.data.parent) not in json.dumps(problem)
    assert left(real.data) == [] and sorted((real.data / "imported").rglob("*")) == before


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
