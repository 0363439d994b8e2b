"""Words for devices, on machines with and without CUDA."""

import pytest
import torch

from pbt.config.running import RuntimeConfig
from pbt.errors import ConfigError
from pbt.runtime.devices import choose_device


def machine(monkeypatch: pytest.MonkeyPatch, devices: int) -> None:
    """Pretend to have this number of CUDA devices."""
    monkeypatch.setattr(torch.cuda, "is_available", lambda: devices > 0)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: devices)


@pytest.mark.parametrize(
    ("word", "devices", "chosen"),
    [
        ("auto", 0, "cpu"),
        ("auto", 2, "cuda:0"),
        ("cpu", 2, "cpu"),
        ("cuda:1", 2, "cuda:1"),
        ("cpu", 0, "cpu"),
    ],
)
def test_a_word_names_a_device_of_this_machine(
    monkeypatch: pytest.MonkeyPatch, word: str, devices: int, chosen: str
) -> None:
    machine(monkeypatch, devices)
    runtime = RuntimeConfig(learner_device=word)
    assert choose_device(runtime, "learner_device") == torch.device(chosen)


@pytest.mark.parametrize(
    ("word", "devices", "here"),
    [("cuda:0", 0, "no CUDA device"), ("cuda:2", 2, "cuda:0, cuda:1")],
)
def test_a_device_that_is_not_there_is_refused_by_name(
    monkeypatch: pytest.MonkeyPatch, word: str, devices: int, here: str
) -> None:
    machine(monkeypatch, devices)
    with pytest.raises(ConfigError) as refused:
        choose_device(RuntimeConfig(learner_device=word), "learner_device")
    assert refused.value.problems == (
        (
            f'runtime.learner_device = "{word}": this machine has {here}; expected a device of '
            'this machine; use "auto" or "cpu"'
        ),
    )
