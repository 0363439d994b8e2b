"""Answers with an ETag: a caller that sends it back gets 304 while nothing has changed."""

import hashlib
import re
from collections.abc import Callable
from typing import Annotated, Any

from fastapi import Header, Request
from starlette.responses import Response

from api.context import Context
from api.http.json_response import json_bytes

IfNoneMatch = Annotated[
    str | None,
    Header(
        alias="If-None-Match",
        max_length=1000,
        description="ETag of the answer that the caller has; 304 while it is the same",
    ),
]
KNOWN: dict[int | str, dict[str, Any]] = {304: {"description": "as the caller has it"}}


def tagged_by_league(
    here: Context, request: Request, if_none_match: str | None, report: Callable[[], object]
) -> Response:
    """The report as JSON, or 304 when the caller has it.

    It is computed once for each revision of the league's results.
    """
    name = f"{request.url.path}?{sorted(request.query_params.items())}"
    cached = here.cache.get(name, lambda: json_bytes(report()))
    return tagged(cached.revision, if_none_match, lambda: cached.body)


def tagged_by_content(if_none_match: str | None, report: object) -> Response:
    """The report as JSON, or 304 when the caller has it.

    For reports that depend on more than results: on rounds, snapshots or edits.
    """
    body = json_bytes(report)
    return tagged(hashlib.sha256(body).hexdigest()[:16], if_none_match, lambda: body)


def tagged(tag: str, if_none_match: str | None, body: Callable[[], bytes]) -> Response:
    """The body with this tag, or 304 when the caller has it."""
    headers = {"etag": f'"{tag}"'}
    if (
        headers["etag"] in re.findall(r'"[^"]*"', if_none_match or "")
        or (if_none_match or "").strip() == "*"
    ):
        return Response(status_code=304, headers=headers)
    return Response(body(), headers=headers, media_type="application/json")
