"""`arena.train(..., start_from=...)`: a population begins with trained weights, from a script."""

from pathlib import Path
from typing import Any

import pytest

import arena
from pbt.errors import ConfigError
from tests.arena.python.tiny import CONFIG


def test_it_begins_with_weights_of_another_one(tmp_path: Path) -> None:
    arena.train(CONFIG, "first", data=tmp_path)
    events: list[Any] = []
    arena.train(
        CONFIG,
        "heirs",
        data=tmp_path,
        start_from={"m1": "first/m0"},
        on_event=events.append,
    )
    (said,) = [event for event in events if event.kind == "start"]
    assert said.member == "m1" and said.text.startswith("begins with the weights of first/m0@")
    arena.train(CONFIG, "more", data=tmp_path, start_from=["first/m0@0"])
    with pytest.raises(ConfigError, match="holds no optimiser's moments"):
        arena.train(CONFIG, "x", data=tmp_path, start_from="first/m0@0", with_optimizer=True)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"start_from": 3}, "start_from: found 3; expected a snapshot such as"),
        ({"start_from": {"m0": 3}}, "start_from: found"),
        ({"start_from": "first/m0", "with_optimizer": "yes"}, "with_optimizer: found 'yes'"),
        ({"with_optimizer": True}, "moments come with weights"),
        ({"start_from": {"bob": "first/m0"}}, "(bob): first/m0: no such member"),
    ],
)
def test_what_is_no_player_is_named(tmp_path: Path, given: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigError) as caught:
        arena.train(CONFIG, "x", data=tmp_path, **given)
    assert words in str(caught.value) and not any(tmp_path.iterdir())
