"""A scenario plays the game and the map that it names, or fails before any engine starts."""

import struct
import zipfile
from pathlib import Path
from typing import Any

import pytest

from pbt.envs.doom import match
from pbt.envs.doom.game import make
from pbt.envs.doom.scene import game_file, known
from pbt.errors import EnvOptionsError
from tests.pbt.envs.doom.scene import wad_of

SCENARIOS = sorted(path.stem for path in known().scenarios.glob("*.cfg"))
# Sold, so ViZDoom does not carry them.
SOLD = ("doom", "doom2")
# For matches: their maps have places for players of a deathmatch only.
MATCHES = ("cig", "multi_duel")
# Where the first player appears.
THING = struct.pack("<5h", 0, 0, 0, 1, 7)


def refused(**options: Any) -> str:
    with pytest.raises(EnvOptionsError) as raised:
        make(**options)
    return str(raised.value)


def first_x(**options: Any) -> float:
    """Where the player stands when the game begins."""
    game = make(points="POSITION_X", **options)
    try:
        game.reset(1)
        points = game.points_now()
        assert points is not None
        return points[0]
    finally:
        game.close()


def start_x(wad: Path, map_name: bytes) -> float:
    """Where the map in the format of Doom has its first player."""
    content = wad.read_bytes()
    count, directory = struct.unpack_from("<ii", content, 4)
    entries = [
        struct.unpack_from("<ii8s", content, directory + 16 * index) for index in range(count)
    ]
    found = next(index for index, entry in enumerate(entries) if entry[2].rstrip(b"\0") == map_name)
    position, size, _ = entries[found + 1]
    return next(
        float(x)
        for x, _, _, kind, _ in struct.iter_unpack("<5h", content[position : position + size])
        if kind == 1
    )


def own_cfg(folder: Path, lines: str) -> str:
    (folder / "own.cfg").write_text(
        f"{lines}\navailable_buttons = {{ ATTACK }}\n", encoding="utf-8"
    )
    return str(folder / "own.cfg")


# --- the game -------------------------------------------------------------------------------------


def test_freedoom1_is_played_from_its_first_map() -> None:
    expected = start_x(game_file("freedoom1.wad"), b"E1M1")
    assert expected != start_x(game_file("freedoom2.wad"), b"MAP01")
    assert first_x(scenario="freedoom1") == first_x(scenario="freedoom1", map="e1m1") == expected


def test_a_cfg_names_its_game_by_the_files_name_only(tmp_path: Path) -> None:
    (tmp_path / "freedoom1.wad").write_bytes(b"not that of ViZDoom")
    scenario = own_cfg(tmp_path, "doom_game_path = FreeDoom1.wad\ndoom_map = E2M3")
    assert first_x(scenario=scenario) == start_x(game_file("freedoom1.wad"), b"E2M3")


@pytest.mark.parametrize("scenario", SOLD)
def test_a_game_that_is_sold_is_refused_wherever_it_lies(
    scenario: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / f"{scenario}.wad").write_bytes(game_file("freedoom2.wad").read_bytes()[:12])
    said = refused(scenario=scenario)
    assert (
        f"scenario = '{scenario}': its .cfg file asks for the game {scenario}.wad" in said
        and '"freedoom1" or "freedoom2"' in said
    )
    own = own_cfg(tmp_path, f"doom_game_path = {scenario}.wad")
    assert f"asks for the game {scenario}.wad" in refused(scenario=own)


def test_a_match_is_refused_such_a_game_too() -> None:
    with pytest.raises(EnvOptionsError, match=r"asks for the game doom2\.wad"):
        match.make(scenario="doom2")
    match.make(scenario="freedoom1", map="e1m1")


@pytest.mark.parametrize("scenario", MATCHES)
def test_a_map_of_matches_is_refused_to_one_player(scenario: str) -> None:
    assert f"scenario: {scenario} map01 has no place for a single player to appear" in refused(
        scenario=scenario
    )


@pytest.mark.slow
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_every_scenario_that_vizdoom_ships_is_played_or_refused(scenario: str) -> None:
    if scenario in SOLD:
        assert f"asks for the game {scenario}.wad" in refused(scenario=scenario)
        return
    if scenario in MATCHES:
        assert "has no place for a single player" in refused(scenario=scenario)
        return
    game = make(scenario=scenario)
    try:
        turns = game.reset(1)
        for _ in range(5):
            turns = game.step({0: (0,) * len(game._heads.sizes)})
        assert turns[0].tics > 0
    finally:
        game.close()


# --- the map --------------------------------------------------------------------------------------


