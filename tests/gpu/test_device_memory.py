"""Packed copies to a device and back, many of them on their way at once."""

import gymnasium
import numpy as np
import pytest
import torch

from pbt.envs.contract import Role
from pbt.inference.policy_server import NetworkPolicy
from pbt.learning.background_gathering import BatchGatherer
from pbt.learning.batcher import gather
from pbt.models.policy_model import build_model
from pbt.transport.slab import Slab, role_layout
from pbt.transport.staging import Staging, to_host
from pbt.transport.weights import PublishedWeights
from tests.pbt.inference.acting import ROLE, config

pytestmark = pytest.mark.gpu


def test_uploads_in_flight_do_not_overwrite_each_other(cuda: torch.device) -> None:
    staging, rng = Staging(cuda), np.random.default_rng(0)
    uploads = [
        {
            "images": rng.integers(0, 255, (i % 5, 40, 40, 3), dtype=np.uint8),
            "flags": rng.random(i) < 0.5,
            "numbers": rng.normal(size=(i, 2)),
            "places": rng.integers(0, 9, i),
        }
        for i in range(1, 60)
    ]
    sent = [staging.upload(arrays) for arrays in uploads]
    for arrays, tensors in zip(uploads, sent, strict=True):
        assert all(tensor.device == cuda for tensor in tensors.values())
        back = staging.download(tensors)
        for name, array in arrays.items():
            assert back[name].dtype == array.dtype
            np.testing.assert_array_equal(back[name], array)


def test_host_memory_is_pinned_and_copies_down_are_whole(cuda: torch.device) -> None:
    staging = Staging(cuda)
    assert staging._host(64).is_pinned()
    tensors = {
        "column": torch.arange(12, device=cuda).view(3, 4)[:, 1],
        "scalar": torch.tensor(2.5, device=cuda),
        "none": torch.zeros(0, device=cuda),
    }
    back, copies = staging.download(tensors), to_host(tensors)
    for name, tensor in tensors.items():
        np.testing.assert_array_equal(back[name], tensor.cpu().numpy())
        assert torch.equal(copies[name], tensor.cpu()) and copies[name].device.type == "cpu"


def test_batches_are_whole_while_the_device_works_on_the_one_before(cuda: torch.device) -> None:
    role = Role(
        "player", gymnasium.spaces.Box(0, 255, (64, 64, 3), np.uint8), gymnasium.spaces.Discrete(3)
    )
    slab, rng = Slab(role_layout(role, ("reward",), 8, 16), 64), np.random.default_rng(0)
    for column in slab.column.values():
        column[...] = rng.integers(0, 2 if column.dtype == np.bool_ else 99, column.shape)
    gatherer = BatchGatherer([slab], cuda)
    batches = [rng.integers(0, 64, 32) for _ in range(30)]
    busy, wrong = (
        torch.ones(2000, 2000, device=cuda),
        torch.zeros((), dtype=torch.int64, device=cuda),
    )
    # There before: bringing them in between would wait for the device.
    expected = [gather(slab, slots).to(cuda).tensors() for slots in batches]
    gatherer.gather("m0", 0, batches[0].tolist())
    for index in range(len(batches)):
        if index + 1 < len(batches):
            gatherer.gather("m0", 0, batches[index + 1].tolist())
        batch = gatherer.take("m0")
        # The batch is freed at the end of this turn, long before the device reaches the comparison
        # behind these products.
        for _ in range(5):
            busy = busy @ busy / 2000.0
        for name, tensor in batch.tensors().items():
            wrong += (tensor != expected[index][name]).sum()
        del batch, tensor
    gatherer.close()
    assert int(wrong) == 0


def test_a_policy_on_the_device_takes_what_is_published(cuda: torch.device) -> None:
    layout = role_layout(ROLE, ("reward",), 3, 8)
    trained, model = (build_model(layout, config(8), seed) for seed in (1, 2))
    published = PublishedWeights(
        {"model." + name: tensor for name, tensor in trained.state_dict().items()}
    )
    policy = NetworkPolicy(model.to(cuda), "m0", published)
    policy.refresh()
    for name, tensor in model.state_dict().items():
        assert tensor.device == cuda and torch.equal(tensor.cpu(), trained.state_dict()[name]), name
