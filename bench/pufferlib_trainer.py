"""One run of PufferLib's trainer on its connect four: a program for PufferLib's own environment.

`bench/pufferlib.py` calls it and says what its figures mean. It imports nothing of this project,
and writes the versions and figures of the run to the file of --json.
"""

import argparse
import json
import re
import statistics
import sys
import time
from collections.abc import Callable
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

GAME, GAME_ALONE = "puffer_connect4", "game"
HORIZON, HIDDEN, WORKERS = 64, 64, 2
FOREVER = 10**12
UNTIMED, RANDOM_GAMES = 3, 1024
PACKAGES = ("pufferlib", "torch", "numpy", "gymnasium")
_SETTING = re.compile(r"(serial|sync|half)-([1-9]\d*)-([1-9]\d*)-([1-9]\d*)")

Figures = dict[str, float | None]
"""Name -> figure; None where a setting does not have it."""


class Setting(NamedTuple):
    """What a setting's word says."""

    backend: str
    environments: int
    minibatch: int
    threads: int


def setting_of(word: str) -> Setting:
    """The parts of a word. Raises: argparse.ArgumentTypeError when it is no setting."""
    parts = _SETTING.fullmatch(word)
    if parts is None:
        raise argparse.ArgumentTypeError(
            f"{word!r} is no setting: expected BACKEND-ENVIRONMENTS-MINIBATCH-THREADS, as "
            "serial-512-4096-1, where BACKEND is serial, sync or half"
        )
    setting = Setting(parts[1], *map(int, parts.groups()[1:]))
    batch = setting.environments * HORIZON
    if batch % setting.minibatch or setting.minibatch % HORIZON or setting.environments % WORKERS:
        raise argparse.ArgumentTypeError(
            f"{word!r}: expected an even number of environments, and a minibatch of whole segments "
            f"of {HORIZON} that divides the batch of {batch} rows"
        )
    return setting


class Clock:
    """Adds up the time of calls."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def of(self, call: Callable[..., Any]) -> Callable[..., Any]:
        """The call, timed."""

        def timed(*given: Any) -> Any:
            began = time.perf_counter()
            answer = call(*given)
            self.seconds += time.perf_counter() - began
            return answer

        return timed


def game_alone(seconds: float) -> Figures:
    """Rows per second of random moves, without any trainer."""
    np, ocean = import_module("numpy"), import_module("pufferlib.ocean")
    game = ocean.env_creator(GAME)(num_envs=RANDOM_GAMES)
    game.reset(1)
    moves = np.random.default_rng(1).integers(0, 7, (64, RANDOM_GAMES))
    steps, began = 0, time.perf_counter()
    while (passed := time.perf_counter() - began) < seconds:
        game.step(moves[steps % len(moves)])
        steps += 1
    return {"rows_per_s": steps * RANDOM_GAMES / passed}


def trainer_of(setting: Setting, layers: int) -> Any:
    """PufferLib's trainer, with its games."""
    torch, pufferl = import_module("torch"), import_module("pufferlib.pufferl")
    torch.set_num_threads(setting.threads)
    torch.manual_seed(1)
    config = pufferl.load_config(GAME)
    workers = 1 if setting.backend == "serial" else WORKERS
    config["env"] = {"num_envs": setting.environments // workers}
    config["vec"] = {"backend": "Serial", "num_envs": 1, "seed": 1}
    if workers > 1:
        at_once = 1 if setting.backend == "half" else workers
        config["vec"] |= {
            "backend": "Multiprocessing",
            "num_envs": workers,
            "num_workers": workers,
            "batch_size": at_once,
            "overwork": True,
        }
    config |= {"rnn_name": None, "policy": {"hidden_size": HIDDEN}}
    config["train"] |= {
        "env": GAME,
        "use_rnn": False,
        "device": "cpu",
        "optimizer": "adam",
        "learning_rate": 2e-3,
        "total_timesteps": FOREVER,
        "update_epochs": 1,
        "bptt_horizon": HORIZON,
        "minibatch_size": setting.minibatch,
        "max_minibatch_size": setting.minibatch,
    }
    games = pufferl.load_env(GAME, config)
    policy = pufferl.load_policy(config, games)
    for _ in range(layers - 1):
        policy.encoder.append(torch.nn.Linear(HIDDEN, HIDDEN)).append(torch.nn.GELU())
    return pufferl.PuffeRL(config["train"], games, policy)


def learned(setting: Setting, options: argparse.Namespace) -> Figures:
    """The figures of one run of a setting."""
    trainer, games = trainer_of(setting, options.layers), Clock()
    trainer.print_dashboard = lambda *_, **__: None
    trainer.vecenv.send = games.of(trainer.vecenv.send)
    trainer.vecenv.recv = games.of(trainer.vecenv.recv)
    try:
        for_seconds(trainer, options.warmup)
        games.seconds, played = 0.0, trainer.global_step
        rows, idle, seconds = for_seconds(trainer, options.seconds)
        played, in_games = trainer.global_step - played, games.seconds
        distinct = distinct_share(trainer)
    finally:
        trainer.close()
    serial = setting.backend == "serial"
    return {
        "learned_per_s": rows / seconds,
        "played_per_s": played / seconds,
        "games": in_games / seconds,
        "without_games": rows / (seconds - in_games) if serial else None,
        "distinct": distinct,
        "idle": idle,
        "rows": rows,
        "seconds": seconds,
    }


def for_seconds(trainer: Any, seconds: float) -> tuple[int, float, float]:
    """Train for so long, and to the end of the batch.

    Returns the learned rows, the share of the played ones that are idle, and the seconds.
    """
    rows, idle, began = 0, [], time.perf_counter()
    while (passed := time.perf_counter() - began) < seconds or not rows:
        trainer.evaluate()
        trainer.train()
        rows += trainer.total_minibatches * trainer.minibatch_size
        idle.append(float(trainer.terminals.mean()))
    return rows, statistics.fmean(idle), passed


def distinct_share(trainer: Any) -> float:
    """The share of a batch's segments that are learned at all, over some more batches."""
    if trainer.total_minibatches == 1:
        return 1.0  # it is drawn without replacement
    torch: Any = import_module("torch")
    draw, drawn = torch.multinomial, set[int]()

    def noted(*given: Any, **named: Any) -> Any:
        answer = draw(*given, **named)
        drawn.update(answer.tolist())
        return answer

    shares = []
    for _ in range(UNTIMED):
        trainer.evaluate()
        drawn.clear()
        # In `train` nothing else is drawn: its moves are those of `evaluate`.
        torch.multinomial = noted
        try:
            trainer.train()
        finally:
            torch.multinomial = draw
        shares.append(len(drawn) / trainer.segments)
    return statistics.fmean(shares)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("run", help=f"a setting, or {GAME_ALONE!r} for the game alone")
    parser.add_argument("--layers", type=int, required=True)
    parser.add_argument("--seconds", type=float, required=True)
    parser.add_argument("--warmup", type=float, required=True)
    parser.add_argument("--json", type=Path, required=True)
    options = parser.parse_args()
    sys.argv = sys.argv[:1]  # PufferLib reads the command line as well
    if options.run == GAME_ALONE:
        figures = game_alone(options.seconds)
    else:
        figures = learned(setting_of(options.run), options)
    versions = {name: version(name) for name in PACKAGES}
    answer = {"versions": versions, "figures": figures}
    options.json.write_text(json.dumps(answer), encoding="utf-8")


if __name__ == "__main__":
    main()
