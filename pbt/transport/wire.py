"""A wire turns messages into bytes: one byte for the type, then the fields in msgpack.

Decoding a message never runs code that came with it.
"""

from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np

from pbt.errors import EngineError


class Wire:
    """The message types of one direction of a channel, in an order that both ends share.

    Types are NamedTuples or dataclasses of plain fields. Arrays do not travel; they stand in shared
    memory. Inside a field of type `Any`, tuples arrive as lists and keys of dicts must be text, as
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
        self._encoder = msgspec.msgpack.Encoder(enc_hook=plain)
        try:
            self._decoders = tuple(msgspec.msgpack.Decoder(kind) for kind in types)
        except TypeError as error:
            raise EngineError(f"a type that cannot travel: {error}") from error

    def encode(self, message: Any) -> bytes:
        """The message as bytes.

        Raises EngineError, which names the message's type, when that is none of this wire's types
        or when a value cannot travel.
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
        """The message in these bytes; it keeps no reference to them.

        Raises EngineError when the bytes are no message of this wire.
        """
        if not payload or payload[0] >= len(self._types):
            content = f"kind {payload[0]}" if payload else "no bytes"
            raise EngineError(
                f"a message of {content}; expected a kind below {len(self._types)}; both ends "
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


def plain(value: Any) -> Any:
    """Convert a value that msgspec does not know. Numpy's scalars become numbers.

    Raises TypeError for anything else.
    """
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(
        f"a value of type {type(value).__name__} cannot travel; use plain numbers, text, "
        "lists and dicts"
    )
