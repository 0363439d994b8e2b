"""The curve cache reads only what was added and always equals the whole file."""

import math
import random
from collections import defaultdict
from pathlib import Path

import pytest

from arena.data.curves import CurveStore, Points, curves_stamp
from arena.data.metrics import METRICS_FILE, MetricsWriter, read_metrics
from pbt.errors import PbtError


def expected(folder: Path) -> dict[str, dict[str, list[tuple[int, float | None]]]]:
    found: dict[str, dict[str, list[tuple[int, float | None]]]] = defaultdict(
        lambda: defaultdict(list)
    )
    for row in read_metrics(folder):
        for key, value in row.values.items():
            found[row.member][key].append((row.frames, value))
    return {member: dict(named) for member, named in found.items()}


def plain(points: Points) -> list[tuple[int, float | None]]:
    values = [None if math.isnan(value) else value for value in points.values.tolist()]
    return list(zip(points.frames.tolist(), values, strict=True))


def held(store: CurveStore, folder: Path) -> dict[str, dict[str, list[tuple[int, float | None]]]]:
    """The cached curves, without those that lost all their points."""
    found = {
        member: {key: plain(one) for key, one in named.items() if len(one.frames)}
        for member, named in store.read(folder)[1].items()
    }
    return {member: named for member, named in found.items() if named}


@pytest.mark.parametrize("seed", range(5))
def test_after_any_read_it_equals_the_file(seed: int, tmp_path: Path) -> None:
    """Members have different curves, values may be not finite, and resumes supersede rows."""
    rng, store = random.Random(seed), CurveStore()
    clocks = {"m0": 0, "m1": 0}
    for incarnation in range(1, 5):
        with MetricsWriter(tmp_path, incarnation, tensorboard=False) as metrics:
            if incarnation > 1:
                clocks = {name: rng.randint(0, frames) for name, frames in clocks.items()}
                metrics.resume(clocks)
            for _ in range(rng.randint(5, 30)):
                name = rng.choice(["m0", "m1"])
                clocks[name] += rng.randint(1, 50)
                values = {
                    "loss": rng.random(),
                    "kl": rng.choice([math.nan, 1.0]),
                    **({"win_rate": 0.5} if rng.random() < 0.3 else {}),
                }
                metrics.series(name, clocks[name], values)
                if rng.random() < 0.2:
                    metrics.flush()
                    assert held(store, tmp_path) == expected(tmp_path)
    keys, read = store.read(tmp_path, ["loss"], ["m0"], first=10, last=200)
    assert {"kl", "loss"} <= set(keys) <= {"kl", "loss", "win_rate"}
    assert plain(read["m0"]["loss"]) == [
        point for point in expected(tmp_path)["m0"]["loss"] if 10 <= point[0] <= 200
    ]


def test_seconds_leave_breaks_out(tmp_path: Path) -> None:
    now = [100.0]
    for incarnation, starts in ((1, 100.0), (2, 5000.0)):
        now[0] = starts
        with MetricsWriter(
            tmp_path, incarnation, tensorboard=False, clock=lambda: now[0]
        ) as metrics:
            metrics.resume({"m0": 1000})
            for step in range(1, 4):
                now[0] = starts + 10 * step
                metrics.series("m0", 100 * step + 300 * (incarnation - 1), {"loss": 1.0})
    (points,) = CurveStore().read(tmp_path)[1]["m0"].values()
    assert points.frames.tolist() == [100, 200, 300, 400, 500, 600]
    assert points.seconds.tolist() == [10, 20, 30, 40, 50, 60]


def test_a_part_of_a_line_waits_and_a_damaged_one_is_named(tmp_path: Path) -> None:
    store, path = CurveStore(), tmp_path / METRICS_FILE
    assert store.read(tmp_path) == ([], {})
    assert curves_stamp(tmp_path) == "none"
    line = b'{"incarnation":1,"member":"m0","frames":%d,"t":1.0,"loss":2.0}\n'
    path.write_bytes(line % 1 + (line % 2)[:20])
    stamp = curves_stamp(tmp_path)
    assert store.read(tmp_path)[1]["m0"]["loss"].frames.tolist() == [1]
    with path.open("ab") as file:
        file.write((line % 2)[20:])
    assert curves_stamp(tmp_path) != stamp
    assert store.read(tmp_path)[1]["m0"]["loss"].frames.tolist() == [1, 2]
    with path.open("ab") as file:
        file.write(b"{]\n")
    for _ in range(2):
        with pytest.raises(PbtError, match="line 3"):
            store.read(tmp_path)
    path.unlink()
    path.write_bytes(line % 7)
    assert store.read(tmp_path)[1]["m0"]["loss"].frames.tolist() == [7]


def test_the_least_recently_read_population_makes_room(tmp_path: Path) -> None:
    store = CurveStore(max_numbers=25)
    folders = [tmp_path / name for name in ("one", "two", "one")]
    for folder in folders[:2]:
        with MetricsWriter(folder, 1, tensorboard=False) as metrics:
            for frames in range(8):
                metrics.series("m0", frames, {"loss": 1.0})
    for folder in folders:
        assert len(store.read(folder)[1]["m0"]["loss"].frames) == 8
    assert store.held == 24
