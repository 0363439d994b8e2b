"""The example of docs/guests.md plays and is as short as it claims."""

import re
from pathlib import Path

import pytest

from tests.arena.guests.guest_match import play, program

PAGE = Path(__file__).resolve().parents[3] / "docs/guests.md"


def example() -> str:
    (code,) = re.findall(
        r"```python\n#![^\n]*\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL
    )
    return str(code)


@pytest.mark.parametrize("env", ["connect_four", "openspiel:leduc_poker"])
def test_the_example_plays(tmp_path: Path, env: str) -> None:
    played = play(["random", program(tmp_path, example())], 20, env)
    assert set(played.reasons) == {"rules"}
    assert len({end.trajectory_hash for end in played.ends}) > 10


def test_the_example_is_short() -> None:
    assert len(example().splitlines()) + 1 <= 20
