"""Telemetry comes back as CSV, torn ends are cut, and a run ends with lines that sum it up."""

import csv
import io
import json
from dataclasses import replace
from pathlib import Path

import pytest

from arena.data.status import RowCounts
from arena.data.telemetry import (
    TELEMETRY_FILE,
    TelemetryWriter,
    shares_text,
    stage_seconds,
    telemetry_csv,
    telemetry_lines,
    telemetry_point,
)
from tests.arena.sample_status import STATUS


def table(folder: Path) -> list[dict[str, str]]:
    out = io.StringIO()
    count = telemetry_csv(folder, out)
    rows = list(csv.DictReader(io.StringIO(out.getvalue())))
    assert len(rows) == count
    return rows


def test_a_point_sums_over_processes_of_a_kind() -> None:
    point = telemetry_point(STATUS)
    assert (
        point["worker.processes"] == 2
        and point["worker.rate"] == 1000.0
        and point["worker.simulate_s"] == 55.0
    )
    assert point["server+learner.queue"] == 3 and point["server+learner.learn_s"] == 20.0
    assert (
        point["restarts"],
        point["frames"],
        point["elapsed_s"],
        point["dropped.generation"],
    ) == (1, 900, 60.0, 40)


def test_points_come_back_in_order_with_a_column_for_every_name(tmp_path: Path) -> None:
    with TelemetryWriter(tmp_path / "metrics", 1) as telemetry:
        telemetry.point(STATUS)
        assert len(table(tmp_path / "metrics")) == 1, "readable at once"
    with TelemetryWriter(tmp_path / "metrics", 2) as telemetry:
        telemetry.point(
            replace(STATUS, processes=STATUS.processes[:1], rows=RowCounts(2, 1, 0, {"voided": 1}))
        )
    first, second = table(tmp_path / "metrics")
    assert (first["incarnation"], first["dropped.generation"], first["dropped.voided"]) == (
        "1",
        "40",
        "",
    )
    assert (second["incarnation"], second["rows_produced"], second["worker.simulate_s"]) == (
        "2",
        "2",
        "",
    )


def test_no_file_is_an_empty_table(tmp_path: Path) -> None:
    assert table(tmp_path) == []


@pytest.mark.parametrize("torn", [b'{"incarnation":1,"t"', b"\x00" * 5000, b'{"incarnation":1'])
def test_a_torn_end_is_cut_at_the_next_start(tmp_path: Path, torn: bytes) -> None:
    with TelemetryWriter(tmp_path, 1) as telemetry:
        telemetry.point(STATUS)
    with (tmp_path / TELEMETRY_FILE).open("ab") as file:
        file.write(torn)
    assert len(table(tmp_path)) == 1
    with TelemetryWriter(tmp_path, 2) as telemetry:
        telemetry.point(STATUS)
    assert [row["incarnation"] for row in table(tmp_path)] == ["1", "2"]


def test_a_disk_that_takes_half_a_line_leaves_none(tmp_path: Path) -> None:
    class Half:
        def __init__(self, file: io.FileIO) -> None:
            self._file = file

        def write(self, content: bytes) -> int:
            self._file.write(content[: len(content) // 2])
            raise OSError(28, "No space left on device")

        def __getattr__(self, name: str) -> object:
            return getattr(self._file, name)

    with TelemetryWriter(tmp_path, 1) as telemetry:
        telemetry.point(STATUS)
        whole = telemetry._file
        telemetry._file = Half(whole)  # type: ignore[assignment]
        with pytest.raises(OSError, match="No space left"):
            telemetry.point(STATUS)
        telemetry._file = whole
        telemetry.point(STATUS)
    lines = (tmp_path / TELEMETRY_FILE).read_text().splitlines()
    assert [json.loads(line)["incarnation"] for line in lines] == [1, 1]


def test_the_last_words() -> None:
    rows, *kinds = telemetry_lines(STATUS)
    assert rows == "rows: 1,000 produced, 900 trained, 60 standing; dropped: 40 generation"
    assert kinds[1] == "2 x worker: simulating 69 %, waiting 31 %; restarts: 1"
    assert kinds[2] == "1 x server+learner: inferring 50 %, learning 50 %; 3 waiting"
    assert telemetry_lines(replace(STATUS, rows=RowCounts(0, 0, 0, {})))[0].endswith(
        "dropped: none"
    )


def test_stages_stand_in_one_order_and_unknown_ones_last() -> None:
    row = replace(STATUS.processes[0], stage_s={"nap": 1.0, "wait": 1.0, "simulate": 2.0})
    assert list(stage_seconds([row])) == ["simulate", "wait", "nap"]
    assert shares_text({"nap": 1.0, "wait": 3.0}) == "nap 25 %, waiting 75 %"
    assert shares_text({}) == "no time accounted"
