"""The device of this machine that a word in the configuration means."""

import torch

from pbt.config.running import RuntimeConfig
from pbt.config.schema import RunConfig
from pbt.errors import ConfigError
from pbt.transport.staging import CPU

DEVICES = ("inference_device", "learner_device")
"""The settings of [runtime] that hold the word for a device."""


def check_devices(config: RunConfig, source: str) -> None:
    """Raises: ConfigError for every device of the configuration that this machine does not have."""
    problems: list[str] = []
    for setting in DEVICES:
        try:
            choose_device(config.runtime, setting)
        except ConfigError as error:
            problems += error.problems
    if problems:
        raise ConfigError(source, problems)


def choose_device(runtime: RuntimeConfig, setting: str) -> torch.device:
    """Return the device that a setting's word means.

    The word is "auto" (the first CUDA device, else the CPU), "cpu" or "cuda:N".
    setting  one of DEVICES

    Raises: ConfigError when this machine does not have that CUDA device.
    """
    word: str = getattr(runtime, setting)
    devices = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if word == "cpu" or (word == "auto" and devices == 0):
        return CPU
    number = 0 if word == "auto" else int(word.removeprefix("cuda:"))
    if number < devices:
        return torch.device("cuda", number)
    here = ", ".join(f"cuda:{index}" for index in range(devices)) or "no CUDA device"
    problem = f'runtime.{setting} = "{word}": this machine has {here}'
    raise ConfigError(
        "the configuration", [f'{problem}; expected a device of this machine; use "auto" or "cpu"']
    )
