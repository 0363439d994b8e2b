"""Programs as players, as typed: in a match, its report, the league, a resumed match."""

import json
from pathlib import Path
from typing import Any

import pytest

from arena.cli.app import run
from tests.arena.guests.guest_match import LOWEST, acting, program, running

Output = pytest.CaptureFixture[str]
GAME = ("--env", "connect_four")


def report_of(capsys: Output) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(capsys.readouterr().out.splitlines()[-1])
    return found


def test_a_guest_is_rated_like_everyone_and_marked(tmp_path: Path, capsys: Output) -> None:
    data = ["--data", str(tmp_path / "data")]
    bot = program(tmp_path, LOWEST)
    assert run(["match", "oneply", bot, *GAME, "--games", "40", *data, "--json"]) == 0
    report = report_of(capsys)
    assert (report["b"]["kind"], report["b"]["name"], report["forfeits"]) == ("guest", "bot.py", 0)
    assert report["b"]["id"].startswith("bot.py #")
    assert report["score"] > 0.8
    assert run(["league", *GAME, *data]) == 0
    (row,) = [line for line in capsys.readouterr().out.splitlines() if "  guest  " in line]
    assert report["b"]["id"] in row and " 40 " in row


def test_a_forfeited_game_is_lost_and_told_of(tmp_path: Path, capsys: Output) -> None:
    bot = acting(tmp_path, "answer(action=99 if game == 3 else message['legal'][0])")
    assert run(["match", bot, "random", *GAME, "--games", "8", "--no-record", "--json"]) == 0
    report = report_of(capsys)
    assert (
        report["forfeits"] == 1
        and report["errors"] == 0
        and report["wins"] + report["draws"] + report["losses"] == 8
    )
    assert report["losses"] >= 1
    (note,) = [note for note in report["notes"] if "forfeit" in note]
    assert (
        note.startswith("forfeited games count as lost; first: guest bot.py, game 3, seat ")
        and '99 is not legal; expected {"action": N}, where N is one of 0, 1' in note
    )


def test_a_match_that_failed_for_a_guest_is_passed_over_and_goes_on_by_its_number(
    tmp_path: Path, capsys: Output
) -> None:
    data, well = ["--data", str(tmp_path / "data")], tmp_path / "well"
    bot = acting(
        tmp_path,
        (
            f"answer(action=message['legal'][0]) if game < 6 or os.path.exists({str(well)!r}) "
            "else sys.exit('unwell')"
        ),
    )
    assert run(["match", "oneply", bot, *GAME, "--games", "20", *data]) == 3
    said = capsys.readouterr().err
    assert (
        f"to resume it later: arena match oneply {bot} --resume 1 --data" in said
        and "That is 3 forfeited games in a row" in said
    )
    well.touch()
    assert run(["match", "oneply", bot, "--resume", "last", *data]) == 2
    assert (
        "match 1 failed (guest bot.py, game " in (said := capsys.readouterr().err)
        and "resume a failed one with --resume NUMBER" in said
    )
    assert run(["match", "--resume", "1", *data]) == 2
    assert (
        "name its players again: arena match oneply exec:PROGRAM --resume 1"
        in capsys.readouterr().err
    )
    assert run(["match", "oneply", bot, "--resume", "1", *data, "--json"]) == 0
    assert report_of(capsys)["games"] == 20
    assert not running(str(tmp_path / "bot.py"))


@pytest.mark.parametrize("command", [["match", "random"], ["evaluate"]])
def test_the_time_for_a_move_is_an_option(
    tmp_path: Path, capsys: Output, command: list[str]
) -> None:
    bot = acting(tmp_path, "time.sleep(60)")
    assert (
        run([*command, bot, *GAME, "--move-timeout", "0.2", "--data", str(tmp_path / "data")]) == 3
    )
    assert "gave no answer for 0.2 s; expected one line within that time" in capsys.readouterr().err


def test_a_return_needs_a_whole_episode(tmp_path: Path, capsys: Output) -> None:
    bot = acting(tmp_path, "answer(action=9 if game == 0 else 0)")
    assert run(["evaluate", bot, "--env", "cartpole", "--episodes", "5"]) == 3
    assert (
        '9 is not legal; expected {"action": N}, where N is one of 0, 1; half an episode has '
        "no return"
    ) in capsys.readouterr().err
