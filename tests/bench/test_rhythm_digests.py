"""Connect four with PBT in rounds: one digest in four layouts of processes that sleep at random."""

import json
from pathlib import Path

import pytest

from bench import rhythm_digests
from pbt.runtime import process_group

LAYOUTS = ["serial", "inline 2", "inline 4", "central 2 x 2"]


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_four_layouts_have_one_digest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    name, changes = rhythm_digests.GAMES["connect_four"]
    short = (*changes, "stop_at_frames=6_000", "pbt.period_frames=1_500", "pbt.warmup_frames=1_500")
    monkeypatch.setitem(rhythm_digests.GAMES, "connect_four", (name, short))
    monkeypatch.setattr(rhythm_digests, "sleeps", lambda patch: None)
    monkeypatch.setattr(process_group.ProcessGroup, "program", "bench.sleepy")
    out = tmp_path / "digests.json"
    arguments = ["--repeats", "1", "--json", str(out), "--layouts", *LAYOUTS]
    assert rhythm_digests.main(arguments) == 0
    assert "4 runs in 4 layouts, 1 digests" in capsys.readouterr().out
    runs = json.loads(out.read_text())["runs"]
    assert {one["rounds_of_pbt"] for one in runs} == {runs[0]["rounds_of_pbt"]}
    assert runs[0]["copies"] > 0 and runs[0]["games"] > 500
    assert rhythm_digests.main(arguments) == 0, "runs that are stored are not made again"
    runs[0]["digest"] = "another"
    assert rhythm_digests.report(runs, "hts") == 1
