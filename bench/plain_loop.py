"""A plain loop of torch that learns connect four: what the machine could do without a system.

    python -m bench.plain_loop --recipe light --seconds 20

One process on each core plays the program's own connect four in C at `--tables` tables and learns
from every move, with Adam and PPO's clipped loss: T moves of all tables, then some passes over each
batch of them, in some parts. Both seats are one network, so the value of the next position is minus
that of the mover's opponent. There are no slots, members, opponents, messages, league or
checkpoints, and the processes do not share their gradients: an upper limit for training that does
all that. There are two recipes:

  light  the network (64, 64), and one pass over batches of 4 096 in one part
  demo   the network, batch, parts and passes of configs/demo.toml
"""

import argparse
import time
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.functional import linear

from bench.each_core import on_each_core
from pbt.envs.classic.connect_four import COLUMNS, ROWS, RULES
from pbt.envs.native_games import NativeTables

ROLLOUT = 16
GAMMA, LAMBDA, CLIP, ENTROPY, VALUE, NORM = 0.95, 0.8, 1.2, 0.02, 0.5, 4.0


class Recipe(NamedTuple):
    """What is trained, and how.

    layers    (channels, kernel) of the convolutions
    hidden    widths of the dense layers behind them
    batch     moves
    parts     of a batch, each of which is a step of the optimiser
    passes    over a batch
    """

    layers: tuple[tuple[int, int], ...]
    hidden: tuple[int, ...]
    batch: int
    parts: int
    passes: int


RECIPES = {
    "light": Recipe((), (64, 64), 4096, 1, 1),
    "demo": Recipe(((64, 4), (64, 1)), (), 8192, 16, 2),
}


class Network(nn.Module):
    """Logits of the columns and a value, from a board."""

    def __init__(self, recipe: Recipe) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        channels, height, width = 2, ROWS, COLUMNS
        for to, kernel in recipe.layers:
            layers += [nn.Conv2d(channels, to, kernel), nn.ReLU()]
            channels, height, width = to, height - kernel + 1, width - kernel + 1
        layers.append(nn.Flatten())
        widths = (height * width * channels, *recipe.hidden)
        for one, other in pairwise(widths):
            layers += [nn.Linear(one, other), nn.ReLU()]
        self.layers, self.heads = nn.Sequential(*layers), nn.Linear(widths[-1], COLUMNS + 1)

    def forward(self, boards: Tensor, masks: Tensor) -> tuple[Tensor, Tensor]:
        """Log-probabilities [N, COLUMNS] and values [N]. boards: [N, cells] int8."""
        images = boards.view(-1, ROWS, COLUMNS, 2).permute(0, 3, 1, 2).to(torch.float32)
        out = linear(self.layers(images), self.heads.weight, self.heads.bias)
        return out[:, :-1].masked_fill(~masks, -1e9).log_softmax(-1), out[:, -1]


