"""A bare torch reference: frames a second of this machine if engine and network alone took time, both used the plain way.

    python -m bench.roofline --scenario health_gathering_supreme --seconds 5 --rounds 3 --json roofline.json

Imports nothing of pbt. One process per usable core (affinity and cgroup quota), pinned to it, all at the same time; each measures, `rounds` times:
  simulate  raw ViZDoom: make_action with random actions, get_state; no resize, no copy; one engine alone, then 32 and 64 of them in turn
  infer     the network's forward pass in plain torch, sampling an action for every row
  train     its forward and backward pass and loss over [T, B] rows, one epoch, and one Adam step per batch
The last two in float32 and bfloat16 and with several numbers of rows; the fastest of each counts. Then

    reference = frame_skip * cores / (simulate + infer + train)        frames per second, times in seconds per step on one core

where so many rows are inferred at once as engines were stepped: who acts for 32 rows has 32 engines, and each finds little of itself in the caches
when its turn comes. `hot_reference` is the same with the one engine that is always in the cache: no training can have that and the batches, it is
there to show what the caches cost.

No bound: it is plain modules, torch's own ELU and autograd, and kernels of one's own may beat a part of it. What it leaves out (copying observations,
bookkeeping, reducing gradients, publishing weights) costs time on top.
"""

import argparse
import ctypes
import json
import os
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

HEIGHT, WIDTH, CHANNELS, STATE = 72, 128, 3, 512
T, BATCH_STEPS = 32, 2048
CGROUP = Path("/sys/fs/cgroup")
INFER_ROWS, TRAIN_SLOTS = (32, 64), (8, 16, 32)
# Of one measurement, on top of its own time: importing, starting its engines, the first calls.
GRACE_S = 60.0


def keep_freed_memory() -> None:
    """Else glibc gives large tensors back to the system when they are freed, and every batch pays for fresh pages."""
    libc = ctypes.CDLL(None)
    if hasattr(libc, "mallopt"):
        libc.mallopt(-3, 1 << 30)  # M_MMAP_THRESHOLD
        libc.mallopt(-1, (1 << 31) - 1)  # M_TRIM_THRESHOLD


def make_network(actions: int) -> Any:
    import torch
    from torch import Tensor, nn
    from torch.nn.functional import elu, linear

    class Network(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.convs = nn.ModuleList([nn.Conv2d(CHANNELS, 32, 8, 4), nn.Conv2d(32, 64, 4, 2), nn.Conv2d(64, 128, 3, 2)])
            self.fc, self.gru = nn.Linear(128 * 3 * 6, STATE), nn.GRUCell(STATE, STATE)
            self.heads = nn.Linear(STATE, actions + 1)
            self.convs.to(memory_format=torch.channels_last)

        def forward(self, images: Tensor, state: Tensor, keep: Tensor) -> Tensor:
            """images [T, B, H, W, C] uint8, state [B, 512], keep [T, B, 1]. Returns logits and value, [T, B, actions + 1]."""
            x = images.flatten(0, 1).permute(0, 3, 1, 2).to(torch.get_autocast_dtype("cpu") if torch.is_autocast_enabled("cpu") else torch.float32)
            x = x * (1 / 255)
            for conv in self.convs:
                x = elu(conv(x), inplace=True)
            products = linear(elu(self.fc(x.flatten(1))), self.gru.weight_ih, self.gru.bias_ih).view(*images.shape[:2], -1)
            states = []
            for t in range(len(products)):
                state = state * keep[t]
                hidden = linear(state, self.gru.weight_hh, self.gru.bias_hh)
                reset, update = torch.sigmoid(products[t, :, : 2 * STATE] + hidden[:, : 2 * STATE]).chunk(2, 1)
                candidate = torch.tanh(products[t, :, 2 * STATE :] + reset * hidden[:, 2 * STATE :])
                state = (candidate + update * (state - candidate)).float()
                states.append(state)
            return self.heads(torch.stack(states)).float()

    return Network()


def start_engine(scenario: str) -> Any:
    """scenario: the path of a .cfg file, or the name of one of ViZDoom's."""
    import vizdoom

    game = vizdoom.DoomGame()
    game.load_config(scenario if scenario.endswith(".cfg") else str(Path(vizdoom.scenarios_path) / f"{scenario}.cfg"))
    game.set_screen_resolution(vizdoom.ScreenResolution.RES_160X120)
    game.set_screen_format(vizdoom.ScreenFormat.RGB24)
    game.set_window_visible(False)
    game.set_mode(vizdoom.Mode.PLAYER)
    game.init()
    return game


def simulate_step(scenario: str, skip: int, engines: int, seconds: float) -> float:
    """Seconds per step of so many engines in turn."""
    games = [start_engine(scenario) for _ in range(engines)]
    buttons = len(games[0].get_available_buttons())

    def step() -> None:
        for game in games:
            game.make_action([random.randint(0, 1) for _ in range(buttons)], skip)
            if game.is_episode_finished():
                game.new_episode()
            game.get_state()

    try:
        return timed(step, engines, seconds)
    finally:
        for game in games:
            game.close()


def timed(step: Callable[[], None], rows: int, seconds: float) -> float:
    """Seconds per row."""
    step()
    step()
    count, began = 0, time.perf_counter()
    while (taken := time.perf_counter() - began) < seconds:
        step()
        count += rows
    return taken / count


def infer_step(bfloat16: bool, rows: int, seconds: float) -> float:
    """Seconds per row of a forward pass of so many. Weights are converted once: they change far more rarely than they are used."""
    import torch

    network = make_network(8)
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

    return timed(step, rows, seconds)


def train_step(bfloat16: bool, slots: int, cores: int, seconds: float) -> float:
    """Seconds per row of passes over T rows of so many slots at a time, with an Adam step where a batch is complete."""
    import torch

    network = make_network(8)
    optimizer = torch.optim.Adam(network.parameters(), 1e-4, fused=True)
    images = torch.randint(0, 255, (T, slots, HEIGHT, WIDTH, CHANNELS), dtype=torch.uint8)
    state, keep, targets = torch.zeros(slots, STATE), torch.ones(T, slots, 1), torch.randint(0, 8, (T, slots, 1))
    done = 0

    def step() -> None:
        nonlocal done
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=bfloat16):
            out = network(images, state, keep)
        log_probs = out[..., :-1].log_softmax(-1)
        (out[..., -1].square().sum() - log_probs.gather(-1, targets).sum() + (log_probs.exp() * log_probs).sum()).backward()
        done += T * slots
        # Of a batch that all cores share, every core has its part.
        if done >= BATCH_STEPS / cores:
            done = 0
            optimizer.step()
            optimizer.zero_grad(set_to_none=False)

    return timed(step, T * slots, seconds)


