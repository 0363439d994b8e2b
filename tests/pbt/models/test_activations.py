"""Our ELU against torch's.

Where there is no C compiler the same tests check what is computed instead.
"""

import ctypes
from collections.abc import Callable
from functools import partial

import pytest
import torch
from torch import Tensor
from torch.nn.functional import elu as torch_elu
from torch.nn.functional import elu_

from pbt import native
from pbt.models import activations
from pbt.models.activations import ACTIVATIONS, elu


def every_bfloat16() -> Tensor:
    """All 65 536 of them."""
    return torch.arange(-(2**15), 2**15, dtype=torch.int32).to(torch.int16).view(torch.bfloat16)


def numbers(*shape: int) -> Tensor:
    return (torch.randn(*shape, generator=torch.Generator().manual_seed(1)) * 3.0).bfloat16()


def reference(values: Tensor) -> Tensor:
    return torch_elu(values.float()).bfloat16()


KERNELS = {"elu_bf16": torch.bfloat16, "elu_float32": torch.float32}


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many values each call of the kernels got; there are none where they were not built."""
    counts: list[int] = []

    def count(built: Callable[[int, int], None], address: int, values: int) -> None:
        counts.append(values)
        built(address, values)

    for name in KERNELS:
        if (built := getattr(native, name)()) is not None:
            monkeypatch.setattr(activations, name, partial(partial, count, built))
    return counts


def built_for(dtype: torch.dtype) -> bool:
    return any(of == dtype and getattr(native, name)() is not None for name, of in KERNELS.items())


def slowest_loop(values: Tensor) -> Tensor:
    """The kernel as a machine without vector instructions runs it."""
    if native.elu_bf16() is None:
        return elu(values)
    function = ctypes.CDLL(native.__file__.replace("__init__.py", "elu.so")).elu_bf16_plain
    function(ctypes.c_void_p(values.data_ptr()), ctypes.c_int64(values.numel()))
    return values


@pytest.mark.parametrize("activation", [elu, slowest_loop])
def test_every_bfloat16_is_rounded_as_from_float32(activation: Callable[[Tensor], Tensor]) -> None:
    values = every_bfloat16()
    expected, found = reference(values), activation(values.clone())
    assert torch.equal(found.isnan(), values.isnan())
    # As bits, which tell -0 from 0. None differs: what a run learns does not depend on whether
    # there was a compiler.
    known = ~values.isnan()
    ulps = (found.view(torch.int16).int() - expected.view(torch.int16).int()).abs()[known]
    assert int(ulps.count_nonzero()) == 0, (
        f"{values[known][ulps > 0].tolist()} differ by up to {int(ulps.max())} ulp"
    )
    ends = torch.tensor([-torch.inf, torch.inf, -1e30, -1e-30], dtype=torch.bfloat16)
    assert torch.equal(
        elu(ends.clone()), torch.tensor([-1.0, torch.inf, -1.0, -1e-30], dtype=torch.bfloat16)
    )


@pytest.mark.parametrize("count", [0, 1, 7, 31, 32, 33, 1000])
def test_nothing_beside_the_values_is_touched(count: int) -> None:
    values = torch.full((count + 2,), -1.0, dtype=torch.bfloat16)
    elu(values[1:-1])
    assert values[0] == values[-1] == -1.0
    assert torch.equal(values[1:-1], reference(torch.full((count,), -1.0, dtype=torch.bfloat16)))


def expected_of(values: Tensor) -> Tensor:
    if values.dtype == torch.float64:
        return torch_elu(values)
    if values.dtype == torch.bfloat16:
        return reference(values)
    twin = values.detach().clone()
    activations._twin(twin)
    return twin


LAYOUTS: dict[str, tuple[Callable[[], Tensor], bool]] = {
    "contiguous": (lambda: numbers(5, 7, 3, 9), True),
    "channels last": (
        lambda: numbers(5, 7, 3, 9).contiguous(memory_format=torch.channels_last),
        True,
    ),
    "rows of a larger one": (lambda: numbers(9, 33)[2:6], True),
    "columns of a larger one": (lambda: numbers(9, 33)[:, 2:6], False),
    "every other row": (lambda: numbers(9, 33)[::2], False),
    "float32": (lambda: numbers(9, 33).float(), True),
    "columns of float32": (lambda: numbers(9, 33).float()[:, 2:6], False),
    "float64": (lambda: numbers(9, 33).double(), False),
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("mode", [torch.enable_grad, torch.no_grad, torch.inference_mode])
def test_all_layouts_in_place(
    layout: str, mode: Callable[[], torch.no_grad], calls: list[int]
) -> None:
    make, is_dense = LAYOUTS[layout]
    with mode():
        values = make()
        whole = values._base
        before = None if whole is None else whole.clone()
        expected = expected_of(values)
        found = elu(values)
        assert found is values and torch.equal(found, expected)
        if whole is not None and before is not None:  # what lies between is as it was
            values.zero_()
            before.as_strided(values.size(), values.stride(), values.storage_offset()).zero_()
            assert torch.equal(whole, before)
    assert len(calls) == (is_dense and built_for(values.dtype))


CUTS: dict[str, Callable[[Tensor], Tensor]] = {
    "whole": lambda values: values,
    "rows": lambda values: values[2:6],
    "columns": lambda values: values[:, 2:6],
    "columns first": lambda values: values.t(),
}


@pytest.mark.parametrize("cut", CUTS)
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32])
def test_the_gradient_is_torchs(cut: str, dtype: torch.dtype, calls: list[int]) -> None:
    gradients = []
    for activation in (elu, elu_):
        weight = numbers(9, 33).to(dtype).requires_grad_()
        whole = weight * 1.5
        result = activation(CUTS[cut](whole))
        # Through what was cut out as well as through what it was cut from.
        gradients.append(
            torch.autograd.grad(result.float().square().sum() + whole.float().sum(), weight)[0]
        )
    if dtype == torch.bfloat16:
        assert torch.equal(*gradients)
    torch.testing.assert_close(*gradients, rtol=4e-6, atol=0.0)
    assert len(calls) == (cut in ("whole", "rows") and built_for(dtype))


def test_the_gradient_through_a_convolution_is_torchs(calls: list[int]) -> None:
    images = numbers(4, 3, 12, 12).contiguous(memory_format=torch.channels_last)
    gradients = []
    for activation in (elu, elu_):
        weight = numbers(8, 3, 3, 3).requires_grad_()
        features = activation(torch.nn.functional.conv2d(images, weight)).flatten(1)
        gradients.append(torch.autograd.grad(features.float().square().sum(), weight)[0])
    assert torch.equal(*gradients)
    assert len(calls) == (native.elu_bf16() is not None)


def test_values_that_a_gradient_still_needs_are_not_overwritten_unseen() -> None:
    weight = numbers(8).requires_grad_()
    squares = weight * 1.0
    loss = squares.square().sum()
    with torch.no_grad():
        elu(squares)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()


def test_torch_does_it_where_nothing_was_built(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(activations, "elu_bf16", lambda: None)
    values = numbers(5, 70).requires_grad_()
    result = elu(values * 1.0)
    assert torch.equal(result, reference(values)) and "EluBackward" in str(result.grad_fn)


# --- float32 --------------------------------------------------------------------------------------


def one_in(step: int) -> Tensor:
    """Every so many of all float32, with the ends."""
    bits = torch.arange(-(2**31), 2**31, step, dtype=torch.int64).to(torch.int32)
    ends = torch.tensor([-torch.inf, torch.inf, torch.nan, -0.0, 0.0, -32.0, -1e-45, -3e38])
    return torch.cat([bits.view(torch.float32), ends])


def as_built(function: str) -> Callable[[Tensor], Tensor]:
    def compute(values: Tensor) -> Tensor:
        if native.elu_float32() is None:
            pytest.skip("no C compiler when this was installed")
        code = ctypes.CDLL(native.__file__.replace("__init__.py", "elu_float32.so"))
        address, count = ctypes.c_void_p(values.data_ptr()), ctypes.c_int64(values.numel())
        getattr(code, function)(address, count)
        return values

    return compute


@pytest.mark.parametrize("function", ["elu_float32", "elu_float32_plain"])
def test_float32_has_the_bits_of_its_twin(function: str) -> None:
    values = one_in(9973)
    found, twin = as_built(function)(values.clone()), values.clone()
    activations._twin(twin)
    known = ~values.isnan()
    assert torch.equal(found.view(torch.int32)[known], twin.view(torch.int32)[known])
    assert bool(found[~known].isnan().all()) and bool(twin[~known].isnan().all())


def test_float32_is_as_exact_as_torchs() -> None:
    values = one_in(9973)
    values = values[(values < 0) & values.isfinite()]
    exact = torch.expm1(values.double())
    of_own = ((elu(values.clone()).double() - exact) / exact).abs()
    of_torch = ((torch_elu(values).double() - exact) / exact).abs()
    assert float(of_own.max()) < 1e-7 and float(of_own.mean()) < 1.1 * float(of_torch.mean())
    kept = torch.tensor([0.0, -0.0, 1e-45, 3.5, torch.inf])
    assert torch.equal(elu(kept.clone()).view(torch.int32), kept.view(torch.int32))


def test_float32_without_the_kernel_is_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    values = numbers(5, 70).float().requires_grad_()
    results = []
    for kernel in (native.elu_float32(), None):
        monkeypatch.setattr(activations, "elu_float32", lambda kernel=kernel: kernel)
        result = elu(values * 1.0)
        results.append((result, torch.autograd.grad(result.square().sum(), values)[0]))
    assert all(torch.equal(*both) for both in zip(*results, strict=True))


def test_the_config_names_it() -> None:
    assert ACTIVATIONS["elu"] is elu
