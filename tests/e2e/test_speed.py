"""A guard against slow code: ratios of speeds within one interleaved run, since machines are
shared. Bounds: half of what was measured, or less, on the slowest kind of machine (one without
bfloat16, where training takes a larger part).
"""

import statistics
import time
from collections.abc import Callable, Iterator

import pytest
import torch

from bench.memory import MemorySink, MemoryStore, NoControl
from bench.throughput import Training, simulation_speed
from pbt.config.load import load_config
from pbt.envs import registry
from pbt.envs.classic import connect_four
from pbt.envs.doom.game import DoomGame, make
from pbt.models import pixels
from pbt.models.activations import elu
from pbt.native import elu_bf16, elu_float32, pixel_blocks_bf16
from pbt.runtime.assembly import assemble
from pbt.runtime.serial import SerialEngine

pytestmark = pytest.mark.slow

ROUNDS = 5


def ratio(fast: Callable[[], float], slow: Callable[[], float]) -> float:
    """Median over the rounds of how many times the first is as fast as the second."""
    return statistics.median(fast() / slow() for _ in range(ROUNDS))


def test_connect_four_is_learned_at_a_fair_part_of_the_speed_at_which_it_is_played() -> None:
    training = Training("demo", None)
    # The game in Python: that in C takes next to no time, and would be no measure.
    simulation = simulation_speed(training.population.blueprint.tables, connect_four.TWIN)
    assert ratio(lambda: training(2.0), lambda: simulation(1.0)) > 0.12


@pytest.fixture
def engine() -> Iterator[DoomGame]:
    game = make(scenario="health_gathering_supreme")
    game.reset(1)
    yield game
    game.close()


def test_doom_is_learned_at_a_fair_part_of_the_speed_of_its_engine(engine: DoomGame) -> None:
    """One process, so that both use one core at a time: engine steps per second alone, and steps
    learned per second.
    """
    config = load_config(
        "doom_health_gathering_supreme", ["sampling.environments=16", "learning.batch_steps=512"]
    )
    sink, store = MemorySink(), MemoryStore()
    population = assemble(config, registry.spec("doom"), sink, store)
    population.controller.start()
    training = SerialEngine(population, sink, NoControl())

    def learned(seconds: float) -> float:
        rows, started = training.rows_trained, time.perf_counter()
        while time.perf_counter() - started < seconds or training.rows_trained == rows:
            training.turn()
        return (training.rows_trained - rows) / (time.perf_counter() - started)

    def played(seconds: float) -> float:
        steps, started = 0, time.perf_counter()
        while time.perf_counter() - started < seconds:
            if engine.step({0: (steps % 3, 1)})[0].over:
                engine.reset(steps)
            steps += 1
        return steps / (time.perf_counter() - started)

    try:
        learned(2.0)
        assert ratio(lambda: learned(3.0), lambda: played(1.0)) > 0.055
    finally:
        training.close()


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32])
def test_the_native_kernel_is_faster_than_what_it_replaces(dtype: torch.dtype) -> None:
    if elu_bf16() is None or elu_float32() is None:
        pytest.skip("no C compiler when this was installed")
    values = torch.randn(1 << 20).to(dtype)

    def speed(act: Callable[[torch.Tensor], torch.Tensor]) -> float:
        best = min(_timed(act, values.clone()) for _ in range(5))
        return 1.0 / best

    with torch.inference_mode():
        assert ratio(lambda: speed(elu), lambda: speed(torch.nn.functional.elu_)) > 2.0


def test_pixels_are_laid_out_faster_than_torch_does(monkeypatch: pytest.MonkeyPatch) -> None:
    if pixel_blocks_bf16() is None:
        pytest.skip("no C compiler when this was installed")
    images = torch.randint(0, 256, (64, 72, 128, 3), dtype=torch.uint8)
    normal = torch.full((72 * 128 * 3,), 0.01), torch.zeros(72 * 128 * 3)

    def speed(kernel: object) -> float:
        monkeypatch.setattr(pixels, "pixel_blocks_bf16", lambda: kernel)
        return 1.0 / min(
            _timed(lambda values: pixels.prepare(values, torch.bfloat16, normal, 4), images)
            for _ in range(5)
        )

    with torch.inference_mode():
        assert ratio(lambda: speed(pixel_blocks_bf16()), lambda: speed(None)) > 2.0


def _timed(act: Callable[[torch.Tensor], object], values: torch.Tensor) -> float:
    started = time.perf_counter()
    act(values)
    return time.perf_counter() - started
