"""Snapshots that move to another league over REST."""

import json
from pathlib import Path

import pytest

from arena.cli.app import run
from arena.data.snapshot_cards import card_beside
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