def usable_cores() -> list[int]:
    """Those to measure on: as many of the allowed ones as the cgroup's quota is worth, at least one."""
    allowed, quota = sorted(os.sched_getaffinity(0)), cpu_quota()
    return allowed if quota is None else allowed[: max(1, int(quota))]


def cpu_quota() -> float | None:
    """Cores that the cgroup (v2, else v1) grants, None where it sets no limit."""
    words = read(CGROUP / "cpu.max").split() or [read(CGROUP / "cpu/cpu.cfs_quota_us"), read(CGROUP / "cpu/cpu.cfs_period_us")]
    limited = len(words) == 2 and all(word.isdigit() and int(word) > 0 for word in words)
    return int(words[0]) / int(words[1]) if limited else None


def read(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii").strip()
    except OSError:
        return ""


def measure(options: argparse.Namespace) -> None:
    """What one of the processes does. Prints JSON: name -> seconds per step, by round."""
    os.sched_setaffinity(0, {options.core})
    keep_freed_memory()
    import torch

    torch.set_num_threads(1)
    precisions = (True, False) if torch.cpu._is_avx512_bf16_supported() else (False,)
    parts: dict[str, Callable[[float], float]] = {}
    for engines in (1, *INFER_ROWS):
        parts[f"simulate {engines} engines"] = lambda seconds, n=engines: simulate_step(options.scenario, options.frame_skip, n, seconds)
    for bfloat16 in precisions:
        word = "bfloat16" if bfloat16 else "float32"
        for rows in INFER_ROWS:
            parts[f"infer {word} {rows} rows"] = lambda seconds, b=bfloat16, n=rows: infer_step(b, n, seconds)
        for slots in TRAIN_SLOTS:
            parts[f"train {word} {slots} slots"] = lambda seconds, b=bfloat16, n=slots: train_step(b, n, options.cores, seconds)
    found: dict[str, list[float]] = {name: [] for name in parts}
    for _ in range(options.rounds):
        for name, part in parts.items():
            found[name].append(part(options.seconds))
    print(json.dumps(found))


# --- all cores at the same time --------------------------------------------------------------------------------------------------------------


def answers_of(cores: Sequence[int], options: argparse.Namespace) -> list[dict[str, list[float]]]:
    """What every core's process measured. Whatever happens, none is left, nor an engine, nor a folder. Raises: SystemExit when one fails."""
    words = [f"--scenario={options.scenario}", f"--frame-skip={options.frame_skip}", f"--seconds={options.seconds}", f"--rounds={options.rounds}"]
    command = [sys.executable, str(Path(__file__).resolve()), *words, f"--cores={len(cores)}"]
    limit_s = options.rounds * (1 + 3 * len(INFER_ROWS) + 2 * len(TRAIN_SLOTS)) * (options.seconds + GRACE_S)
    running: list[subprocess.Popen[bytes]] = []
    with tempfile.TemporaryDirectory(prefix="roofline-", ignore_cleanup_errors=True) as folder:
        try:
            for core in cores:
                running.append(start(core, command, Path(folder)))  # noqa: PERF401  when one does not start, those before it are known
            wait_for_all(running, cores, limit_s)
            return [json.loads(process.communicate(timeout=limit_s)[0]) for process in running]
        except BaseException:
            for process in running:
                end(process)
            raise


def start(core: int, command: Sequence[str], folder: Path) -> subprocess.Popen[bytes]:
    """In a folder of its own, where its engine writes a file, and in a group of its own, which its engine is killed with."""
    (place := folder / str(core)).mkdir()
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    return subprocess.Popen([*command, f"--core={core}"], stdout=subprocess.PIPE, env=environment, cwd=place, start_new_session=True)


def wait_for_all(running: Sequence[subprocess.Popen[bytes]], cores: Sequence[int], limit_s: float) -> None:
    """Their answers are short: no pipe fills up meanwhile."""
    deadline = time.monotonic() + limit_s
    while None in (codes := [process.poll() for process in running]):
        if time.monotonic() > deadline:
            late = [str(core) for core, code in zip(cores, codes, strict=True) if code is None]
            raise SystemExit(f"no answer of the measurement on core {', '.join(late)} within {limit_s:g} s")
        refuse_failed(codes, cores)
        time.sleep(0.2)
    refuse_failed(codes, cores)


def refuse_failed(codes: Sequence[int | None], cores: Sequence[int]) -> None:
    for core, code in zip(cores, codes, strict=True):
        if code:
            raise SystemExit(f"the measurement on core {core} ended with {code}; what it said stands above")


def end(process: subprocess.Popen[bytes]) -> None:
    """With its engine."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        return
    finally:
        process.wait()


def least(times: dict[str, float], begin: str, end: str = "") -> str:
    """Which of those so named takes the least time."""
    return min((name for name in times if name.startswith(begin) and name.endswith(end)), key=times.__getitem__)


def report(options: argparse.Namespace) -> dict[str, Any]:
    cores = usable_cores()
    answers = answers_of(cores, options)
    times = {name: statistics.median(value for answer in answers for value in answer[name]) for name in answers[0]}
    infer = {rows: least(times, "infer", f"{rows} rows") for rows in INFER_ROWS}
    train = least(times, "train")
    acting = min(((f"simulate {rows} engines", infer[rows]) for rows in INFER_ROWS), key=lambda pair: times[pair[0]] + times[pair[1]])
    hot = ("simulate 1 engines", min(infer.values(), key=times.__getitem__))
    frames = options.frame_skip * len(cores)
    return {
        "scenario": options.scenario,
        "cores": len(cores),
        "microseconds_per_step": {name: round(seconds * 1e6, 1) for name, seconds in times.items()},
        "best": [*acting, train],
        "pure_simulation_frames_per_s": round(frames / times[acting[0]]),
        "reference_frames_per_s": round(frames / (times[acting[0]] + times[acting[1]] + times[train])),
        "hot_reference_frames_per_s": round(frames / (times[hot[0]] + times[hot[1]] + times[train])),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scenario", default="health_gathering_supreme", help="one of ViZDoom's by its name, or the path of a .cfg file")
    parser.add_argument("--frame-skip", type=int, default=4)
    parser.add_argument("--seconds", type=float, default=4.0, help="of every measurement")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", type=Path, default=None)
    parser.add_argument("--core", type=int, default=None, help=argparse.SUPPRESS)
    parser.add_argument("--cores", type=int, default=1, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.core is not None:
        measure(options)
        return
    if options.scenario.endswith(".cfg"):
        # The processes run elsewhere.
        options.scenario = str(Path(options.scenario).expanduser().resolve())
        if not Path(options.scenario).is_file():
            raise SystemExit(f"--scenario: no file {options.scenario}")
    found = report(options)
    for name, microseconds in found["microseconds_per_step"].items():
        print(f"{name:<28}{microseconds:>9.1f} us per step and core{'   <-- best' if name in found['best'] else ''}")
    print(f"{'pure simulation':<28}{found['pure_simulation_frames_per_s']:>9} frames/s on {found['cores']} cores")
    print(f"{'bare torch reference':<28}{found['reference_frames_per_s']:>9} frames/s")
    print(f"{'with one engine, always hot':<28}{found['hot_reference_frames_per_s']:>9} frames/s")
    if options.json is not None:
        options.json.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
