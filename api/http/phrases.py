"""The names of HTTP statuses, the same under every version of Python."""

from http import HTTPStatus

# RFC 9110 gave these new names, which Python has from 3.13 on.
_RENAMED = {
    413: "Content Too Large",
    414: "URI Too Long",
    416: "Range Not Satisfiable",
    422: "Unprocessable Content",
}


def phrase(status: int) -> str:
    """The name of a status (RFC 9110). Raises: ValueError for one that HTTP does not know."""
    return _RENAMED.get(status) or HTTPStatus(status).phrase
