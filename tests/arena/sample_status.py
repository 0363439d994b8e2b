"""The status of a run with two kinds of processes, as a sample."""

from arena.data.status import MemberRow, ProcessRow, RowCounts, RunStatus

STATUS = RunStatus(
    population="first",
    pid=4242,
    placement="central",
    started_at=1000.0,
    written_at=1060.0,
    ran_s=60.0,
    ended="",
    processes=(
        ProcessRow("main", 4242, ("main",), "waiting", stage_s={"wait": 60.0}),
        ProcessRow(
            "worker-0",
            4243,
            ("worker",),
            "simulating",
            512.0,
            1,
            0.25,
            0,
            {"simulate": 30.0, "wait": 10.0},
        ),
        ProcessRow(
            "worker-1",
            4244,
            ("worker",),
            "waiting",
            488.0,
            0,
            0.5,
            0,
            {"simulate": 25.0, "wait": 15.0},
        ),
        ProcessRow(
            "server-0",
            4245,
            ("server", "learner m0 m1"),
            "learning",
            1000.0,
            0,
            0.125,
            3,
            {"infer": 20.0, "learn": 20.0},
        ),
    ),
    members=(
        MemberRow("m0", 900, 1.5, "learning", 0.625, 34, 0),
        MemberRow("m1", 0, None, "failed"),
    ),
    rows=RowCounts(1000, 900, 60, {"generation": 40}),
    ranked_by="margin",
)
