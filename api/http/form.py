"""Reads a form of files, multipart/form-data, straight into files of the data directory.

Each part has a place: a file, and the most bytes that it may have. Starlette's own form parser
would write what it takes to the folder of temporary files, which may be small or in memory, and it
takes whole forms before it tells what is wrong with a part.
"""

import errno
import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from anyio.to_thread import run_sync
from python_multipart import MultipartParser
from python_multipart.exceptions import FormParserError
from python_multipart.multipart import parse_options_header
from starlette.requests import ClientDisconnect, Request

from api.http.problems import Problem

if TYPE_CHECKING:
    from python_multipart.multipart import MultipartCallbacks

CHUNK_BYTES = 1 << 20


@dataclass(frozen=True)
class PartPlace:
    """Where a part of a form is written to.

    path        the new file
    most_bytes  that the part may have
    expected    what the part is, in words
    """

    path: Path
    most_bytes: int
    expected: str


@dataclass
class ReceivedPart:
    """A part that has arrived.

    size_bytes  of its content
    hashed      SHA-256 of its content
    """

    size_bytes: int = 0
    hashed: "hashlib._Hash" = field(default_factory=hashlib.sha256)

    @property
    def sha256(self) -> str:
        return self.hashed.hexdigest()


async def read_form(
    request: Request, places: Mapping[str, PartPlace], look: Callable[[], None]
) -> Mapping[str, ReceivedPart]:
    """Write every part of the form into its file.

    places  name of a part -> where it goes; each must come once, and no other part
    look    is called before anything is written, again and again; it raises to refuse the rest
    Raises: Problem for a form that is malformed, ends early, or has other parts than these, and
    when the disk is full.
    """
    writer = _FormWriter(places)
    parser = MultipartParser(_boundary(request), writer.callbacks())

    def take(content: bytes) -> None:
        look()
        parser.write(content)

    try:
        waiting = bytearray()
        async for chunk in request.stream():
            waiting += chunk
            if len(waiting) >= CHUNK_BYTES:
                await run_sync(take, bytes(waiting))
                waiting.clear()
        await run_sync(take, bytes(waiting))
    except ClientDisconnect as error:
        raise Problem("bad-request", "the upload was broken off") from error
    except FormParserError as error:
        raise Problem("bad-request", f"the body is no multipart/form-data: {error}") from error
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        raise Problem("disk-full", "the disk is full: the upload does not fit") from error
    finally:
        writer.close()
    return writer.whole()


def _boundary(request: Request) -> bytes:
    """Raises: Problem without a boundary, which every form has."""
    _, options = parse_options_header(request.headers.get("content-type"))
    boundary = options.get(b"boundary", b"")
    if not 0 < len(boundary) <= 70:  # as RFC 2046 limits it
        raise Problem("bad-request", "Content-Type names no boundary of multipart/form-data")
    return boundary


class _FormWriter:
    """Takes what the parser finds, part after part."""

    def __init__(self, places: Mapping[str, PartPlace]) -> None:
        self._places, self._parts = places, dict[str, ReceivedPart]()
        self._headers, self._key, self._value = dict[bytes, bytes](), b"", b""
        self._name = ""
        self._file: BinaryIO | None = None
        self._ended = False

    def callbacks(self) -> "MultipartCallbacks":
        return {
            "on_part_begin": self._headers.clear,
            "on_header_field": self._more_key,
            "on_header_value": self._more_value,
            "on_header_end": self._header_end,
            "on_headers_finished": self._begin,
            "on_part_data": self._write,
            "on_part_end": self.close,
            "on_end": self._end,
        }

    def whole(self) -> Mapping[str, ReceivedPart]:
        """The parts. Raises: Problem where the form has not ended, or lacks a part."""
        if self._parts and not self._ended:
            raise Problem("bad-request", "the form ends early: its last boundary is missing")
        if missing := [name for name in self._places if name not in self._parts]:
            places = [(f"/{name}", "is missing") for name in missing]
            raise Problem("invalid", f"the form lacks {', '.join(missing)}", places)
        return self._parts

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None

    def _more_key(self, data: bytes, start: int, end: int) -> None:
        self._key += data[start:end]

    def _more_value(self, data: bytes, start: int, end: int) -> None:
        self._value += data[start:end]

    def _header_end(self) -> None:
        self._headers[self._key.lower()] = self._value
        self._key = self._value = b""

    def _begin(self) -> None:
        """Open the file of the part. Raises: Problem for a part that is not expected."""
        _, options = parse_options_header(self._headers.get(b"content-disposition"))
        name = options.get(b"name", b"").decode("utf-8", errors="replace")
        if name not in self._places:
            shown = name[:64].replace("~", "~0").replace("/", "~1")
            known = f"the form has an unknown part; there are: {', '.join(self._places)}"
            raise Problem("invalid", known, [(f"/{shown}", "unknown part")])
        if name in self._parts:
            twice = f"the form has the part {name} twice"
            raise Problem("invalid", twice, [(f"/{name}", "given more than once")])
        self._name, self._parts[name] = name, ReceivedPart()
        self._file = self._places[name].path.open("xb")

    def _write(self, data: bytes, start: int, end: int) -> None:
        part, place, content = self._parts[self._name], self._places[self._name], data[start:end]
        part.size_bytes += len(content)
        if part.size_bytes > place.most_bytes:
            text = f"more than {place.most_bytes} bytes; expected {place.expected}"
            raise Problem("invalid", f"{self._name}: {text}", [(f"/{self._name}", text)])
        part.hashed.update(content)
        if self._file is not None:
            self._file.write(content)

    def _end(self) -> None:
        self._ended = True
