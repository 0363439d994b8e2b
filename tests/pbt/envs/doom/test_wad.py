"""Where players may appear, read from maps of every format."""

import struct
from pathlib import Path

import pytest

from pbt.envs.doom.scene import known
from pbt.envs.doom.wad import Starts, map_starts
from tests.pbt.envs.doom.scene import wad_of

TYPES = (11, 1, 11, 2001, 4, 4001, 11)


def test_things_of_doom_hexen_and_udmf(tmp_path: Path) -> None:
    doom = b"".join(struct.pack("<5h", 11, 11, 11, kind, 11) for kind in TYPES)
    hexen = b"".join(
        struct.pack("<7h6B", 11, 11, 11, 11, 11, kind, 11, 11, 11, 11, 11, 11, 11) for kind in TYPES
    )
    udmf = (
        "".join(f"thing {{ x = 11.0; Type={kind}; angle = 11; }} " for kind in TYPES)
        + "sector { special = 11; }"
    )
    file = wad_of(
        tmp_path / "all.wad",
        [
            *(("MAP01", b""), ("THINGS", doom), ("LINEDEFS", b"")),
            *(("MAP02", b""), ("THINGS", hexen), ("LINEDEFS", b""), ("BEHAVIOR", b"ACS")),
            *(
                ("MAP03", b""),
                ("TEXTMAP", udmf.encode()),
                ("BEHAVIOR", b""),
                ("ENDMAP", b""),
                ("THINGS", b""),
            ),
            *(("MAP04", b""), ("LINEDEFS", b"")),
            *(("MAP05", b""), ("THINGS", b"")),
        ],
    )
    assert [map_starts(file, f"map0{number}") for number in range(1, 7)] == [Starts(3, 3)] * 3 + [
        None,
        Starts(0, 0),
        None,
    ]


@pytest.mark.parametrize(
    ("name", "map_name", "starts"),
    [
        ("multi_duel", "map01", (2, 0)),
        ("cig", "map01", (25, 0)),
        ("cig", "MAP02", (11, 10)),
        ("basic", "map01", (0, 1)),
        ("cig", "map03", None),
    ],
)
def test_maps_that_vizdoom_ships(name: str, map_name: str, starts: tuple[int, int] | None) -> None:
    assert map_starts(known().scenarios / f"{name}.wad", map_name) == starts


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"PK\3\4 a pk3 is no WAD",
        struct.pack("<4sii", b"PWAD", 9, 12),
        struct.pack("<4sii", b"PWAD", -1, -1),
    ],
)
def test_what_is_no_wad_says_nothing(content: bytes, tmp_path: Path) -> None:
    file = tmp_path / "no.wad"
    file.write_bytes(content)
    assert map_starts(file, "map01") is None
    assert map_starts(tmp_path / "nowhere.wad", "map01") is None
