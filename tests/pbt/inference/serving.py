"""A policy server in a process of its own, and what both sides must agree on.

The game is tic-tac-toe, with two live members and frozen opponents that are known by name.
"""

import json
import os
import select
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch

from pbt.config.schema import RunConfig
from pbt.envs import registry
from pbt.inference.policy_server import HostedPolicy, NetworkPolicy, PolicyServer, ScriptedPolicy
from pbt.inference.remote import PolicyService
from pbt.models.policy_model import PolicyModel, build_model
from pbt.models.weights import MODEL_PREFIX
from pbt.records import PlayerRef
from pbt.runtime.blueprint import game_layouts, game_maker
from pbt.transport.fifo import attach_fifo, make_fifo
from pbt.transport.memory import Region
from pbt.transport.process_board import ProcessBoard, board_bytes
from pbt.transport.slab import Slab, slab_bytes
from pbt.transport.weights import PublishedWeights, published_bytes

CONFIG = RunConfig.model_validate(
    {
        "env": {"name": "tictactoe"},
        "sampling": {"rollout_steps": 4},
        "model": {"core": "gru", "gru_size": 8, "hidden": [8]},
    }
)
MEMBERS = 2
# A worker's policy slots for frozen players: fewer than there are players, so they take turns.
FROZEN = range(MEMBERS, MEMBERS + 2)
FROZEN_PLAYERS = (
    PlayerRef("snapshot", "11"),
    PlayerRef("snapshot", "12"),
    PlayerRef("scripted", "random"),
)

MAKE_GAME = game_maker(CONFIG, registry.spec("tictactoe"))
(LAYOUT,) = game_layouts(MAKE_GAME(), CONFIG)


def model_of(seed: int) -> PolicyModel:
    model = build_model(LAYOUT, CONFIG.model, seed=seed)
    with torch.no_grad():
        # A fresh policy hardly looks; this one does.
        model.heads.weight.mul_(100.0)
    return model


def load(player: PlayerRef, role: int) -> HostedPolicy:
    """Snapshots are named by the seed of their weights."""
    assert role == 0
    return (
        ScriptedPolicy(LAYOUT.actions.random_act)
        if player.kind == "scripted"
        else NetworkPolicy(model_of(int(player.name)), player.name)
    )


def state_of(seed: int) -> dict[str, torch.Tensor]:
    """What a learner publishes: the weights and more."""
    return {MODEL_PREFIX + name: tensor for name, tensor in model_of(seed).state_dict().items()} | {
        "clocks": torch.zeros(2, dtype=torch.int64)
    }


class Plane:
    """What both processes share. Built here; attached to by `serve`."""

    def __init__(self, kind: str, slots: int, delay_s: float = 0.0) -> None:
        self.slots, self.delay_s = slots, delay_s
        self._regions = [
            Region.create("slab", slab_bytes(LAYOUT, slots)),
            Region.create("board", board_bytes(2)),
        ]
        self._regions += [
            Region.create("weights", published_bytes(state_of(0))) for _ in range(MEMBERS)
        ]
        self.slab, self.board = (
            Slab(LAYOUT, slots, self._regions[0]),
            ProcessBoard(2, self._regions[1]),
        )
        self.published = [
            PublishedWeights(state_of(seed), region)
            for seed, region in enumerate(self._regions[2:])
        ]
        self.requests, self.replies = make_fifo(kind, 1 << 17), make_fifo(kind, 1 << 17)

    @contextmanager
    def server(self) -> Iterator[subprocess.Popen[str]]:
        """A running server process; it ends at the end of its input."""
        plan = {
            "slots": self.slots,
            "delay_s": self.delay_s,
            "regions": [[region.fd, region.size] for region in self._regions],
            "requests": self.requests.handle(),
            "replies": self.replies.handle(),
        }
        descriptors = (
            *(region.fd for region in self._regions),
            *self.requests.descriptors,
            *self.replies.descriptors,
        )
        command = [sys.executable, "-P", "-m", "tests.pbt.inference.serving", json.dumps(plan)]
        environment = {
            **os.environ,
            "PYTHONPATH": str(Path(__file__).resolve().parents[3]),
            "OMP_NUM_THREADS": "1",
        }
        process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            pass_fds=descriptors,
            env=environment,
        )
        assert process.stdin is not None and process.stdout is not None
        try:
            assert process.stdout.readline() == "ready\n"
            yield process
            process.stdin.close()
            assert process.wait(30) == 0
        finally:
            process.kill()
            process.wait()
            process.stdin.close()
            process.stdout.close()

    def close(self) -> None:
        for part in (*self._regions, self.requests, self.replies):
            part.close()


@contextmanager
def plane(kind: str, slots: int, delay_s: float = 0.0) -> Iterator[Plane]:
    """A sampling plane whose server runs."""
    built = Plane(kind, slots, delay_s)
    try:
        with built.server():
            yield built
    finally:
        built.close()


def serve(plan: Mapping[str, object]) -> None:
    torch.set_num_threads(1)
    regions = [Region.attach(*region) for region in plan["regions"]]  # type: ignore[attr-defined]
    slab = Slab(LAYOUT, plan["slots"], regions[0])  # type: ignore[arg-type]
    frozen = range(MEMBERS, MEMBERS + len(FROZEN))
    server = PolicyServer([slab], frozen.stop)
    for policy, region in enumerate(regions[2:]):
        server.attach(
            policy,
            NetworkPolicy(model_of(99), "m0", PublishedWeights(state_of(99), region, owner=False)),
        )
    plans: Any = plan
    requests, replies = attach_fifo(plans["requests"]), attach_fifo(plans["replies"])
    row = ProcessBoard(2, regions[1]).row(1)
    service = PolicyService(
        server, requests, {0: replies}, load, frozen, row, delay_s=plan["delay_s"]
    )  # type: ignore[arg-type]
    print("ready", flush=True)
    while not select.select([sys.stdin], [], [], 0)[0]:
        service.step(0.02)


if __name__ == "__main__":
    serve(json.loads(sys.argv[1]))
