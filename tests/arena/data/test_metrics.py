"""Training curves are read as written, torn ends are cut, and a resume supersedes later rows."""

import csv
import io
import json
import math
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arena.data.metrics import METRICS_FILE, MetricsRow, MetricsWriter, metrics_csv, read_metrics
from pbt.errors import PbtError


def writer(folder: Path, incarnation: int = 1) -> MetricsWriter:
    return MetricsWriter(folder, incarnation, tensorboard=False, clock=lambda: 1000.0 + incarnation)


def points(folder: Path) -> list[tuple[int, str, int]]:
    return [(row.incarnation, row.member, row.frames) for row in read_metrics(folder)]


def test_rows_come_back(tmp_path: Path) -> None:
    with writer(tmp_path / "new") as metrics:
        metrics.series("m0", 10, {"return": 1, "loss": 0.25})
        metrics.series("m1", 20, {"return": math.nan, "lag": math.inf})
        metrics.flush()
        expected = [
            MetricsRow(1, "m0", 10, 1001.0, {"return": 1.0, "loss": 0.25}),
            MetricsRow(1, "m1", 20, 1001.0, {"return": None, "lag": None}),
        ]
        assert list(read_metrics(tmp_path / "new")) == expected
    assert list(read_metrics(tmp_path / "new", members=["m1"])) == expected[1:]
    assert list(read_metrics(tmp_path / "absent")) == []


def test_names_of_the_format_are_refused(tmp_path: Path) -> None:
    with (
        writer(tmp_path) as metrics,
        pytest.raises(PbtError, match=r"\['frames'\] belong to the file format"),
    ):
        metrics.series("m0", 10, {"frames": 1.0})
    assert points(tmp_path) == []


@pytest.mark.parametrize("kept_lines", [0, 1, 3])
@pytest.mark.parametrize(
    "torn",
    [
        b"",
        b'{"incarnation":1,"mem',
        b'{"incarnation":1}x\n',
        b"\x00" * 200_000,
        b'[1]\n{"a"',
        b'{"a":1}',
    ],
)
def test_a_torn_end_is_passed_over_and_cut_on_reopening(
    tmp_path: Path, kept_lines: int, torn: bytes
) -> None:
    with writer(tmp_path) as metrics:
        for frames in range(kept_lines):
            metrics.series("m0", frames, {"loss": 1.0})
    path = tmp_path / METRICS_FILE
    whole = path.read_bytes()
    path.write_bytes(whole + torn)
    if b"\n" not in torn:
        assert len(points(tmp_path)) == kept_lines
    writer(tmp_path, 2).close()
    assert path.read_bytes() == whole


def test_every_cut_of_the_file_is_readable(tmp_path: Path) -> None:
    with writer(tmp_path) as metrics:
        for frames in range(5):
            metrics.series("m0", frames, {"loss": frames / 3})
    content = (tmp_path / METRICS_FILE).read_bytes()
    for length in range(len(content) + 1):
        (tmp_path / METRICS_FILE).write_bytes(content[:length])
        assert points(tmp_path) == [
            (1, "m0", frames) for frames in range(content[:length].count(b"\n"))
        ]


def test_damage_in_the_middle_is_named(tmp_path: Path) -> None:
    (tmp_path / METRICS_FILE).write_bytes(
        b'{"member": broken}\n{"incarnation":1,"member":"m0","frames":1,"t":1}\n'
    )
    with pytest.raises(PbtError, match="line 1: found .* delete that line"):
        points(tmp_path)


def test_a_killed_writer_keeps_what_it_flushed(tmp_path: Path) -> None:
    script = (
        "import os, signal, sys; from pathlib import Path; from arena.data.metrics import "
        "MetricsWriter\n"
        "metrics = MetricsWriter(Path(sys.argv[1]), 1)\n"
        "for frames in range(3):\n    metrics.series('m0', frames, {'loss': 1.0})\n"
        "metrics.flush(); metrics.series('m0', 9, {'loss': 1.0}); os.kill(os.getpid(), "
        "signal.SIGKILL)\n"
    )
    subprocess.run(
        [sys.executable, "-c", script, str(tmp_path)], cwd=Path(__file__).parents[3], timeout=60
    )
    assert points(tmp_path) == [(1, "m0", 0), (1, "m0", 1), (1, "m0", 2)]


