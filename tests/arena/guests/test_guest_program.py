"""`exec:...` as a player's name: which program it means, and its name in the league."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from arena.guests.player import GuestError
from arena.guests.program import find_program
from arena.matches.report import resume_command
from arena.players.load import load_player
from arena.players.resolve import resolve_players
from pbt.errors import PlayerError
from pbt.records import PlayerRef
from tests.arena.guests.guest_match import LOWEST, acting, program, running

BOARD = np.zeros((6, 7, 2), np.int8)


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    program(tmp_path, LOWEST)


def test_a_program_is_known_by_its_call_and_the_content_of_its_files(tmp_path: Path) -> None:
    first = find_program("exec:./bot.py --depth 3")
    assert first.command == (str(tmp_path / "bot.py"), "--depth", "3")
    assert first.label == "bot.py --depth 3"
    assert (
        first.name.startswith("bot.py --depth 3 #")
        and len(first.name) == len("bot.py --depth 3 #") + 12
    )
    (tmp_path / "elsewhere").mkdir()
    shutil.copy("bot.py", "elsewhere")
    assert find_program("exec:./elsewhere/bot.py '--depth' 3").name == first.name
    assert find_program("exec:./bot.py --depth 4").name != first.name
    with open("bot.py", "a", encoding="utf-8") as file:
        file.write("# stronger\n")
    assert find_program("exec:./bot.py --depth 3").name != first.name


def test_files_among_the_arguments_are_part_of_it() -> None:
    call = f"exec:{sys.executable} ./bot.py weights"
    Path("weights").write_text("1")
    once = find_program(call)
    assert once.label == f"{Path(sys.executable).name} bot.py weights"
    Path("weights").write_text("2")
    assert find_program(call).name != once.name


def test_what_would_move_the_cursor_is_shown_as_its_escape(tmp_path: Path) -> None:
    bot = program(tmp_path, LOWEST, "\x1b[31mred\nline.py")
    found = find_program("exec:'./\x1b[31mred\nline.py'")
    assert found.label == r"\x1b[31mred\nline.py" and found.name.startswith(found.label)
    _, (player,) = resolve_players(
        [f"exec:'{bot.removeprefix('exec:')}'"], Path("none"), "connect_four", allow_files=True
    )
    command = resume_command(7, (player,))
    assert command.isprintable()
    typed = subprocess.run(
        [
            "bash",
            "-c",
            f"printf %s {command.removeprefix('arena match ').partition(' --resume')[0]}",
        ],
        capture_output=True,
        text=True,
    )
    assert find_program(typed.stdout) == found
    with pytest.raises(PlayerError) as raised:
        find_program("exec:'./no\x1b[31mfile'")
    assert str(raised.value).isprintable()


def test_the_last_words_cannot_move_the_cursor(tmp_path: Path) -> None:
    bot = program(tmp_path, r"import sys; sys.exit('\x1b[31mred\tand \x07')")
    with (
        load_player(bot, env="connect_four", allow_files=True) as player,
        pytest.raises(GuestError, match=r"\n    \\x1b\[31mred +and \\x07"),
    ):
        player.act(BOARD)


def test_a_guest_called_like_another_player_is_told_apart_by_its_hash(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    named_random, other = (
        program(tmp_path, LOWEST, "random"),
        program(tmp_path / "other", f"# {LOWEST}"),
    )
    names = [named_random, "random", "exec:./bot.py", other]
    _, players = resolve_players(names, Path("none"), "connect_four", allow_files=True)
    assert players[1].label == "random"
    assert [players[index].label for index in (0, 2, 3)] == [
        find_program(names[index]).name for index in (0, 2, 3)
    ]
    _, same = resolve_players(
        ["exec:./bot.py", f"exec:{tmp_path}/bot.py"], Path("none"), "connect_four", allow_files=True
    )
    assert [player.label for player in same] == ["bot.py", "bot.py"]


def test_a_guest_plays_the_game_of_the_others_and_any_role() -> None:
    _, (player,) = resolve_players(
        ["exec:./bot.py"], Path("none"), "connect_four", allow_files=True, move_timeout_s=2.5
    )
    assert player.ref == PlayerRef("guest", find_program("exec:./bot.py").name)
    assert (player.label, player.env_name, player.plays("anything")) == (
        "bot.py",
        "connect_four",
        True,
    )
    assert player.program is not None and player.program.move_timeout_s == 2.5


BAD_NAMES = {
    "nothing": ("exec:", "names no program; expected exec:./bot.py"),
    "missing": (
        "exec:./bat.py",
        r"no file /.*/bat\.py; paths are relative to the working directory",
    ),
    "folder": ("exec:./folder", "no file /.*/folder"),
    "not executable": (
        "exec:./plain.py",
        (
            r"plain\.py is not executable; `chmod \+x \./plain\.py`, or name its interpreter: "
            r"exec:'python3 \./plain\.py'"
        ),
    ),
    "not on the path": (
        "exec:no-such-bot",
        "no program 'no-such-bot' on the PATH; expected a path such as ./bot.py",
    ),
    "without ./": (
        "exec:bot.py",
        r"no program 'bot\.py' on the PATH; did you mean exec:\./bot\.py\?",
    ),
    "a shell's business": (
        "exec:./bot.py | tee log",
        r"\| needs a shell, but the program is run without one; .*put the rest into a script",
    ),
    "quotes": ("exec:'./bot.py", "No closing quotation; expected exec:./bot.py, or"),
}


@pytest.mark.parametrize(("name", "message"), BAD_NAMES.values(), ids=BAD_NAMES.keys())
def test_wrong_names_get_one_line_that_helps(name: str, message: str) -> None:
    Path("folder").mkdir()
    Path("plain.py").write_text("")
    with pytest.raises(PlayerError, match=message) as raised:
        resolve_players([name], Path("none"), "connect_four", allow_files=True)
    assert "\n" not in str(raised.value)


def test_programs_are_for_the_local_command_line_only() -> None:
    with pytest.raises(PlayerError, match="only the local command line runs programs"):
        resolve_players(["exec:./bot.py"], Path("none"), "connect_four")


def test_a_guest_can_be_taken_elsewhere(tmp_path: Path) -> None:
    text = f"import os; print(os.getpid(), file=open({str(tmp_path / 'pids')!r}, 'a'))\n{LOWEST}"
    with load_player(program(tmp_path, text), env="connect_four", allow_files=True) as player:
        assert player.act(BOARD) == 0
        assert player.act(BOARD, [0, 0, 1, 1, 1, 1, 1]) == 2
        player.reset()
        player.reset()
        assert player.act(BOARD) == 0
        pids = (tmp_path / "pids").read_text().split()
        assert len(pids) == 1 and running("bot.py")
    assert not running(str(tmp_path)) and not os.path.exists(f"/proc/{pids[0]}")


def test_taken_elsewhere_a_fault_is_an_error(tmp_path: Path) -> None:
    player = load_player(acting(tmp_path, "answer(action=9)"), env="connect_four", allow_files=True)
    with pytest.raises(GuestError, match="game 0, seat 0 .*9 is not legal"):
        player.act(BOARD)
    player.close()
