"""Programs at the tables: their observations, their actions, the cost of faults, and their end."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from arena.guests.player import GuestError
from pbt.envs.actions import GamePacking
from pbt.envs.registry import spec
from tests.arena.guests.guest_match import LOWEST, Played, acting, play, program, running

ROOT = Path(__file__).resolve().parents[3]


def moves_of(played: Played, guest: int) -> list[list[int]]:
    """By game: the guest's actions after the random opening."""
    packing = GamePacking.of(spec("connect_four").make())
    found = []
    for index, end in enumerate(played.ends):
        assert end.actions is not None
        seat = (guest + index) % 2
        moves = packing.unpack(end.actions)[end.plan.opening_plies :]
        found.append([action for mover, (action,) in moves if mover == seat])
    return found


def test_a_program_plays_whole_games_by_what_it_says(tmp_path: Path) -> None:
    played = play(["oneply", program(tmp_path, LOWEST)], 20)
    assert set(played.reasons) == {"rules"}
    assert all(
        end.seats[(1 + index) % 2].player.kind == "guest" for index, end in enumerate(played.ends)
    )
    assert sum(len(moves) for moves in moves_of(played, 1)) > 50
    # Column 0 until it is full, then column 1: never a column above another one that has room.
    assert all(moves == sorted(moves) for moves in moves_of(played, 1))
    assert not running(str(tmp_path))


def check_shown(message: dict[str, Any]) -> None:
    """A question shows the board of connect four, and which columns have room."""
    pieces = [[own + 2 * other for own, other in row] for row in message["observation"]]
    free = [column for column in range(7) if pieces[0][column] == 0]
    assert message["legal"] == free
    assert message["mask"] == [int(column in free) for column in range(7)]


def test_it_is_shown_the_board_the_mask_and_the_legal_columns_and_told_of_each_game(
    tmp_path: Path,
) -> None:
    log = tmp_path / "log"
    keep = f"open({str(log)!r}, 'a').write(text); "
    text = LOWEST.replace("message = json.loads(text)", f"{keep}message = json.loads(text)")
    played = play(["oneply", program(tmp_path, text)], 4, tables=1)
    said = [json.loads(text) for text in log.read_text().splitlines()]
    assert said[0] == {
        "type": "hello",
        "protocol": 1,
        "env": "connect_four",
        "env_options": {},
        "role": "player",
        "seats": 2,
        "choices": [7],
        "numbers": [],
        "move_timeout_s": 5.0,
        "observation": {"observation": {"shape": [6, 7, 2], "dtype": "int8"}},
    }
    starts = [message for message in said if message["type"] == "game_start"]
    assert [(start["game"], start["seat"], start["seat_name"]) for start in starts] == [
        (0, 1, "player_1"),
        (1, 0, "player_0"),
    ] * 2 or [(start["game"], start["seat"]) for start in starts] == [
        (index, (1 + index) % 2) for index in range(4)
    ]
    assert len({start["seed"] for start in starts}) == 4 and not {
        start["seed"] for start in starts
    } & {end.plan.seed for end in played.ends}
    ends = [message for message in said if message["type"] == "game_end"]
    for index, (told, end) in enumerate(zip(ends, played.ends, strict=True)):
        own = end.seats[(1 + index) % 2]
        assert told == {
            "type": "game_end",
            "place": own.place,
            "places": [0, 1] if own.place == (1 + index) % 2 else [1, 0],
            "return": own.returns,
            "reason": "rules",
        }
    for message in said:
        if message["type"] == "act":
            check_shown(message)


def test_equal_seeds_give_equal_games_and_guests_can_meet_each_other(tmp_path: Path) -> None:
    act = (
        'rng = __import__("random").Random(message["move"] * 7919 + '
        'len(message["legal"])); answer(action=rng.choice(message["legal"]))'
    )
    players = [acting(tmp_path, act, "a.py"), program(tmp_path, LOWEST, "b.py")]
    once, again = (play(players, 6, tables=tables) for tables in (3, 1))
    assert [end.trajectory_hash for end in once.ends] == [end.trajectory_hash for end in again.ends]


