"""The canonical encoding of rows in columns, of which a chain's digests are taken.

It names columns and values and nothing of the tables, so rows that are stored in another layout
later have the same digest. All numbers are little-endian. A set of columns is

    "pbt-arena columns 1" | u32 columns | column | column ...

in the given order, without columns that hold no value. So a column that is added later, with None
in older rows, changes no earlier digest. A column is

    u16 length of its name | name | type | form | u64 values | mask | payload

    type     "i" integers of 64 bits, "f" floats of 64 bits by their bits, "t" text in UTF-8,
             "b" bytes
    form     bit 0: all values are equal, and the payload holds one; bit 1: some value is None
    mask     only with bit 1 of the form: one bit per value, 1 for None, the first value lowest
    payload  numbers one after the other; texts and bytes as u64 lengths, then the contents; values
             that are None have no part in it
"""

import hashlib
import struct
import sys
from array import array
from collections.abc import Iterator, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

ColumnType = Literal["i", "f", "t", "b"]

HEADER = b"pbt-arena columns 1"
_CONSTANT, _WITH_NONE = 1, 2
_NUMBERS = {"i": "q", "f": "d"}


class NamedColumn(NamedTuple):
    """One column of rows.

    name    its name
    type    the type of its values
    values  one for each row, None where there is none; numbers that are all there may be an array,
            of int64 or float64
    """

    name: str
    type: ColumnType
    values: Sequence[Any] | NDArray[Any]


def digest_columns(columns: Sequence[NamedColumn]) -> bytes:
    """The SHA-256 of the encoded columns.

    Raises: TypeError, ValueError, AttributeError or OverflowError for a value that is not of its
    column's type.
    """
    held = [column for column in columns if not _is_empty(column.values)]
    encoded = [HEADER, struct.pack("<I", len(held))]
    for column in held:
        encoded += _encoded(column)
    return hashlib.sha256(b"".join(encoded)).digest()


NO_ROWS = digest_columns(())
"""The digest of records that hold no rows."""


def _is_empty(values: Sequence[Any] | NDArray[Any]) -> bool:
    """Whether no value is there. The first value decides for most columns."""
    if isinstance(values, np.ndarray):
        return len(values) == 0
    return not values or (values[0] is None and values.count(None) == len(values))


def _is_constant(values: Sequence[Any] | NDArray[Any]) -> bool:
    """Whether two values or more are there, and all are equal; two of them decide for most."""
    if isinstance(values, np.ndarray):
        return len(values) > 1 and bool((values == values[0]).all())
    return len(values) > 1 and values[0] == values[-1] and values.count(values[0]) == len(values)


def _encoded(column: NamedColumn) -> Iterator[bytes]:
    values, name = column.values, column.name.encode()
    # Floats that are equal may differ in bits (0.0 and -0.0), so they are always written out.
    constant = column.type != "f" and _is_constant(values)
    with_none = not constant and not isinstance(values, np.ndarray) and None in values
    form = _CONSTANT * constant | _WITH_NONE * with_none
    head = struct.pack("<H", len(name)) + name + column.type.encode()
    yield head + struct.pack("<BQ", form, len(values))
    if constant:
        values = values[:1]
    if with_none:
        yield _mask(values)
        values = [value for value in values if value is not None]
    yield _payload(column.type, values)


def _mask(values: Sequence[Any] | NDArray[Any]) -> bytes:
    bits = sum(1 << place for place, value in enumerate(values) if value is None)
    return bits.to_bytes(-(-len(values) // 8), "little")


def _payload(kind: ColumnType, values: Sequence[Any] | NDArray[Any]) -> bytes:
    if isinstance(values, np.ndarray):
        return values.astype("<f8" if kind == "f" else "<i8").tobytes()
    if kind in _NUMBERS:
        return _numbers(_NUMBERS[kind], values)
    contents = [value.encode() for value in values] if kind == "t" else values
    return _numbers("q", list(map(len, contents))) + b"".join(contents)


def _numbers(code: str, values: Sequence[Any]) -> bytes:
    packed = array(code, values)
    if sys.byteorder == "big":
        packed.byteswap()
    return packed.tobytes()
