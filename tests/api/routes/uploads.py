"""Uploads of snapshots, as clients make them."""

import hashlib
import json
from pathlib import Path
from typing import Any

from arena.data.snapshot_cards import card_beside
from tests.api.service import Service

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


def send(service: Service, form: Any, status: int, **headers: str) -> Any:
    """The answer to an upload by an admin, unless the headers say otherwise."""
    sent = {"authorization": f"Bearer {service.token('admin')}", **headers}
    answer = service.client.post(PATH, files=form, headers=sent)
    assert answer.status_code == status, answer.text
    return answer


def left(data: Path) -> list[Path]:
    """Files of uploads that are still there."""
    return list((data / "service/uploads").rglob("*"))