def test_a_resume_supersedes_later_rows_of_earlier_incarnations(tmp_path: Path) -> None:
    with writer(tmp_path, 1) as metrics:
        for frames in (10, 20, 30):
            metrics.series("m0", frames, {"loss": 1.0})
            metrics.series("m1", frames + 1, {"loss": 1.0})
    with writer(tmp_path, 2) as metrics:
        metrics.resume({"m0": 20, "m1": 11})
        metrics.series("m0", 25, {"loss": 2.0})
        metrics.series("m1", 15, {"loss": 2.0})
    assert points(tmp_path) == [
        (1, "m0", 10),
        (1, "m1", 11),
        (1, "m0", 20),
        (2, "m0", 25),
        (2, "m1", 15),
    ]
    with writer(tmp_path, 3) as metrics:
        metrics.resume({"m0": 10, "m1": 15})
    assert points(tmp_path) == [(1, "m0", 10), (1, "m1", 11), (2, "m1", 15)]


@given(
    st.lists(
        st.one_of(st.tuples(st.sampled_from(["m0", "m1"]), st.integers(1, 9)), st.integers(0, 99)),
        max_size=40,
    )
)
def test_rows_are_those_of_the_training_that_counts(
    tmp_path_factory: pytest.TempPathFactory, story: list[tuple[str, int] | int]
) -> None:
    """The rows equal those of a log that is really rewound.

    An integer rewinds it to that percentage of each clock and starts the next incarnation.
    """
    folder = tmp_path_factory.mktemp("story")
    incarnation, clocks = 1, {"m0": 0, "m1": 0}
    log: list[tuple[int, str, int]] = []
    metrics = writer(folder, incarnation)
    for happening in story:
        if isinstance(happening, tuple):
            member, advance = happening
            clocks[member] += advance
            metrics.series(member, clocks[member], {"loss": 0.0})
            log.append((incarnation, member, clocks[member]))
            continue
        metrics.close()
        incarnation += 1
        clocks = {member: frames * happening // 100 for member, frames in clocks.items()}
        log = [row for row in log if row[2] <= clocks[row[1]]]
        metrics = writer(folder, incarnation)
        metrics.resume(clocks)
    metrics.close()
    assert points(folder) == log


def test_csv(tmp_path: Path) -> None:
    with writer(tmp_path) as metrics:
        metrics.series("m0", 10, {"loss": 0.5})
        metrics.series("m0", 20, {"return": 2.0, "loss": math.nan})
    out = io.StringIO()
    assert metrics_csv(tmp_path, out) == 2
    table = list(csv.reader(io.StringIO(out.getvalue())))
    assert table == [
        ["incarnation", "member", "frames", "t", "loss", "return"],
        ["1", "m0", "10", "1001.0", "0.5", ""],
        ["1", "m0", "20", "1001.0", "", "2.0"],
    ]


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_tensorboard_shows_the_same_curves(tmp_path: Path) -> None:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    for incarnation, clocks in ((1, (10, 20, 30)), (2, (25, 35))):
        with MetricsWriter(tmp_path, incarnation, clock=lambda: 1000.0) as metrics:
            if incarnation == 2:
                metrics.resume({"m0": 20})
            for frames in clocks:
                metrics.series("m0", frames, {"loss": frames / 2 + incarnation, "return": 1.0})
    events = EventAccumulator(str(tmp_path / "tensorboard" / "m0")).Reload()
    assert events.Tags()["scalars"] == ["loss", "return"]
    shown = [(event.step, event.value) for event in events.Scalars("loss")]
    assert shown == [(row.frames, row.values["loss"]) for row in read_metrics(tmp_path)]
    assert [step for step, _ in shown] == [10, 20, 25, 35]


@pytest.mark.parametrize(
    "module",
    [
        "arena.data.metrics",
        "pbt.population.pbt_decision",
        "pbt.population.scores",
        "pbt.matchmaking.seats",
    ],
)
def test_importing_needs_neither_torch_nor_tensorboard(module: str) -> None:
    script = (
        f"import {module}, sys, json; print(json.dumps(sorted({{'torch', "
        "'tensorboard'} & sys.modules.keys())))"
    )
    found = subprocess.run(
        [sys.executable, "-c", script],
        cwd=Path(__file__).parents[3],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert json.loads(found.stdout) == [], found.stderr
