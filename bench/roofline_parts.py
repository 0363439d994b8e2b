"""The process of one core of bench/roofline.py: it measures raw engines and a plain torch network.

    python bench/roofline_parts.py --core=0 --cores=2 --scenario=health_gathering_supreme \\
        --frame-skip=4 --seconds=4 --rounds=3

It imports nothing of pbt or of bench, and prints JSON: name -> seconds per step, by round.
"""

import argparse
import ctypes
import json
import os
import random
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

HEIGHT, WIDTH, CHANNELS, STATE = 72, 128, 3, 512
T, BATCH_STEPS = 32, 2048
INFER_ROWS, TRAIN_SLOTS = (32, 64), (8, 16, 32)
ENGINES = (1, *INFER_ROWS)
PARTS = 2 * len(ENGINES) + 4 * len(INFER_ROWS) + 4 * len(TRAIN_SLOTS)
# A variable of the engines' environment: memory in huge pages, so that more of it is still mapped
# when an engine's turn comes.
CALM = ("GLIBC_TUNABLES", "glibc.malloc.hugetlb=1")
# Stride of the first convolution, which divides its kernel, and height and width of the images.
SIDE = 4


def keep_freed_memory() -> None:
    """Keep the memory of freed tensors in this process.

    Otherwise glibc gives large tensors back to the system, and every batch pays for fresh pages.
    """
    libc = ctypes.CDLL(None)
    if hasattr(libc, "mallopt"):
        libc.mallopt(-3, 1 << 30)  # M_MMAP_THRESHOLD
        libc.mallopt(-1, (1 << 31) - 1)  # M_TRIM_THRESHOLD


