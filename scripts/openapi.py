"""Writes docs/schemas/openapi.json: `python scripts/openapi.py`.

A test fails when the file differs from the program.
"""

import json
import tempfile
from pathlib import Path

from api.app import create_app
from api.http.settings import Settings

PATH = Path(__file__).resolve().parent.parent / "docs" / "schemas" / "openapi.json"


def document() -> str:
    """The OpenAPI document of the service, with sorted keys."""
    with tempfile.TemporaryDirectory() as folder:
        return (
            json.dumps(create_app(Settings(data=Path(folder))).openapi(), indent=1, sort_keys=True)
            + "\n"
        )


if __name__ == "__main__":
    PATH.write_text(document(), encoding="utf-8")
