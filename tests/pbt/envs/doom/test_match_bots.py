"""The bots of a match: what engines read of them, and whom they then seat."""

import os
from pathlib import Path

from pbt.envs.doom.match_bots import MatchBots
from pbt.envs.doom.match_memory import MatchMemory
from pbt.envs.doom.match_options import MatchOptions
from pbt.envs.doom.match_process import Engines


def text(bots: MatchBots) -> str:
    assert bots.file is not None
    size = os.fstat(bots.file).st_size
    found = os.pread(bots.file, size, 0).decode()
    os.close(bots.file)
    return found


def test_bots_of_one_skill_are_described_as_ever() -> None:
    bots = MatchBots(MatchOptions(players=1, bots=2, bot_skill=30))
    skill = "aiming 30 perfection 30 reaction 30 isp 30"
    assert text(bots) == "".join(
        f'{{ name Bot{number} {skill} color "40 cf 00" skin base }}\n' for number in (1, 2)
    )
    assert list(bots.commands()) == ["removebots", "addbot", "addbot"]
    assert MatchBots(MatchOptions(players=1, bots=1)).file is None
    assert MatchBots(MatchOptions(bots=0, bot_skill=30)).commands() == ()


def test_a_curriculum_describes_bots_of_every_skill_and_of_the_fixed_one() -> None:
    bots = MatchBots(MatchOptions(players=1, bots=2, bot_skill=55, bot_curriculum=True))
    for skill in (30, 10):
        bots.add(skill)
    assert list(bots.commands()) == ["removebots", "addbot Bot1of30", "addbot Bot2of10"]
    assert list(bots.commands()) == ["removebots", "addbot Bot1of55", "addbot Bot2of55"]
    lines = text(bots).splitlines()
    assert len(lines) == 11 * 2
    assert "{ name Bot2of100 aiming 100 perfection 100 reaction 100 isp 100" in lines[-1]


def test_an_engine_seats_the_bots_of_each_game(tmp_path: Path) -> None:
    options = MatchOptions(scenario="cig", players=1, bots=2, bot_skill=55, bot_curriculum=True)
    descriptor = os.memfd_create("test")
    memory = MatchMemory(
        descriptor, 1, len(options.button_names), 1, (options.height, options.width)
    )
    os.close(descriptor)
    errors: list[BaseException] = []
    engines = Engines(options, memory, ["PLAYER_COUNT"], errors.append)  # type: ignore[arg-type]
    engines.start(1, tmp_path, None)
    [game] = engines._games
    try:
        for skills in ([30, 80], [80, 80], [], [10, 100]):
            for skill in skills:
                engines.bots.add(skill)
            engines.new_game(10)
            names = list(game.get_server_state().players_names)[: options.bots + 1]
            first, second = skills or (55, 55)
            assert sorted(names) == [f"Bot1of{first}", f"Bot2of{second}", "P1"]
    finally:
        game.close()
        engines._port.close()
    assert engines.bots.file is not None
    os.close(engines.bots.file)
    assert errors == []
