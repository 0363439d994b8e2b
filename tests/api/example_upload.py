"""An upload that the double of the program for imports takes."""

import json

from api.openapi import EXAMPLES
from tests.api.service import Service


def upload(service: Service, name: str) -> None:
    """Import the snapshot of the example, for which the double takes any weights of its size."""
    shown = json.loads((EXAMPLES / "createImport.json").read_text(encoding="utf-8"))
    card = shown["answers"]["201"]["card"]
    form = {
        "name": (None, name),
        "card": ("card.json", json.dumps(card)),
        "weights": ("weights.safetensors", b"w" * card["size_bytes"]),
    }
    headers = {"authorization": f"Bearer {service.token('admin')}"}
    answer = service.client.post("/v1/imports", files=form, headers=headers)
    assert answer.status_code == 201, answer.text
