"""What `arena doctor` says about the number format and the kernels of this CPU."""

from pathlib import Path

import pytest

from arena.cli.machine_checks import check_precision
from pbt import native
from pbt.models import precision


@pytest.mark.parametrize(
    ("bfloat16", "missing", "state", "said"),
    [
        (True, None, "ok", "bfloat16 for images, with"),
        (True, "elu_bf16", "note", "bfloat16 for images; our own kernels are not compiled"),
        (True, "elu_float32", "ok", "bfloat16 for images, with"),
        (False, None, "ok", "float32 for images, with"),
        (False, "elu_float32", "note", "float32 for images; our own kernels are not compiled"),
        (False, "elu_bf16", "ok", "float32 for images, with"),
    ],
)
def test_a_kernel_that_this_cpu_would_use_is_missed(
    bfloat16: bool,
    missing: str | None,
    state: str,
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(precision, "has_bfloat16", lambda _: bfloat16)
    for name in ("elu_bf16", "elu_float32", "pixel_blocks_bf16"):
        kernel = None if name == missing else print
        monkeypatch.setattr(native, name, lambda kernel=kernel: kernel)
    (finding,) = check_precision(tmp_path)
    assert finding.state == state and said in finding.text
