"""The device of this machine that a word in the configuration means."""

import torch

from pbt.config.schema import RunConfig
from pbt.errors import ConfigError
from pbt.transport.staging import CPU


def check_devices(config: RunConfig, source: str) -> None:
    """Raises: ConfigError for every device of the configuration that this machine does not have."""
    problems: list[str] = []
    for name in ("inference_device", "learner_device"):
        try:
            choose_device(getattr(config.runtime, name), f"runtime.{name}")
        except ConfigError as error:
            problems += error.problems
    if problems:
        raise ConfigError(source, problems)


def choose_device(word: str, setting: str = "runtime") -> torch.device:
    """Return the device that a word means.

    word     "auto" (the first CUDA device, else the CPU), "cpu", "cuda" or "cuda:N"
    setting  the key of the configuration that holds the word, for the error

    Raises: ConfigError when this machine does not have that CUDA device.
    """
    devices = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if word == "cpu" or (word == "auto" and devices == 0):
        return CPU
    if word in ("auto", "cuda"):
        word = "cuda:0"
    kind, _, number = word.partition(":")
    if kind == "cuda" and number.isdecimal() and int(number) < devices:
        return torch.device("cuda", int(number))
    here = (
        "no CUDA device" if devices == 0 else ", ".join(f"cuda:{index}" for index in range(devices))
    )
    problem = f'{setting} = "{word}": this machine has {here}'
    raise ConfigError(
        "the configuration", [f'{problem}; expected a device of this machine; use "auto" or "cpu"']
    )
