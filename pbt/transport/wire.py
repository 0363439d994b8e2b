"""Messages as bytes: one byte that names the type, then the fields by msgpack. Nothing read here
can run code.
"""

from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np

from pbt.errors import EngineError


class Wire:
    """One direction of a channel: the types that may travel, in an order both ends know.

    Types are NamedTuples or dataclasses of plain fields; arrays do not travel (they stand in shared
    memory). Inside fields typed `Any` a tuple arrives as a list and keys of dicts must be text, as
    in JSON.
    """

    def __init__(self, types: Sequence[type[Any]]) -> None:
        if len(types) > 256 or len(set(types)) != len(types):
            raise EngineError(
                f"a wire of {len(types)} types, {len(set(types))} of them different; "
                "expected up to 256, each once"
            )
        self._types = tuple(types)
        self._kinds = {kind: number for number, kind in enumerate(types)}
        self._encoder = msgspec.msgpack.Encoder(enc_hook=_plain)
        try:
            self._decoders = tuple(msgspec.msgpack.Decoder(kind) for kind in types)
        except TypeError as error:
            raise EngineError(f"a type that cannot travel: {error}") from error

    def encode(self, message: Any) -> bytes:
        """Raises EngineError that names the message when its type is not of this wire or a value
        cannot travel.
        """
        kind = self._kinds.get(type(message))
        if kind is None:
            raise EngineError(
                f"a message of type {type(message).__name__}; expected one of "
                f"{', '.join(t.__name__ for t in self._types)}"
            )
        try:
            return bytes((kind,)) + self._encoder.encode(message)
        except (TypeError, ValueError, OverflowError, RecursionError) as error:
            raise EngineError(f"message {type(message).__name__}: {error}") from error

    def decode(self, payload: bytes | bytearray | memoryview) -> Any:
        """The message; nothing in it refers to the payload. Raises EngineError when the bytes
        are no message of this wire.
        """
        if not payload or payload[0] >= len(self._types):
            found = f"kind {payload[0]}" if payload else "no bytes"
            raise EngineError(
                f"a message of {found}; expected a kind below {len(self._types)}; both ends "
                "must run the same program"
            )
        kind = payload[0]
        try:
            return self._decoders[kind].decode(memoryview(payload)[1:])
        except msgspec.MsgspecError as error:
            raise EngineError(
                f"message {self._types[kind].__name__}, {len(payload)} bytes: {error}; both "
                "ends must run the same program"
            ) from error


def _plain(value: Any) -> Any:
    """What msgpack does not know: numpy's scalars travel as numbers, anything else is refused."""
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(
        f"a value of type {type(value).__name__} cannot travel; use plain numbers, text, "
        "lists and dicts"
    )
