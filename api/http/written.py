"""Answers written where they are made: a model that is returned is checked once more by FastAPI, in
another thread, and written by its event loop, which takes longer than most questions. That answers
are as documented is for the tests to see.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
from pydantic import BaseModel
from starlette.responses import Response


def written(report: object, headers: Mapping[str, str] | None = None) -> Response:
    """report: a body, or what one is made of."""
    return Response(json_bytes(report), headers=headers, media_type="application/json")


def json_bytes(report: object) -> bytes:
    """A number that is none is null."""
    if isinstance(report, BaseModel):
        return report.model_dump_json().encode()
    return _JSON.encode(report)


def _plain(value: Any) -> Any:
    """What stands for a value that JSON does not know."""
    match value:
        case float():
            return float(value)
        case Mapping():
            return dict(value)
        case Path():
            return str(value)
    raise TypeError(f"{type(value).__name__} cannot be written as JSON")


_JSON = msgspec.json.Encoder(enc_hook=_plain)
