"""What a WAD file says of where players may appear on a map, in the formats of Doom, Hexen and UDMF (doomwiki.org: WAD, Thing, UDMF)."""

import re
import struct
from pathlib import Path
from typing import BinaryIO, NamedTuple

_HEADER, _ENTRY = struct.Struct("<4sii"), struct.Struct("<ii8s")
_MAGIC = (b"IWAD", b"PWAD")
# Types of things; ZDoom has eight players.
_DEATHMATCH, _PLAYERS = 11, (1, 2, 3, 4, 4001, 4002, 4003, 4004)
# Of a thing in Doom's format and in Hexen's: its size, and where its type stands in it.
_DOOM, _HEXEN = (10, 6), (20, 10)
# What follows the name of a map, in Doom's format and in Hexen's; of UDMF's the first is enough.
_LUMPS = b"TEXTMAP THINGS LINEDEFS SIDEDEFS VERTEXES SEGS SSECTORS NODES SECTORS REJECT BLOCKMAP BEHAVIOR".split()
_TEXT_TYPE = re.compile(rb"\btype\s*=\s*(\d+)\s*;", re.IGNORECASE)


class Starts(NamedTuple):
    """How many places there are to appear: in a deathmatch, and for the numbered players of other games."""

    deathmatch: int
    players: int


def map_starts(wad: Path, map_name: str) -> Starts | None:
    """None where the file has no such map, or cannot be read."""
    try:
        with wad.open("rb") as file:
            types = _thing_types(_map_lumps(file, map_name.upper().encode()))
    except (OSError, ValueError, struct.error):
        return None
    return None if types is None else Starts(types.count(_DEATHMATCH), sum(types.count(number) for number in _PLAYERS))


def _thing_types(lumps: dict[bytes, bytes]) -> list[int] | None:
    if (text := lumps.get(b"TEXTMAP")) is not None:
        return [int(number) for number in _TEXT_TYPE.findall(text)]
    if (things := lumps.get(b"THINGS")) is None:
        return None
    size, place = _HEXEN if b"BEHAVIOR" in lumps else _DOOM
    return [int.from_bytes(things[start + place : start + place + 2], "little") for start in range(0, len(things) - size + 1, size)]


def _map_lumps(file: BinaryIO, map_name: bytes) -> dict[bytes, bytes]:
    """By name. The last map of that name counts, as in the engine. Raises: ValueError, struct.error where it is no WAD."""
    magic, count, directory = _HEADER.unpack(file.read(_HEADER.size))
    if magic not in _MAGIC:
        raise ValueError(f"begins with {magic!r}; a WAD with one of {_MAGIC}")
    file.seek(directory)
    entries = [_ENTRY.unpack(file.read(_ENTRY.size)) for _ in range(count)]
    names = [name.partition(b"\0")[0].upper() for _, _, name in entries]
    first = max((index + 1 for index, name in enumerate(names) if name == map_name), default=count)
    lumps: dict[bytes, bytes] = {}
    for (position, size, _), name in list(zip(entries, names, strict=True))[first : first + len(_LUMPS)]:
        if name not in _LUMPS or name in lumps:
            break
        file.seek(position)
        lumps[name] = file.read(size)
    return lumps
