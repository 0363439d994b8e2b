#!/usr/bin/env python3
"""A guest for connect four: OpenSpiel's Monte-Carlo tree search (UCT, random rollouts).

    arena match POPULATION@best "exec:python bench/mcts_bot.py --simulations 100"

A guest is shown only the board, [6, 7, 2] with its own pieces in plane 0. The search needs a state
of the game, so this program first finds moves that lead to the board. It needs `pip install
open-spiel` and nothing of this project.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from typing import Any

import pyspiel

COLUMNS = 7
GAME = pyspiel.load_game("connect_four")


def state_of(board: Sequence[Sequence[Sequence[int]]]) -> Any:
    """OpenSpiel's state with this board and the owner of plane 0 to move.

    Raises: ValueError for a board that no game reaches.
    """
    # The pieces of each column, lowest first; True for an own piece.
    stacks = [
        [bool(own) for own, other in (row[column] for row in reversed(board)) if own or other]
        for column in range(COLUMNS)
    ]
    own = sum(sum(stack) for stack in stacks)
    first = 2 * own == sum(len(stack) for stack in stacks)
    moves = _order(stacks, [0] * COLUMNS, mover=first, dead=set())
    if moves is None:
        raise ValueError(f"no game leads to {stacks}")
    state = GAME.new_initial_state()
    for column in moves:
        state.apply_action(column)
    return state


def _order(
    stacks: Sequence[Sequence[bool]], heights: list[int], *, mover: bool, dead: set[tuple[int, ...]]
) -> list[int] | None:
    """The columns in an order in which the players take turns; None where there is none.

    heights  number of pieces placed so far, by column
    mover    the next piece is an own one
    dead     heights from which no order leads to the board
    """
    if all(height == len(stack) for height, stack in zip(heights, stacks, strict=True)):
        return []
    if tuple(heights) in dead:
        return None
    for column, stack in enumerate(stacks):
        if heights[column] < len(stack) and stack[heights[column]] == mover:
            heights[column] += 1
            rest = _order(stacks, heights, mover=not mover, dead=dead)
            heights[column] -= 1
            if rest is not None:
                return [column, *rest]
    dead.add(tuple(heights))
    return None


def answer(message: dict[str, Any]) -> None:
    """Write a message to the match."""
    print(json.dumps(message), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--simulations", type=int, default=100, help="per move, with one random rollout each"
    )
    parser.add_argument("--uct", type=float, default=2.0, help="weight of exploration")
    options = parser.parse_args()
    for line in sys.stdin:
        message = json.loads(line)
        if message["type"] == "hello":
            if message["env"] != "connect_four":
                sys.exit(f"this program plays connect_four, not {message['env']}")
            answer({"protocol": 1})
        elif message["type"] == "game_start":
            rollouts = pyspiel.RandomRolloutEvaluator(n_rollouts=1, seed=message["seed"])
            bot = pyspiel.MCTSBot(
                GAME, rollouts, options.uct, options.simulations, 64, True, message["seed"], False
            )
        elif message["type"] == "act":
            answer({"action": int(bot.step(state_of(message["observation"])))})


if __name__ == "__main__":
    main()