class Loop:
    """Tables, a rollout of all of them, and a learner."""

    def __init__(self, tables: int, seed: int, recipe: Recipe) -> None:
        torch.manual_seed(seed)
        self._recipe = recipe
        self.tables, self._games = tables, NativeTables(RULES, tables)
        self._rng = np.random.default_rng(seed)
        rows = (ROLLOUT + 1, tables)
        self.boards = np.zeros((*rows, ROWS * COLUMNS * 2), np.int8)
        self.masks = np.zeros((*rows, COLUMNS), np.bool_)
        self.actions, self.log_probs = np.zeros(rows, np.int64), np.zeros(rows, np.float32)
        self.rewards, self.over = np.zeros(rows, np.float32), np.zeros(rows, np.bool_)
        self.network = Network(recipe)
        self._optimizer = torch.optim.Adam(self.network.parameters(), 2e-3, foreach=True)
        everyone = np.arange(tables)
        self._seats = self._games.begin(everyone, everyone).seat
        self._places = everyone

    def rollout(self) -> None:
        """Play ROLLOUT moves at every table."""
        for t in range(ROLLOUT + 1):
            columns = self.boards[t].ctypes.data, self.masks[t].ctypes.data
            self._games.observe(self._places, self._seats, self._places, *columns)
            if t < ROLLOUT:
                self._move(t)

    def _move(self, t: int) -> None:
        with torch.inference_mode():
            boards, masks = torch.from_numpy(self.boards[t]), torch.from_numpy(self.masks[t])
            chances, _ = self.network(boards, masks)
            drawn = torch.from_numpy(self._rng.random((self.tables, 1), np.float32))
            sums = chances.exp().cumsum(1)
            actions = (sums <= drawn * sums[:, -1:]).sum(1, keepdim=True)
            self.log_probs[t] = chances.gather(1, actions)[:, 0].numpy()
        self.actions[t] = actions[:, 0].numpy()
        turns = self._games.step(self._places, self._seats, self.actions[t])
        movers = self._seats[turns.position]
        self.over[t], self.rewards[t] = False, 0.0
        ended = turns.terminated & (turns.seat == movers)
        self.over[t, turns.position[ended]] = True
        self.rewards[t, turns.position[ended]] = turns.rewards[ended, 0]
        going = ~turns.terminated
        self._seats[turns.position[going]] = turns.seat[going]
        again = turns.position[ended]
        if len(again):
            self._seats[again] = self._games.begin(again, again).seat

    def learn(self) -> int:
        """Learn from the rollout, batch by batch. Returns the moves."""
        recipe = self._recipe
        per_batch = recipe.batch // ROLLOUT
        per_part = per_batch // recipe.parts
        for start in range(0, self.tables, per_batch):
            end = min(start + per_batch, self.tables)
            for _ in range(recipe.passes):
                for first in range(start, end, per_part):
                    self._update(slice(first, min(first + per_part, end)))
        return ROLLOUT * self.tables

    def _update(self, own: slice) -> None:
        boards, masks = torch.from_numpy(self.boards[:, own]), torch.from_numpy(self.masks[:, own])
        chances, values = self.network(boards.flatten(0, 1), masks.flatten(0, 1))
        values = values.view(ROLLOUT + 1, -1)
        chances = chances.view(ROLLOUT + 1, -1, COLUMNS)[:-1]
        actions = torch.from_numpy(self.actions[:-1, own]).unsqueeze(-1)
        acted = chances.gather(-1, actions)[..., 0]
        advantages = torch.from_numpy(self._advantages(values.detach().numpy(), own))
        targets = advantages + values[:-1].detach()
        scaled = (advantages - advantages.mean()) / (advantages.std() + 1e-5)
        ratios = (acted - torch.from_numpy(self.log_probs[:-1, own])).exp()
        surrogate = torch.minimum(ratios * scaled, ratios.clamp(1 / CLIP, CLIP) * scaled).mean()
        entropy = -(chances.exp() * chances).sum(-1).mean()
        loss = VALUE * (targets - values[:-1]).square().mean() - surrogate - ENTROPY * entropy
        self._optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(self.network.parameters(), NORM)
        self._optimizer.step()

    def _advantages(self, values: NDArray[np.float32], own: slice) -> NDArray[np.float32]:
        """Generalised advantages; the position after a move is the opponent's."""
        advantages, later = np.zeros_like(values[:-1]), np.zeros_like(values[0])
        for t in range(ROLLOUT - 1, -1, -1):
            goes_on = GAMMA * ~self.over[t, own]
            delta = self.rewards[t, own] - goes_on * values[t + 1] - values[t]
            later = delta - goes_on * LAMBDA * later
            advantages[t] = later
        return advantages


def rows_per_s(seconds: float, recipe: str, tables: int = 256) -> float:
    """Moves learned a second, in this process. recipe: a key of RECIPES."""
    torch.set_num_threads(1)
    chosen = RECIPES[recipe]
    loop, rows = Loop(max(tables, chosen.batch // ROLLOUT), 1, chosen), 0
    began = time.perf_counter()
    while (passed := time.perf_counter() - began) < seconds:
        loop.rollout()
        rows += loop.learn()
    return rows / passed


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--recipe", choices=RECIPES, default="light")
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument(
        "--tables",
        type=int,
        default=256,
        help="of each process, at least; a rollout is a batch or more",
    )
    options = parser.parse_args()
    speed = on_each_core(rows_per_s, options.seconds, options.recipe, options.tables)
    print(f"{speed:,.0f} moves/s learned")


if __name__ == "__main__":
    main()
