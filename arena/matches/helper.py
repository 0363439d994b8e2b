"""A process that helps with a match: `python -P -m arena.matches.helper DESCRIPTOR`, started by
`arena.matches.helpers`: plays batches.
"""

import socket
import sys
from collections.abc import Iterator
from contextlib import closing
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from pbt.processes.messages import Failed
from pbt.processes.settle import leave, settle
from pbt.transport.channel import Channel, PeerGone
from pbt.transport.child import Wires
from pbt.transport.messages import GameEnd, JsonState
from pbt.transport.wire import Wire

if TYPE_CHECKING:
    from arena.matches.plan import MatchPlan
    from arena.players.resolve import ResolvedPlayer

_WAIT_S = 60.0


class Order(NamedTuple):
    """main -> helper, first of all: the match, in plain values (`order_of`)."""

    match: JsonState


class PlayBatch(NamedTuple):
    """main -> helper: these games of the plan, together. tries: of each, how often it was
    spoiled before.
    """

    batch: int
    wanted: tuple[int, ...]
    tries: tuple[int, ...]


class BatchPlayed(NamedTuple):
    """helper -> main, behind the last of its games."""

    batch: int


WIRES = Wires(outgoing=(Order, PlayBatch), incoming=(GameEnd, BatchPlayed, Failed))


def order_of(plan: "MatchPlan") -> JsonState:
    """The match in plain values, without programs that play along."""
    return {
        "players": [_plain(player) for player in plan.players],
        "measured": [plan.whole, plan.chance],
        "games": plan.games,
        "seed": plan.seed,
        "greedy": plan.greedy,
        "plies": plan.opening_plies,
        "batch": plan.batch,
    }


def _plain(player: "ResolvedPlayer") -> dict[str, Any]:
    values = {field.name: getattr(player, field.name) for field in fields(player)}
    assert player.program is None
    return {
        **values,
        "ref": [player.ref.kind, player.ref.name],
        "env_options": dict(player.env_options),
        "config": None if player.config is None else player.config.model_dump_json(),
        "snapshots": None if player.snapshots is None else str(player.snapshots),
    }


def _player(values: dict[str, Any]) -> "ResolvedPlayer":
    from arena.players.resolve import ResolvedPlayer
    from pbt.config.schema import RunConfig
    from pbt.records import PlayerRef

    return ResolvedPlayer(
        **{
            **values,
            "ref": PlayerRef(*values["ref"]),
            "config": None
            if values["config"] is None
            else RunConfig.model_validate_json(values["config"]),
            "snapshots": None if values["snapshots"] is None else Path(values["snapshots"]),
        }
    )


def help_out(channel: Channel) -> None:
    """Play until the main process is gone. Raises: PeerGone then; whatever a game or a player
    raises.
    """
    from arena.matches.batches import BatchTables
    from arena.matches.plan import plan_match
    from pbt.envs.registry import spec

    told = _messages(channel)
    match = next(told).match
    players = [_player(values) for values in match["players"]]
    replayable, chance = match["measured"]
    env = spec(players[0].env_name, allow_files=True, measured=(replayable, chance))
    game = env.make(**players[0].env_options)
    try:
        plan = plan_match(
            env,
            game,
            players,
            match["games"],
            match["seed"],
            greedy=match["greedy"],
            batch=match["batch"],
            plies=match["plies"],
        )
    finally:
        game.close()
    with closing(BatchTables(env, plan)) as tables:
        for message in told:
            tables.begin(message.wanted, message.tries)
            while tables.left:
                channel.send_many(tables.turn())
                tables.settle()
            channel.send(BatchPlayed(message.batch))


def _messages(channel: Channel) -> Iterator[Any]:
    """As they come. Raises: PeerGone."""
    while True:
        channel.wait(_WAIT_S)
        yield from channel.receive()


def main(descriptor: int) -> int:
    """descriptor: of the channel, which is closed at the end. Returns the exit status."""
    sock = socket.socket(fileno=descriptor)
    with closing(
        Channel(sock, outgoing=Wire(WIRES.incoming), incoming=Wire(WIRES.outgoing))
    ) as channel:
        try:
            help_out(channel)
        except PeerGone:
            return 0
        except Exception as error:  # noqa: BLE001  # the main process plays the rest itself, and meets what was met here
            channel.send(Failed(type(error).__name__, str(error), "", False))
    return 1


if __name__ == "__main__":
    settle(int(sys.argv[1]))
    # By its own name: the types of messages in a module called __main__ would be other ones.
    from arena.matches.helper import main as help_main

    leave(help_main(int(sys.argv[1])))
