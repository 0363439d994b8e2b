"""Snapshots that move to another league over REST."""

import json
from pathlib import Path

import pytest

from arena.cli.app import run
from arena.data.paths import league_path
from arena.data.snapshot_cards import card_beside
from arena.league.chain import chain_of_population, read_records
from arena.league.chain_notes import EXPORT
from arena.league.database import open_league
from arena.league.stored_snapshots import list_snapshots
from tests.api.service import serving
from tests.arena.tiny_populations import UNRATED, train


def test_weights_and_card_over_rest_are_those_of_an_export(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data, out, got = tmp_path / "data", tmp_path / "out.safetensors", tmp_path / "got.safetensors"
    train(data, "home", UNRATED)
    assert run(["export", "home/m1", "--out", str(out), "--data", str(data)]) == 0
    path = f"/v1/snapshots/{json.loads(card_beside(out).read_text())['snapshot_id']}"
    with serving(data) as service:
        headers = {"authorization": f"Bearer {service.token('viewer')}"}
        got.write_bytes(service.client.get(f"{path}/weights", headers=headers).content)
        card = service.client.get(f"{path}/card", headers=headers)
        assert card.json() == service.call("GET", f"{path}/card")
        card_beside(got).write_bytes(card.content)
        service.call("GET", f"/v1/snapshots/{'c' * 64}/card", status=404)
    assert got.read_bytes() == out.read_bytes()
    told = '"hyperparams"' in card.text and card.json()["hyperparams"]["learning_rate"] > 0
    assert told and card.json()["population"] == "home"
    there = str(tmp_path / "there")
    for weights, name in ((out, "exported"), (got, "fetched")):
        assert run(["import", str(weights), "--name", name, "--data", there]) == 0
    cards = [
        (tmp_path / "there" / "imported" / f"{name}.json").read_text()
        for name in ("exported", "fetched")
    ]
    assert cards[0] == cards[1]
    capsys.readouterr()
    assert run(["match", "imported/fetched", "random", "--games", "2", "--data", there]) == 0


def exports(data: Path) -> list[str]:
    """The snapshots of which the chain of the only population says that they left the league."""
    with open_league(league_path(data)) as league, league.read() as connection:
        records = read_records(connection, chain_of_population(1), 0, [EXPORT])
    return [record.content.said["snapshot"] for record in records]


def test_a_download_of_weights_is_recorded_as_an_export_once(tmp_path: Path) -> None:
    data = tmp_path / "data"
    train(data, "home", UNRATED)
    with open_league(league_path(data)) as league:
        first, second, *_ = [row.record.snapshot_id for row in list_snapshots(league, "home")]
    with serving(data) as service:
        viewer = {"authorization": f"Bearer {service.token('viewer')}"}

        def get(snapshot: str, what: str, **headers: str) -> int:
            path = f"/v1/snapshots/{snapshot}/{what}"
            return service.client.get(path, headers={**viewer, **headers}).status_code

        assert (get(first, "card"), exports(data)) == (200, []), "no weights"
        assert get("c" * 64, "weights") == 404
        codes = [
            get(first, "weights"),
            get(first, "weights"),
            get(first, "weights", range="bytes=9-"),
        ]
        assert (codes, exports(data)) == ([200, 200, 206], [first])
        assert get(second, "weights", range="bytes=0-9") == 206
        assert exports(data) == [first, second]
    assert run(["verify", "home", "--replay", "0", "--data", str(data)]) == 0
    with serving(data, read_only=True) as service:
        path = f"/v1/snapshots/{first}/weights"
        assert service.client.get(path, headers=viewer).status_code == 200
    assert run(["export", first, "--out", str(tmp_path / "out"), "--data", str(data)]) == 0
    assert exports(data) == [first, second, first]


def test_weights_can_be_saved_from_a_league_that_takes_no_record(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = tmp_path / "data"
    train(data, "home", UNRATED)
    with serving(data) as service:
        found = service.call("GET", "/v1/populations/home/snapshots")["items"][0]["id"]
        monkeypatch.setattr(service.league, "read_only", True)
        headers = {"authorization": f"Bearer {service.token('viewer')}"}
        answer = service.client.get(f"/v1/snapshots/{found}/weights", headers=headers)
        assert answer.status_code == 200 and answer.content
        monkeypatch.undo()
    assert exports(data) == []
