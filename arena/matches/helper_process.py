"""A helper process of a match plays batches of its games.

`arena.matches.helper_group` starts it as `python -P -m arena.matches.helper_process DESCRIPTOR`
and talks to it over the socket with that descriptor.
"""

import json
import socket
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from pbt.processes.messages import Failed
from pbt.processes.tie_to_parent import leave, settle
from pbt.transport.channel import Channel, PeerGone
from pbt.transport.child import Wires
from pbt.transport.messages import GameEnd, JsonState
from pbt.transport.wire import Wire

if TYPE_CHECKING:
    from arena.matches.plan import MatchPlan
    from arena.players.resolve import ResolvedPlayer

_WAIT_S = 60.0


class Order(NamedTuple):
    """Main to helper, the first message: the match in plain values, as `order_of` writes it."""

    match: JsonState


class PlayBatch(NamedTuple):
    """Main to helper: games of the plan that are to be played together.

    batch   number of the batch in the plan
    wanted  indices of the games to play
    tries   of each of them, how often it was spoiled before
    """

    batch: int
    wanted: tuple[int, ...]
    tries: tuple[int, ...]


class BatchPlayed(NamedTuple):
    """Helper to main, after the last game of the batch."""

    batch: int


WIRES = Wires(outgoing=(Order, PlayBatch), incoming=(GameEnd, BatchPlayed, Failed))


def order_of(plan: "MatchPlan") -> JsonState:
    """The match in plain values. None of its players may be a program."""
    return {
        "players": [_plain(player) for player in plan.players],
        "measured": [plan.whole, plan.chance],
        "games": plan.games,
        "seed": plan.seed,
        "greedy": plan.greedy,
        "plies": plan.opening_plies,
        "batch": plan.batch,
        "objective": plan.objective,
    }


def _plain(player: "ResolvedPlayer") -> dict[str, Any]:
    assert player.program is None
    return {
        **vars(player),
        "ref": [player.ref.kind, player.ref.name],
        "env_options": dict(player.env_options),
        "config": None if player.config is None else player.config.model_dump_json(),
        "snapshots": None if player.snapshots is None else str(player.snapshots),
    }


def _player(values: dict[str, Any]) -> "ResolvedPlayer":
    from arena.players.resolve import ResolvedPlayer
    from pbt.config.stored import config_as_stored
    from pbt.records import PlayerRef

    return ResolvedPlayer(
        **{
            **values,
            "ref": PlayerRef(*values["ref"]),
            "config": None
            if values["config"] is None
            else config_as_stored(json.loads(values["config"]), "config of a player"),
            "snapshots": None if values["snapshots"] is None else Path(values["snapshots"]),
        }
    )


def help_out(channel: Channel) -> None:
    """Play batches until the main process is gone.

    Raises: PeerGone then, and any error of a game or a player.
    """
    from arena.matches.game_list import BatchTables
    from arena.matches.plan import plan_match
    from pbt.envs.registry import spec

    messages = _messages(channel)
    match = next(messages).match
    players = [_player(values) for values in match["players"]]
    replayable, chance = match["measured"]
    env = spec(players[0].env_name, allow_files=True, measured=(replayable, chance))
    plan = plan_match(
        env,
        players,
        match["games"],
        match["seed"],
        greedy=match["greedy"],
        batch=match["batch"],
        plies=match["plies"],
        objective=match["objective"],
    )
    with closing(BatchTables(env, plan, None)) as tables:
        for message in messages:
            tables.begin(message.wanted, message.tries)
            while tables.left:
                channel.send_many(tables.turn())
                tables.settle()
            channel.send(BatchPlayed(message.batch))


def _messages(channel: Channel) -> Iterator[Any]:
    """Messages of the main process, as they arrive. Raises: PeerGone."""
    while True:
        channel.wait(_WAIT_S)
        yield from channel.receive()


def main(descriptor: int) -> int:
    """Play batches for the process at the other end. Returns the exit status.

    descriptor  of the channel, which is closed at the end
    """
    sock = socket.socket(fileno=descriptor)
    with closing(
        Channel(sock, outgoing=Wire(WIRES.incoming), incoming=Wire(WIRES.outgoing))
    ) as channel:
        try:
            help_out(channel)
        except PeerGone:
            return 0
        except Exception as error:  # noqa: BLE001  # reported
            # The main process plays the rest itself, and meets a repeatable error there.
            channel.send(Failed(type(error).__name__, str(error), "", False))
    return 1


if __name__ == "__main__":
    settle(int(sys.argv[1]))
    # Imported by name: the message types of a module called __main__ would be other classes.
    from arena.matches.helper_process import main as help_main

    leave(help_main(int(sys.argv[1])))
