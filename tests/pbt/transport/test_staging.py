"""Packing for a device, on the CPU: the same code but for the copy that does not wait."""

from typing import Any

import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.typing import NDArray

from pbt.transport.staging import CPU, Form, Staging, staging_for, to_host

DTYPES = [
    np.dtype(kind) for kind in (np.bool_, np.uint8, np.int32, np.int64, np.float32, np.float64)
]
ARRAYS = st.dictionaries(
    st.text("abcd/", min_size=1, max_size=4),
    st.sampled_from(DTYPES).flatmap(
        lambda dtype: hnp.arrays(
            dtype, hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4)
        )
    ),
    max_size=6,
)


def same(one: NDArray[Any], two: NDArray[Any]) -> bool:
    return one.dtype == two.dtype and one.shape == two.shape and one.tobytes() == two.tobytes()


@given(st.lists(ARRAYS, min_size=1, max_size=4))
def test_what_goes_up_comes_down_whatever_the_shapes(
    uploads: list[dict[str, NDArray[Any]]],
) -> None:
    staging = Staging(CPU)
    sent = [staging.upload(arrays) for arrays in uploads]
    for arrays, tensors in zip(uploads, sent, strict=True):
        assert tensors.keys() == arrays.keys()
        assert all(same(tensors[name].numpy(), array) for name, array in arrays.items()), (
            "a later upload leaves an earlier one alone"
        )
        back = staging.download(tensors)
        assert back.keys() == arrays.keys()
        assert all(same(back[name], array) for name, array in arrays.items())


def test_every_part_starts_at_a_cache_line_and_all_share_one_vector() -> None:
    staging = Staging(CPU)
    staged = staging.stage(
        {
            "flag": Form((3,), np.dtype(np.bool_)),
            "wide": Form((2, 5), np.dtype(np.float64)),
            "none": Form((0,), DTYPES[4]),
        }
    )
    for array in staged.values():
        array[...] = 1
    tensors = staging.send()
    begin = tensors["flag"].data_ptr()
    assert tensors["wide"].data_ptr() - begin == 64
    assert (
        tensors["flag"].untyped_storage().data_ptr()
        == tensors["wide"].untyped_storage().data_ptr()
        == begin
    )
    assert tensors["wide"].sum() == 10 and tensors["none"].numel() == 0


def test_two_host_buffers_alternate() -> None:
    staging, form = Staging(CPU), {"x": Form((4,), np.dtype(np.float32))}
    addresses = []
    for _ in range(4):
        addresses.append(staging.stage(form)["x"].ctypes.data)
        staging.send()
    assert addresses[0] != addresses[1] and addresses[:2] == addresses[2:]


def test_download_takes_tensors_of_any_stride() -> None:
    wide = torch.arange(12, dtype=torch.int32).view(3, 4)
    back = Staging(CPU).download(
        {"column": wide[:, 1], "turned": wide.t(), "scalar": torch.tensor(True)}
    )
    assert (
        back["column"].tolist() == [1, 5, 9]
        and back["turned"].tolist() == wide.t().tolist()
        and back["scalar"].shape == ()
    )


def test_the_cpu_needs_no_staging_and_its_copies_are_copies() -> None:
    assert staging_for(CPU) is None
    weights = torch.nn.Parameter(torch.ones(3))
    copies = to_host({"weights": weights})
    with torch.no_grad():
        weights.zero_()
    assert copies["weights"].tolist() == [1, 1, 1] and not copies["weights"].requires_grad
