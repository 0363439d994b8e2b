"""Which bodies a route takes: JSON of a limited length, and in one place files."""

from starlette.datastructures import Headers

from api.http.settings import Settings

JSON, FORM = "application/json", "multipart/form-data"
UPLOAD_PATH = "/v1/imports"
"""The path where files are uploaded. Pages of other sites can send a form without a preflight
request, so there the guard's look at Origin and Sec-Fetch-Site is what refuses them.
"""


def is_upload(method: str, path: str) -> bool:
    return method == "POST" and path == UPLOAD_PATH


def most_bytes(settings: Settings, method: str, path: str) -> int:
    """The longest body of a request."""
    return settings.max_import_bytes if is_upload(method, path) else settings.max_body_bytes


def media_problem(headers: Headers, method: str, path: str) -> str | None:
    """Why the body is of a type that the route does not take; None where it is, or without a body.

    A page of another site cannot send JSON without a preflight request.
    """
    if "transfer-encoding" not in headers and headers.get("content-length", "0") == "0":
        return None
    expected = FORM if is_upload(method, path) else JSON
    if media_type(headers) == expected:
        return None
    return f"Content-Type is {headers.get('content-type', 'missing')!r}; expected {expected}"


def media_type(headers: Headers) -> str:
    """The type without its parameters, in lower case; "" without one."""
    return headers.get("content-type", "").partition(";")[0].strip().lower()


def announced_bytes(headers: Headers) -> int | None:
    """The length that a request says its body has; None where it says none."""
    text = headers.get("content-length", "")
    return int(text) if text.isascii() and text.isdecimal() else None
