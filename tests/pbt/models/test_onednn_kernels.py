"""oneDNN has kernels for this CPU for every layer of the Doom configurations.

A layer without one runs as a plain loop, a hundred times slower.
"""

import re

import numpy as np
import pytest
import torch
from gymnasium import spaces
from torch.backends import mkldnn

from pbt.config.learning import LearningConfig
from pbt.config.load import load_config
from pbt.learning.learner import Learner
from pbt.models.policy_model import build_model
from pbt.models.precision import has_bfloat16
from tests.pbt.learning.conftest import Bench

# onednn_verbose,v1,primitive,exec,cpu,convolution,jit:avx2,forward_training,...
EXECUTED = re.compile(
    r"^onednn_verbose,.*exec,cpu,(?P<kind>convolution|deconvolution|matmul|inner_product|rnn),(?P<kernel>[^,]+),",
    re.MULTILINE,
)


@pytest.mark.parametrize("name", ["doom_health_gathering_supreme", "doom_duel"])
def test_no_layer_runs_by_the_plain_loop(name: str, capfd: pytest.CaptureFixture[str]) -> None:
    dtype = torch.bfloat16 if has_bfloat16(torch.device("cpu")) else torch.float32
    model_config = load_config(name).model
    bench = Bench(
        LearningConfig(learning_rate=1e-4),
        model_config,
        (3, 2),
        ("reward",),
        4,
        observation=spaces.Box(0, 255, (72, 128, 3), np.uint8),
    )
    model = build_model(bench.layout, model_config, 1, dtype)
    learner = Learner(model, bench.config, bench.hyperparams(), bench.terms, key=(1, "m0"))
    with mkldnn.verbose(mkldnn.VERBOSE_ON):
        learner.update(bench.batch(build_model(bench.layout, model_config, 1, dtype), slots=8))
    kernels = {
        (found["kind"], found["kernel"]) for found in EXECUTED.finditer(capfd.readouterr().out)
    }
    assert {"convolution"} <= {kind for kind, _ in kernels}, kernels
    assert not {kernel for kernel in kernels if kernel[1].startswith("ref")}, kernels