def test_several_choices_and_several_roles_are_lists(tmp_path: Path) -> None:
    act = (
        'legal = message["legal"]; answer(action=[part[0] for part in legal] if '
        "isinstance(legal[0], list) else legal[0])"
    )
    played = play([acting(tmp_path, act), "random"], 6, "hide_and_seek")
    assert set(played.reasons) == {"rules"}


# --- faults ---------------------------------------------------------------------------------------

# what it does once -> what the game's end says
FAULTS = {
    "junk": (
        "print('hm', flush=True)",
        (
            r"said 'hm'; expected one line with \{\"action\": N\}, where N is one of 0, 1, 2, 3, "
            r"4, 5, 6"
        ),
    ),
    "illegal": ("answer(action=7)", r"7 is not legal; expected .*one of 0, 1, 2, 3, 4, 5, 6"),
    "flood": (
        "[sys.stdout.write('x' * 10000) for _ in iter(int, 1)]",
        "without an end; expected a line of at most 65536 bytes",
    ),
    "exit": ("sys.exit(3)", "ended with exit code 3; expected an answer"),
    "killed": ("os.kill(os.getpid(), 9)", "was killed by SIGKILL; expected an answer"),
    "closed": ("os.close(1); time.sleep(60)", "closed its output; expected an answer"),
    "half a line, then silence": (
        "sys.stdout.write('{\"action\"'); sys.stdout.flush(); time.sleep(60)",
        r"gave no answer for 0\.3 s; expected one line",
    ),
    "noise on stderr": (
        "[sys.stderr.write('x' * 10000) for _ in iter(int, 1)]",
        r"gave no answer for 0\.3 s",
    ),
}


@pytest.mark.parametrize(("act", "reason"), FAULTS.values(), ids=FAULTS.keys())
def test_a_fault_loses_the_game_and_the_next_one_is_played(
    tmp_path: Path, act: str, reason: str
) -> None:
    """The fault happens only in the third move of the first game."""
    bot = acting(
        tmp_path,
        (
            'if game or message["move"] != 2:\n            answer(action=message["legal"][0])\n '
            f"       else:\n            {act}"
        ),
    )
    played = play(["random", bot], 2, tables=1, timeout_s=0.3)
    assert re.match(
        rf"forfeit: guest bot\.py, game 0, seat 1 \(player_1\), move 2: .*{reason}",
        played.reasons[0],
    ), played.reasons
    assert [seat.place for seat in played.ends[0].seats] == [0, 1]
    assert played.reasons[1] == "rules"
    assert played.seconds < 8
    assert not running(str(tmp_path))


def test_speaking_out_of_turn_is_a_fault(tmp_path: Path) -> None:
    """Both lines are written at once, so both are there when the next question is asked."""
    act = (
        'said = json.dumps({"action": message["legal"][0]}) + "\\n"; os.write(1, (said * '
        '(2 if message["move"] == 1 else 1)).encode())'
    )
    played = play(["random", acting(tmp_path, act)], 1)
    assert "without being asked; expected exactly one line for each question" in played.reasons[0]


def test_in_a_larger_game_a_guest_that_forfeits_is_last(tmp_path: Path) -> None:
    env = tmp_path / "three.py"
    env.write_text(
        "from pbt.envs.registry import spec\ndef make():\n    return "
        'spec("openspiel:kuhn_poker").make(players=3)\n'
    )
    played = play(["random", acting(tmp_path, "answer(action=9)")], 2, f"{env}:make", tables=1)
    # The guest's seat: 1 in the first game, 0 and 2 in the second. After two random moves, seat 2
    # is the first to choose.
    assert [[seat.place for seat in end.seats] for end in played.ends] == [[0, 2, 0], [0, 0, 2]]


def test_one_that_keeps_forfeiting_ends_the_match_with_its_last_words(tmp_path: Path) -> None:
    bot = acting(tmp_path, "sys.exit(f\"I cannot play move {message['move']}\")")
    with pytest.raises(
        GuestError,
        match=(
            r"(?s)move 0: ended with exit code 1.*last words on stderr:\n    I cannot play "
            r"move 0\nThat is 3 forfeited games"
        ),
    ):
        play(["random", bot], 10, tables=1)
    assert not running(str(tmp_path))


