"""Acting and learning on a device: the results of the CPU within float32's tolerance."""

import numpy as np
import pytest
import torch

from pbt.config.learning import LearningConfig, ModelConfig
from pbt.learning.learner import Learner
from pbt.learning.shared_reducer import SharedReducer, reducer_bytes
from pbt.transport.memory import Region
from pbt.transport.staging import CPU
from tests.pbt.inference.acting import SLOTS, T, lag_of_trained_rows, serve
from tests.pbt.learning.conftest import Bench
from tests.pbt.learning.one_pass import numbers_of
from tests.pbt.models.memories import MEMORIES, memory

pytestmark = pytest.mark.gpu


def bench(core: str = "gru") -> Bench:
    """A learner with memory, two heads, normalised inputs and minibatches: all an update does."""
    return Bench(
        config=LearningConfig(
            learning_rate=1e-3, epochs=2, minibatches=2, normalize_advantages=True
        ),
        model_config=ModelConfig(hidden=(16,), normalize_observations=True, **memory(core, 8)),
    )


def learner_on(device: torch.device, core: str = "gru") -> Learner:
    made = bench(core)
    return Learner(
        made.model().to(device), made.config, made.hyperparams(), made.terms, key=(1, "m0")
    )


@pytest.mark.parametrize("core", MEMORIES)
def test_updates_are_those_of_the_cpu(cuda: torch.device, core: str) -> None:
    made, actor = bench(core), bench(core).model(5)
    there, here = learner_on(cuda, core), learner_on(CPU, core)
    for seed in range(4):
        batch = made.batch(actor, seed=seed)
        found, expected = numbers_of(there.update(batch.to(cuda))), numbers_of(here.update(batch))
        assert found == pytest.approx(expected, rel=1e-3, abs=1e-4)
    state, reference = there.state(), here.state()
    assert state.keys() == reference.keys()
    for name, tensor in reference.items():
        assert state[name].device.type == "cpu"
        torch.testing.assert_close(
            state[name], tensor, rtol=1e-3, atol=1e-4, msg=lambda text, name=name: f"{name}: {text}"
        )


def test_a_state_moves_between_devices_bit_for_bit(cuda: torch.device) -> None:
    made = bench()
    one, two, three = learner_on(CPU), learner_on(cuda), learner_on(cuda)
    for seed in range(2):
        one.update(made.batch(made.model(5), seed=seed))
    two.load_state(one.state())
    assert all(torch.equal(tensor, two.state()[name]) for name, tensor in one.state().items())
    three.copy_from(two.state())
    assert all(
        torch.equal(tensor, three.state()[name])
        for name, tensor in two.state().items()
        if name != "clocks"
    )
    assert three.version == 0
    two.update(made.batch(made.model(5), seed=2).to(cuda))
    one.update(made.batch(made.model(5), seed=2))
    assert (one.version, one.frames) == (two.version, two.frames)
    for name, tensor in one.state().items():
        torch.testing.assert_close(
            two.state()[name],
            tensor,
            rtol=1e-3,
            atol=1e-4,
            msg=lambda text, name=name: f"{name}: {text}",
        )


def test_a_shard_on_the_device_reduces(cuda: torch.device) -> None:
    made = bench()
    there, here = learner_on(cuda), learner_on(cuda)
    parameters = sum(parameter.numel() for parameter in there.model.parameters())
    reducer = SharedReducer(
        Region.create("reducer", reducer_bytes(1, parameters)), 0, 1, parameters, timeout_s=30.0
    )
    batch = made.batch(made.model(5)).to(cuda)
    expected = pytest.approx(numbers_of(here.update(batch)), rel=1e-4, abs=1e-5)
    assert numbers_of(there.update(batch, reducer)) == expected


@pytest.mark.parametrize("core", ["none", *MEMORIES])
@pytest.mark.parametrize("greedy", [False, True])
def test_a_server_on_the_device_chooses_as_on_the_cpu(
    cuda: torch.device, core: str, greedy: bool
) -> None:
    there, server = serve(core, greedy, cuda, images=False)
    here, _ = serve(core, greedy, CPU, images=False)
    assert (server.rows_served, server.forwards) == (13, 3)
    for name, column in here.items():
        np.testing.assert_allclose(there[name], column, rtol=1e-3, atol=1e-3, err_msg=name)


def test_images_through_convolutions_are_acted_on(cuda: torch.device) -> None:
    """Convolutions may run in a lower precision on the device: close, not equal."""
    there, here = (serve("gru", True, device)[0] for device in (cuda, CPU))
    acted = there["policy"] == 1
    assert (
        acted.sum() == 13
        and np.isfinite(there["log_prob"][acted]).all()
        and np.isnan(there["log_prob"][~acted]).all()
    )
    np.testing.assert_allclose(there["live_state"], here["live_state"], atol=5e-2)


@pytest.mark.parametrize("core", MEMORIES)
def test_what_acted_is_what_is_trained(cuda: torch.device, core: str) -> None:
    stats = lag_of_trained_rows(core, cuda)
    assert stats.rows == SLOTS * T and abs(stats.means["kl"]) < 1e-6
    assert stats.means["clip_fraction"] == 0.0
