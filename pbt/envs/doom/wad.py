"""Reads WAD files: which maps they have, and where players may appear on them.

The formats are those of Doom, Hexen and UDMF (doomwiki.org: WAD, Thing, UDMF).
"""

import re
import struct
import zipfile
from io import BytesIO
from itertools import pairwise
from pathlib import Path, PurePosixPath
from typing import BinaryIO, NamedTuple

_HEADER, _ENTRY = struct.Struct("<4sii"), struct.Struct("<ii8s")
_MAGIC = (b"IWAD", b"PWAD")
# A .pk3 is a ZIP file.
_ZIP = b"PK\3\4"
# Types of things: a start in a deathmatch, and those of the eight players that ZDoom has.
_DEATHMATCH, _PLAYERS = 11, (1, 2, 3, 4, 4001, 4002, 4003, 4004)
# (size, offset of the type) of a thing in Doom's format and in Hexen's, in bytes.
_DOOM, _HEXEN = (10, 6), (20, 10)
# Lumps that follow the name of a map in Doom's format and in Hexen's; of UDMF's the first one.
_LUMPS = (
    b"TEXTMAP THINGS LINEDEFS SIDEDEFS VERTEXES SEGS SSECTORS NODES SECTORS REJECT BLOCKMAP "
    b"BEHAVIOR"
).split()
_FIRST_LUMPS = (b"TEXTMAP", b"THINGS")
_TEXT_TYPE = re.compile(rb"\btype\s*=\s*(\d+)\s*;", re.IGNORECASE)


class Starts(NamedTuple):
    """How many places there are to appear.

    deathmatch  in a deathmatch
    players     for the numbered players of other games
    """

    deathmatch: int
    players: int


def map_names(wad: Path) -> list[str]:
    """Names of the maps, in upper case, sorted.

    Of a .pk3 they are those of its folder `maps` and of the WADs beside that.

    Raises: ValueError for a file that is neither, OSError.
    """
    try:
        with wad.open("rb") as file:
            magic = file.read(len(_ZIP))
            file.seek(0)
            names = _pk3_maps(file) if magic == _ZIP else _wad_maps(file)
    except (struct.error, zipfile.BadZipFile, NotImplementedError, RuntimeError) as error:
        raise ValueError(
            f"is damaged, {error}; expected a whole file that begins with IWAD or PWAD, or a .pk3"
        ) from error
    return sorted(names)


def map_starts(wad: Path, map_name: str) -> Starts | None:
    """The places to appear on a map; None where the file has no such map, or cannot be read."""
    try:
        with wad.open("rb") as file:
            types = _thing_types(_map_lumps(file, map_name.upper().encode()))
    except (OSError, ValueError, struct.error):
        return None
    if types is None:
        return None
    return Starts(types.count(_DEATHMATCH), sum(types.count(number) for number in _PLAYERS))


def _thing_types(lumps: dict[bytes, bytes]) -> list[int] | None:
    if (text := lumps.get(b"TEXTMAP")) is not None:
        return [int(number) for number in _TEXT_TYPE.findall(text)]
    if (things := lumps.get(b"THINGS")) is None:
        return None
    size, place = _HEXEN if b"BEHAVIOR" in lumps else _DOOM
    return [
        int.from_bytes(things[start + place : start + place + 2], "little")
        for start in range(0, len(things) - size + 1, size)
    ]


def _wad_maps(file: BinaryIO) -> set[str]:
    names = [name for _, _, name in _entries(file)]
    return {
        name.decode(errors="replace")
        for name, following in pairwise(names)
        if following in _FIRST_LUMPS
    }


def _pk3_maps(file: BinaryIO) -> set[str]:
    """Names of the maps of a .pk3.

    The engine finds a map by its file's name in `maps`, or within a WAD at the top.
    """
    names: set[str] = set()
    with zipfile.ZipFile(file) as pk3:
        for name in pk3.namelist():
            path = PurePosixPath(name.lower())
            if path.suffix == ".wad" and path.parts[0] == "maps":
                names.add(path.stem.upper())
            elif path.suffix == ".wad" and len(path.parts) == 1:
                names |= _wad_maps(BytesIO(pk3.read(name)))
    return names


def _entries(file: BinaryIO) -> list[tuple[int, int, bytes]]:
    """(position, size, name in upper case) of every lump.

    Raises: ValueError, struct.error where the file is no WAD.
    """
    header = file.read(_HEADER.size)
    if header[:4] not in _MAGIC:
        raise ValueError(
            f"begins with {header[:4]!r}; expected a WAD, which begins with IWAD or PWAD, or a .pk3"
        )
    _, count, directory = _HEADER.unpack(header)
    if min(count, directory) < 0:
        raise ValueError(
            f"is damaged: its directory has {count} entries at byte {directory}; expected a "
            "whole WAD, which begins with IWAD or PWAD"
        )
    file.seek(directory)
    entries = [_ENTRY.unpack(file.read(_ENTRY.size)) for _ in range(count)]
    return [(position, size, name.partition(b"\0")[0].upper()) for position, size, name in entries]


def _map_lumps(file: BinaryIO, map_name: bytes) -> dict[bytes, bytes]:
    """The lumps of a map by name. The last map of that name counts, as in the engine.

    Raises: ValueError, struct.error where the file is no WAD.
    """
    entries = _entries(file)
    first = max(
        (index + 1 for index, (_, _, name) in enumerate(entries) if name == map_name),
        default=len(entries),
    )
    lumps: dict[bytes, bytes] = {}
    for position, size, name in entries[first : first + len(_LUMPS)]:
        if name not in _LUMPS or name in lumps:
            break
        file.seek(position)
        lumps[name] = file.read(size)
    return lumps