def test_a_map_that_only_the_game_has_is_refused_where_the_scenario_has_a_wad() -> None:
    said = refused(scenario="basic", map="map07")
    assert (
        "map = 'map07': basic.wad has no such map; it has MAP01; freedoom2.wad has a MAP07, "
        "which is another game than this scenario"
    ) in said
    assert first_x(scenario="freedoom2", map="map07") == start_x(
        game_file("freedoom2.wad"), b"MAP07"
    )


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (
            {"scenario": "basic", "map": "map77"},
            "map = 'map77': basic.wad has no such map; it has MAP01",
        ),
        (
            {"scenario": "cig", "map": "MAP03"},
            "cig.wad has no such map; it has MAP01, MAP02; freedoom2.wad has a MAP03",
        ),
        (
            {"scenario": "freedoom2", "map": "map77"},
            (
                "freedoom2.wad has no such map; it has MAP01, MAP02, MAP03, MAP04, MAP05, MAP06 "
                "and 26 more"
            ),
        ),
        ({"scenario": "freedoom1", "map": "map01"}, "freedoom1.wad has no such map; it has E1M1"),
        ({"scenario": "basic", "map": ""}, "map = '': basic.wad has no such map"),
        ({"scenario": "basic", "map": "THINGS"}, "map = 'THINGS': basic.wad has no such map"),
    ],
)
def test_a_map_that_is_nowhere_is_refused_and_those_there_are_are_named(
    options: dict[str, Any], problem: str
) -> None:
    assert problem in refused(**options)


def test_a_match_is_refused_such_a_map_too() -> None:
    with pytest.raises(
        EnvOptionsError, match=r"map = 'map77': multi_duel\.wad has no such map; it has MAP01"
    ):
        match.make(map="map77")


def test_the_map_of_a_cfg_is_looked_for_as_well(tmp_path: Path) -> None:
    wad = wad_of(
        tmp_path / "own.wad",
        [
            ("ARENA", b""),
            ("TEXTMAP", b"thing { type = 1; }"),
            ("ENDMAP", b""),
            ("E1M2", b""),
            ("THINGS", THING),
        ],
    )
    scenario = own_cfg(tmp_path, "doom_scenario_path = own.wad")
    said = refused(scenario=scenario)
    assert (
        "map = 'map01' (of the .cfg file, or ViZDoom's where that names none): own.wad has "
        "no such map; it has ARENA, E1M2"
    ) in said
    for name in ("arena", "Arena", "e1m2"):
        make(scenario=scenario, map=name).close()
    assert "it has ARENA, E1M2" in refused(scenario="basic", wad=str(wad))


# --- the WAD --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "found"),
    [
        (b"some text\n", "begins with b'some'"),
        (b"", "begins with b''"),
        (struct.pack("<4sii", b"PWAD", 9, 12), "damaged"),
        (struct.pack("<4sii", b"PWAD", -1, -1), "damaged"),
        (b"PK\3\4", "damaged"),
    ],
)
def test_what_is_no_wad_is_refused(content: bytes, found: str, tmp_path: Path) -> None:
    (tmp_path / "own.wad").write_bytes(content)
    said = refused(scenario="basic", wad=str(tmp_path / "own.wad"))
    assert f"wad = '{tmp_path / 'own.wad'}': " in said and found in said and "IWAD or PWAD" in said
    said = refused(scenario=own_cfg(tmp_path, "doom_scenario_path = own.wad"))
    assert f"the WAD of its .cfg file, {tmp_path / 'own.wad'}: " in said and found in said


def test_maps_of_a_pk3_count(tmp_path: Path) -> None:
    wads = {
        name: (known().scenarios / f"{name}.wad").read_bytes()
        for name in ("basic", "deadly_corridor")
    }
    with zipfile.ZipFile(tmp_path / "own.pk3", "w") as pk3:
        pk3.writestr("maps/Arena.wad", wads["basic"])
        pk3.writestr("corridor.wad", wads["deadly_corridor"])
    wad = str(tmp_path / "own.pk3")
    assert "own.pk3 has no such map; it has ARENA, MAP01" in refused(
        scenario="basic", wad=wad, map="map77"
    )
    assert first_x(scenario="basic", wad=wad, map="arena") == first_x(scenario="basic")
    assert first_x(scenario="basic", wad=wad) == first_x(scenario="deadly_corridor")


def test_a_wad_without_maps_may_go_with_maps_of_the_game_only(tmp_path: Path) -> None:
    wad = str(wad_of(tmp_path / "sounds.wad", [("DSPISTOL", b"")]))
    make(scenario="freedoom2", wad=wad, map="map07").close()
    assert (
        "sounds.wad has no such map; it has none; freedoom2.wad has a MAP01, which is "
        "another game than this scenario"
    ) in refused(wad=wad)