STARTS = {
    "ends at once": (
        "import sys; sys.exit('no module named bot')",
        r"did not start: ended with exit code 1.*\n    no module named bot",
    ),
    "no protocol": (
        "input(); print('{}', flush=True); input()",
        (
            r"did not start: said '\{\}'; expected one line with \{\"protocol\": 1\} in answer "
            r"to hello"
        ),
    ),
    "another protocol": (
        "input(); print('{\"protocol\": 2}', flush=True); input()",
        r"did not start: said .*2\}'; expected one line with \{\"protocol\": 1\}",
    ),
    "talks first": ("print('hello!', flush=True); input()", r"did not start: said 'hello!'"),
}


@pytest.mark.parametrize(("text", "message"), STARTS.values(), ids=STARTS.keys())
def test_one_that_does_not_start_ends_the_match(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(GuestError, match=f"(?s){message}"):
        play(["random", program(tmp_path, text)], 4)
    assert not running(str(tmp_path))


def test_a_script_without_an_interpreter_is_explained(tmp_path: Path) -> None:
    bot = program(tmp_path, "")
    Path(bot.removeprefix("exec:")).write_text("print('hello')\n")
    with pytest.raises(
        GuestError,
        match=(
            r"(?s)exit code 126.*Exec format error; a script's first line must name its "
            r"interpreter"
        ),
    ):
        play(["random", bot], 1)


# --- nothing is left behind -----------------------------------------------------------------------

# It starts a process that leaves its group and its parent.
PARENTAL = f"""
import os, subprocess, sys
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.execv(sys.executable, [sys.executable, "-c", "import time; time.sleep(300)", __file__])
    os._exit(0)
{LOWEST}
"""
MATCH = """
import sys
from tests.arena.guests.guest_match import play
print("begun", flush=True)
play(["random", sys.argv[1]], 100_000, tables=2)
"""


def gone(marker: str) -> bool:
    """Whether the processes end within five seconds."""
    until_s = time.monotonic() + 5
    while running(marker) and time.monotonic() < until_s:
        time.sleep(0.02)
    return not running(marker)


BARE = """
import sys, time
from arena.guests.process import GuestProcess, Question, ask_all
from arena.guests.program import find_program
processes = [GuestProcess(find_program(sys.argv[1])) for _ in range(2)]
hello = b'{"type": "hello"}\\n'
print(ask_all([Question(process, hello, 20.0) for process in processes]), flush=True)
time.sleep(300)
"""


def dies_with_all(code: str, bot: str, number: signal.Signals, processes: int) -> None:
    marker = str(Path(bot.removeprefix("exec:")).parent)
    match = subprocess.Popen(
        [sys.executable, "-c", code, bot],
        cwd=ROOT,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        until_s = time.monotonic() + 20
        while len(found := running(marker)) < processes and time.monotonic() < until_s:
            time.sleep(0.02)
        assert len(found) >= processes
        match.send_signal(number)
        match.wait(10)
        assert gone(marker)
    finally:
        if match.poll() is None:
            os.killpg(match.pid, signal.SIGKILL)
            match.wait()


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_no_process_stays_when_the_asking_one_ends(tmp_path: Path, number: signal.Signals) -> None:
    """Seven processes end: the asking one, two launchers, two programs, two of their children."""
    dies_with_all(BARE, program(tmp_path, PARENTAL), number, 7)


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_no_process_stays_when_the_match_ends(tmp_path: Path, number: signal.Signals) -> None:
    dies_with_all(MATCH, program(tmp_path, PARENTAL), number, 7)


def test_one_that_does_not_leave_when_its_input_ends_is_ended_with_its_children(
    tmp_path: Path,
) -> None:
    text = PARENTAL + "\nimport time\nwhile True: time.sleep(1)\n"
    played = play(["random", program(tmp_path, text)], 2, tables=1)
    assert played.reasons == ["rules", "rules"]
    assert gone(str(tmp_path))
