"""What other processes do, seen from the main one."""

import pytest

from pbt.errors import EngineError
from pbt.transport.memory import Region
from pbt.transport.process_board import COLUMNS, PHASES, ProcessBoard, board_bytes
from tests.pbt.transport.programs import heard, start, tell


def test_rows_are_zero_at_first_apart_and_add_up() -> None:
    board = ProcessBoard(3)
    assert all(set(board.row(process).read().values()) == {0.0} for process in range(3))
    row = board.row(1)
    for column in COLUMNS[4:]:
        row.add(column, 2)
        row.add(column, 0.5)
    row.set("produced", 7)
    facts = row.read()
    assert tuple(facts) == COLUMNS
    assert {facts[column] for column in COLUMNS[4:]} == {2.5, 7.0}
    assert set(board.row(0).read().values()) == set(board.row(2).read().values()) == {0.0}
    row.clear()
    assert set(row.read().values()) == {0.0}


def test_a_phase_has_a_name_a_start_and_a_detail() -> None:
    row = ProcessBoard(1).row(0)
    assert row.phase == "starting"
    before = 0.0
    for phase in PHASES:
        row.enter(phase, 3)
        facts = row.read()
        assert (row.phase, PHASES[int(facts["phase"])], facts["detail"]) == (phase, phase, 3)
        assert facts["phase_since_s"] == facts["beat_s"] > before
        before = facts["beat_s"]
    row.beat()
    assert row.read()["beat_s"] > before == row.read()["phase_since_s"]
    row.enter("waiting")
    assert row.read()["detail"] == -1
    with pytest.raises(KeyError):
        row.enter("dreaming")


def test_the_main_process_sees_where_another_one_hangs_and_what_it_had_done() -> None:
    region = Region.create("board", board_bytes(3))
    board = ProcessBoard(3, region)
    with start(
        "stay_in_a_game", [region.fd], fd=region.fd, size=region.size, processes=3, process=2
    ) as process:
        assert heard(process) == "ready"
        row = board.row(2)
        first = row.read()
        assert (row.phase, first["detail"], first["trained"], first["simulate_s"]) == (
            "game",
            5,
            12,
            0.75,
        )
        assert row.read() == first
        tell(process)
        seen, times = set(), []
        while len(times) < 2000 or len(seen) < 2:
            facts = row.read()
            if facts["phase_since_s"] != first["phase_since_s"]:
                seen.add(PHASES[int(facts["phase"])])
                times.append(facts["phase_since_s"])
        assert times == sorted(times)
        assert seen == {"waiting", "game"}
        process.kill()
        process.wait()
    last = row.read()
    assert row.read() == last
    assert last["trained"] == 12
    assert set(board.row(0).read().values()) == set(board.row(1).read().values()) == {0.0}


def test_a_region_that_is_too_small_is_refused() -> None:
    with pytest.raises(EngineError, match="were asked of shared memory"):
        ProcessBoard(4, Region.create("board", board_bytes(3)))
