"""The live display fits a narrow terminal."""

from io import StringIO

from rich.console import Console, Group

from arena.display import Display
from arena.progress import MemberProgress, Progress


def test_nothing_is_cut_off_on_eighty_columns() -> None:
    member = MemberProgress("m0", "player", 123_456, 2_345.0, 0.512, 900, (12.0, -30.0, 54.0), 1, "round 3: mutated learning_rate", False)
    progress = Progress(54.0, 493_000, 2_400_000, 9_123.0, 209.0, 31_000, 1_650, (member,), False, "disk full")
    out = StringIO()
    Console(file=out, width=80, force_terminal=False).print(Group(*Display("demo", quiet=True)._picture(progress)))
    words = " ".join(out.getvalue().split())
    assert "31000 training games, 1650 evaluation games about 3:29 left" in words
    assert "disk full" in words and "mutated learning_rate" in words


class ClosedPipe(StringIO):
    def write(self, text: str) -> int:
        raise BrokenPipeError(32, "Broken pipe")


def test_a_display_nobody_reads_any_more_does_not_end_the_training() -> None:
    progress = Progress(54.0, 493_000, 2_400_000, 9_123.0, 209.0, 31_000, 1_650, (), False, None)
    display = Display("demo")
    display._console = Console(file=ClosedPipe(), width=80)
    display(progress)
    display._lined = -1e9
    display(progress)
