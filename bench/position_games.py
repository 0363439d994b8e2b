"""Makes the solved positions of connect four, and checks them.

    python -m bench.position_games --write bench/positions/connect_four.txt
    python -m bench.position_games --check

A cell is one source (random moves, the one-ply player, OpenSpiel's MCTS with 100 simulations after
two random moves, each against itself) with one stratum of stones. A game gives at most one position
to each cell, at a random one of the plies that it has there. Positions are distinct, also under
mirroring, and none is over. In each cell the first 90 are kept whatever they are, and so are the
first 180 critical ones (`bench.positions`). Moves and values follow from SEED alone, with this
version of OpenSpiel. A game of MCTS takes some 0.1 s; the solver's times per position are printed.

--check  solves every position of the stored file again, and counts the cells. Exit code 1 when
         anything differs.
"""

import argparse
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pyspiel

from bench.connect_four_board import Board, board_of, same_position
from bench.connect_four_solver import Solver
from bench.positions import (
    CRITICAL,
    DRAWN,
    SOURCES,
    STONES,
    Position,
    stored_positions,
    text_of,
)
from pbt.envs.classic.connect_four import one_ply
from pbt.envs.registry import spec
from pbt.files import write_whole
from pbt.seeding import generator

SEED = 29112026
DRAWN_OF_CELL, CRITICAL_OF_CELL = 90, 180
UCT, MEMORY_MB = 2.0, 64
RANDOM_PLIES = 2
GAME = "connect_four"


def random_game(rng: np.random.Generator) -> list[int]:
    """The moves of a game at random."""
    state, moves = pyspiel.load_game(GAME).new_initial_state(), []
    while not state.is_terminal():
        moves.append(int(rng.choice(state.legal_actions())))
        state.apply_action(moves[-1])
    return moves


def one_ply_game(rng: np.random.Generator) -> list[int]:
    """The moves of a game of the one-ply player against itself."""
    game, moves = spec(GAME).make(), []
    turns = game.reset(0)
    while not turns[0].over:
        (turn,) = turns
        assert turn.mask is not None
        seen = {"observation": turn.observation[None]}
        (chosen,) = one_ply(seen, turn.mask[None], rng.random((1, 1)))
        moves.append(int(chosen[0]))
        turns = game.step({turn.seat: (moves[-1],)})
    game.close()
    return moves


def search(simulations: int, seed: int) -> pyspiel.MCTSBot:
    """OpenSpiel's tree search: UCT with one random rollout, as bench/mcts_bot.py plays."""
    rollouts = pyspiel.RandomRolloutEvaluator(n_rollouts=1, seed=seed)
    game = pyspiel.load_game(GAME)
    return pyspiel.MCTSBot(game, rollouts, UCT, simulations, MEMORY_MB, True, seed, False)


def mcts_game(rng: np.random.Generator) -> list[int]:
    """The moves of a game of MCTS with 100 simulations against itself, after two random moves."""
    state, moves = pyspiel.load_game(GAME).new_initial_state(), []
    bot = search(100, int(rng.integers(2**31)))
    while not state.is_terminal():
        opening = len(moves) < RANDOM_PLIES
        moves.append(int(rng.choice(state.legal_actions()) if opening else bot.step(state)))
        state.apply_action(moves[-1])
    return moves


PLAYED: dict[str, Callable[[np.random.Generator], list[int]]] = {
    "random": random_game,
    "oneply": one_ply_game,
    "mcts100": mcts_game,
}


def candidates(source: str) -> Iterator[tuple[tuple[int, int], tuple[int, ...]]]:
    """(stratum, moves) of positions without end, game after game."""
    number = 0
    while True:
        rng = generator(SEED, source, number)
        moves, number = PLAYED[source](rng), number + 1
        for stratum in STONES:
            # The position after the last move is over.
            reached = range(stratum[0], min(stratum[1] + 1, len(moves)))
            if reached:
                yield stratum, tuple(moves[: rng.choice(reached)])


def made(source: str, solver: Solver, seen: set[Board]) -> list[Position]:
    """The positions of a source, in the order of strata. seen: positions that are taken."""
    cells: dict[tuple[int, int], list[Position]] = {stratum: [] for stratum in STONES}
    critical = Counter[tuple[int, int]]()
    for stratum, moves in candidates(source):
        position = same_position(board_of(moves))
        if critical[stratum] == CRITICAL_OF_CELL or position in seen:
            continue
        seen.add(position)
        cell, values = cells[stratum], solver.values(moves)
        drawn = sum(one.sample == DRAWN for one in cell) < DRAWN_OF_CELL
        found = Position(source, moves, values, DRAWN if drawn else CRITICAL)
        critical[stratum] += found.critical
        if drawn or found.critical:
            cell.append(found)
        if all(critical[one] == CRITICAL_OF_CELL for one in STONES):
            break
    return [position for cell in cells.values() for position in cell]


def write(file: Path) -> None:
    """Make the positions, and write them."""
    solver, seen, positions = Solver(), set[Board](), []
    for source in SOURCES:
        began = time.perf_counter()
        found = made(source, solver, seen)
        positions += found
        print(f"{source}: {len(found)} positions, {time.perf_counter() - began:.0f} s", flush=True)
    write_whole(file, text_of(positions))
    print(f"{file}: {len(positions)} positions; put its hash into bench/positions.py:SHA256")


def problems(positions: list[Position], solver: Solver) -> Iterator[str]:
    """What is wrong with them. It prints the solver's milliseconds per position, by stratum."""
    places: dict[Board, str] = {}
    spent = defaultdict[str, list[float]](list)
    for position in positions:
        same = same_position(board_of(position.moves))
        if (other := places.setdefault(same, position.line)) != position.line:
            yield f"{position.line}: the same position as {other}"
        began = time.perf_counter()
        values = solver.values(position.moves)
        spent[position.stones].append(time.perf_counter() - began)
        if values != position.values:
            yield f"{position.line}: the solver says {values}"
        if position.sample == CRITICAL and not position.critical:
            yield f"{position.line}: not critical"
    for stones, times in spent.items():
        print(
            f"{stones} stones: {len(times)} positions, {1000 * np.mean(times):.2f} ms each, at "
            f"most {1000 * max(times):.0f} ms"
        )
    counted = Counter((one.source, one.stones) for one in positions if one.critical)
    for source in SOURCES:
        cells = [counted[source, f"{least}-{most}"] for least, most in STONES]
        if min(cells) < CRITICAL_OF_CELL:
            yield f"{source}: {cells} critical positions; expected {CRITICAL_OF_CELL} in each cell"


def main() -> int:
    """Returns 1 when the check finds a fault."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    todo = parser.add_mutually_exclusive_group(required=True)
    todo.add_argument("--write", type=Path, metavar="FILE")
    todo.add_argument("--check", action="store_true")
    options = parser.parse_args()
    if options.write is not None:
        write(options.write)
        return 0
    positions = stored_positions()
    wrong = list(problems(positions, Solver()))
    print("\n".join(wrong) or f"{len(positions)} positions are as the solver says")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
