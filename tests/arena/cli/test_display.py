"""What the display of a training says: all of it on a narrow terminal, and how far the closing
evaluation is.
"""

from dataclasses import replace
from io import StringIO

import pytest
from rich.console import Console, Group

from arena.assessment.assess import assess
from arena.cli.display import Display, columns, member_cells
from arena.training.progress import MemberProgress, Progress
from arena.training.strengths import Strength
from pbt.objective import ObjectiveKind
from tests.arena.assessment.made_up import population


def test_nothing_is_cut_off_on_eighty_columns() -> None:
    member = MemberProgress(
        "m0",
        "player",
        123_456,
        2_345.0,
        0.512,
        900,
        Strength(12.0, -30.0, 54.0, 200),
        1,
        "round 3: mutated learning_rate",
        False,
        updates=34,
        refused_updates=30,
    )
    progress = Progress(
        54.0, 493_000, 2_400_000, 9_123.0, 209.0, 31_000, 1_650, (member,), None, "disk full"
    )
    out = StringIO()
    Console(file=out, width=80, force_terminal=False).print(
        Group(*Display("demo", quiet=True)._picture(progress))
    )
    words = " ".join(out.getvalue().split())
    assert "31000 training games, 1650 evaluation games about 3:29 left" in words
    assert "disk full" in words and "mutated learning_rate" in words
    assert "WARNING: m0: 30 of 64 updates were refused, because a loss or a gradient" in words


@pytest.mark.parametrize(
    ("ranked_by", "strength", "heading", "shown"),
    [
        ("win", Strength(636.4, 553.6, 718.0, 90), "rating", "+636 [+554, +718]"),
        ("win", Strength(900.0, 640.2, None, 90), "rating", ">= +640"),
        ("win", Strength(-0.2, None, 12.0, 90), "rating", "<= +12"),
        (
            "margin",
            Strength(1.23456, -0.5, 2.96, 90),
            "margin a game over random",
            "+1.23 [-0.5, +2.96]",
        ),
        (
            "return",
            Strength(-67.6189, -70.0, -65.2, 90),
            "evaluation return a game",
            "-67.62 [-70, -65.2]",
        ),
        ("return", Strength(500.0, None, None, 90), "evaluation return a game", "500"),
    ],
)
def test_strengths_are_shown_in_the_unit_of_the_objective(
    ranked_by: ObjectiveKind, strength: Strength, heading: str, shown: str
) -> None:
    member = MemberProgress("m0", "player", 1000, 10.0, 0.5, 5, strength, 0, "kept", False)
    cells = dict(zip(columns(ranked_by), member_cells(member, ranked_by), strict=True))
    assert cells[f">{heading}"] == shown
    nothing = dict(
        zip(columns(ranked_by), member_cells(replace(member, rating=None), ranked_by), strict=True)
    )
    assert nothing[f">{heading}"] == "-"


class ClosedPipe(StringIO):
    def write(self, text: str) -> int:
        raise BrokenPipeError(32, "Broken pipe")


def test_a_display_nobody_reads_any_more_does_not_end_the_training() -> None:
    progress = Progress(54.0, 493_000, 2_400_000, 9_123.0, 209.0, 31_000, 1_650, (), None, None)
    display = Display("demo")
    display._console = Console(file=ClosedPipe(), width=80)
    display(progress)
    display._lined = -1e9
    display(progress)


TRAINED = Progress(54.0, 2_400_000, 2_400_000, 0.0, None, 31_000, 1_650, (), (31, 80), None)


def test_a_warning_is_shown_once(capsys: pytest.CaptureFixture[str]) -> None:
    display = Display("demo")
    for count in (0, 1, 1, 2):
        display(replace(TRAINED, warnings=("a game goes on", "another one")[:count]))
    said = capsys.readouterr().err
    assert said.count("WARNING: a game goes on\n") == said.count("WARNING: another one\n") == 1


def test_the_closing_evaluation_says_how_far_it_is() -> None:
    assert (
        Display("demo", quiet=True)
        ._line(TRAINED)
        .endswith("31000 training games, 1650 evaluation games  closing evaluation: 31 of 80 games")
    )


def test_the_closing_evaluation_is_announced_while_the_training_goes_on() -> None:
    training = replace(TRAINED, frames=1_000, closing=None, eta_s=209.0, ahead=80)
    assert (
        Display("demo", quiet=True)
        ._line(training)
        .endswith("about 3:29 left, then 80 evaluation games")
    )
    assert Display("demo", quiet=True)._line(replace(training, ahead=0)).endswith("about 3:29 left")


def test_without_a_terminal_the_closing_evaluation_is_no_flood_of_lines(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A line when it begins and when it is over, and one now and then as ever."""
    display = Display("demo")
    display(replace(TRAINED, frames=1_000, closing=None))
    for done in (0, 1, 2, 79, 80, 80):
        display(replace(TRAINED, closing=(done, 80)))
    lines = capsys.readouterr().err.splitlines()
    assert [line.rpartition("closing evaluation: ")[2] for line in lines[1:]] == [
        "0 of 80 games",
        "80 of 80 games",
    ]


def grows(share: float) -> float:
    return 600.0 * share


def test_what_may_be_said_stands_below_the_progress_with_one_time_left() -> None:
    said = assess(population(grows))
    progress = replace(TRAINED, frames=1_000, closing=None, eta_s=209.0, assessment=said)
    out = StringIO()
    Console(file=out, width=80, force_terminal=False).print(
        Group(*Display("demo", quiet=True)._picture(progress))
    )
    words = " ".join(out.getvalue().split())
    assert "about 3:29 left learning: +" in words and words.count(" left") == 1
    assert said.sentence.removesuffix("; 33 min left") in words


def test_without_a_terminal_it_is_said_again_only_where_it_changed(
    capsys: pytest.CaptureFixture[str],
) -> None:
    display, said = Display("demo"), assess(population(grows))
    for assessment in (None, said, said, replace(said, sentence="stalled", seconds_left=None)):
        display._lined = -1e9
        display(replace(TRAINED, frames=1_000, closing=None, assessment=assessment))
    lines = capsys.readouterr().err.splitlines()
    assert [line.strip()[:8] for line in lines if "training games" not in line] == [
        "learning",
        "stalled",
    ]