def in_blocks(images: Any) -> Any:
    """[N, H, W, C] -> [N, H / SIDE, W / SIDE, SIDE * SIDE * C].

    The first convolution then has stride 1, and its channels fill a vector unit.
    """
    count, height, width, channels = images.shape
    parts = images.view(count, height // SIDE, SIDE, width // SIDE, SIDE * channels)
    return parts.transpose(2, 3).reshape(
        count, height // SIDE, width // SIDE, SIDE * SIDE * channels
    )


def make_network(actions: int, blocks: bool) -> Any:
    """The network in plain torch.

    blocks  the first convolution's weights are laid out as `in_blocks` lays pixels; its sums and
            Adam's steps are the same
    """
    import torch
    from torch import Tensor, nn
    from torch.nn.functional import elu, linear

    class Network(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            first = (
                nn.Conv2d(SIDE * SIDE * CHANNELS, 32, 8 // SIDE)
                if blocks
                else nn.Conv2d(CHANNELS, 32, 8, SIDE)
            )
            self.convs = nn.ModuleList([first, nn.Conv2d(32, 64, 4, 2), nn.Conv2d(64, 128, 3, 2)])
            self.fc, self.gru = nn.Linear(128 * 3 * 6, STATE), nn.GRUCell(STATE, STATE)
            self.heads = nn.Linear(STATE, actions + 1)
            self.convs.to(memory_format=torch.channels_last)  # type: ignore[call-overload]

        def forward(self, images: Tensor, state: Tensor, keep: Tensor) -> Tensor:
            """images [T, B, H, W, C] uint8, state [B, 512], keep [T, B, 1]. Returns logits and
            value, [T, B, actions + 1].
            """
            x = images.flatten(0, 1).to(
                torch.get_autocast_dtype("cpu")
                if torch.is_autocast_enabled("cpu")
                else torch.float32
            )
            x = (in_blocks(x) if blocks else x).permute(0, 3, 1, 2) * (1 / 255)
            for conv in self.convs:
                x = elu(conv(x), inplace=True)
            products = linear(
                elu(self.fc(x.flatten(1))), self.gru.weight_ih, self.gru.bias_ih
            ).view(*images.shape[:2], -1)
            states = []
            for t in range(len(products)):
                state = state * keep[t]
                hidden = linear(state, self.gru.weight_hh, self.gru.bias_hh)
                reset, update = torch.sigmoid(
                    products[t, :, : 2 * STATE] + hidden[:, : 2 * STATE]
                ).chunk(2, 1)
                candidate = torch.tanh(products[t, :, 2 * STATE :] + reset * hidden[:, 2 * STATE :])
                state = (candidate + update * (state - candidate)).float()
                states.append(state)
            outputs: Tensor = self.heads(torch.stack(states)).float()
            return outputs

    return Network()


def start_engine(scenario: str) -> Any:
    """A running engine. scenario: the path of a .cfg file, or a name of one of ViZDoom's."""
    import vizdoom

    game = vizdoom.DoomGame()
    game.load_config(
        scenario
        if scenario.endswith(".cfg")
        else str(Path(vizdoom.scenarios_path) / f"{scenario}.cfg")
    )
    game.set_screen_resolution(vizdoom.ScreenResolution.RES_160X120)
    game.set_screen_format(vizdoom.ScreenFormat.RGB24)
    game.set_window_visible(False)
    game.set_mode(vizdoom.Mode.PLAYER)
    game.init()
    return game


@contextmanager
def calm_engines() -> Iterator[None]:
    """Engines that are started inside run under SCHED_BATCH and with huge pages.

    A woken engine then interrupts no other process: it would find its message locked and sleep
    again.
    """
    name, value = CALM
    before, policy = os.environ.get(name), os.sched_getscheduler(0)
    os.environ[name] = value if before is None else before
    # A sandbox may forbid it.
    with suppress(OSError):
        os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))
    try:
        yield
    finally:
        if before is None:
            del os.environ[name]
        with suppress(OSError):
            os.sched_setscheduler(0, policy, os.sched_param(0))


def simulate_step(calm: bool, engines: int, options: argparse.Namespace) -> float:
    """Seconds per step of some engines in turn. calm: as in `calm_engines`."""
    with calm_engines() if calm else nullcontext():
        return engines_step(engines, options)


def engines_step(engines: int, options: argparse.Namespace) -> float:
    """Seconds per step of some engines in turn."""
    games = [start_engine(options.scenario) for _ in range(engines)]
    buttons = len(games[0].get_available_buttons())

    def step() -> None:
        for game in games:
            game.make_action([random.randint(0, 1) for _ in range(buttons)], options.frame_skip)
            if game.is_episode_finished():
                game.new_episode()
            game.get_state()

    try:
        return timed(step, engines, options.seconds)
    finally:
        for game in games:
            game.close()


def timed(step: Callable[[], None], rows: int, seconds: float) -> float:
    """Seconds per row of a step that serves some rows at once."""
    step()
    step()
    count, began = 0, time.perf_counter()
    while (taken := time.perf_counter() - began) < seconds:
        step()
        count += rows
    return taken / count


def infer_step(bfloat16: bool, blocks: bool, rows: int, options: argparse.Namespace) -> float:
    """Seconds per row of a forward pass over some rows.

    Weights are converted only once, since they change far more rarely than they are used.
    """
    import torch

    network = make_network(8, blocks)
    dtype = torch.bfloat16 if bfloat16 else torch.float32
    network.convs.to(dtype)
    network.fc.to(dtype)
    network.gru.to(dtype)
    images = torch.randint(0, 255, (1, rows, HEIGHT, WIDTH, CHANNELS), dtype=torch.uint8)
    state, keep = torch.zeros(rows, STATE), torch.ones(1, rows, 1)

    def step() -> None:
        with torch.inference_mode(), torch.autocast("cpu", dtype=torch.bfloat16, enabled=bfloat16):
            out = network(images, state, keep)[0]
            torch.multinomial(out[:, :-1].softmax(1), 1)

    return timed(step, rows, options.seconds)


def train_step(bfloat16: bool, blocks: bool, slots: int, options: argparse.Namespace) -> float:
    """Seconds per row of training passes over T rows of some slots at a time.

    An Adam step follows where a batch is complete.
    """
    import torch

    network = make_network(8, blocks)
    optimizer = torch.optim.Adam(network.parameters(), 1e-4, fused=True)
    images = torch.randint(0, 255, (T, slots, HEIGHT, WIDTH, CHANNELS), dtype=torch.uint8)
    state, keep, targets = (
        torch.zeros(slots, STATE),
        torch.ones(T, slots, 1),
        torch.randint(0, 8, (T, slots, 1)),
    )
    done = 0

    def step() -> None:
        nonlocal done
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=bfloat16):
            out = network(images, state, keep)
        log_probs = out[..., :-1].log_softmax(-1)
        (
            out[..., -1].square().sum()
            - log_probs.gather(-1, targets).sum()
            + (log_probs.exp() * log_probs).sum()
        ).backward()
        done += T * slots
        # All cores share a batch in equal parts.
        if done >= BATCH_STEPS / options.cores:
            done = 0
            optimizer.step()
            optimizer.zero_grad(set_to_none=False)

    return timed(step, T * slots, options.seconds)


def measure(options: argparse.Namespace) -> None:
    """Run all measurements. Prints JSON: name -> seconds per step, by round."""
    os.sched_setaffinity(0, {options.core})
    keep_freed_memory()
    import torch

    torch.set_num_threads(1)
    precisions = (True, False) if torch.cpu._is_avx512_bf16_supported() else (False,)
    parts: dict[str, Callable[[], float]] = {}
    for calm, engines in product((False, True), ENGINES):
        parts[f"simulate {'calm ' if calm else ''}{engines} engines"] = partial(
            simulate_step, calm, engines, options
        )
    for bfloat16, blocks in product(precisions, (False, True)):
        words = f"{'bfloat16' if bfloat16 else 'float32'}{' blocks' if blocks else ''}"
        for rows in INFER_ROWS:
            parts[f"infer {words} {rows} rows"] = partial(
                infer_step, bfloat16, blocks, rows, options
            )
        for slots in TRAIN_SLOTS:
            parts[f"train {words} {slots} slots"] = partial(
                train_step, bfloat16, blocks, slots, options
            )
    seconds_per_step: dict[str, list[float]] = {name: [] for name in parts}
    for _ in range(options.rounds):
        for name, part in parts.items():
            seconds_per_step[name].append(part())
    print(json.dumps(seconds_per_step))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--scenario", required=True)
    for name in ("--frame-skip", "--rounds", "--core", "--cores"):
        parser.add_argument(name, type=int, required=True)
    parser.add_argument("--seconds", type=float, required=True)
    measure(parser.parse_args())


if __name__ == "__main__":
    main()
