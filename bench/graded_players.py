"""Players of connect four, asked for a move in many positions: networks as they play in matches,
scripted players, and references that need no league.

    random, oneply      as in a match
    minimax:PLIES       looks PLIES ahead, and takes any of the best moves equally often; what is
                        not decided by then counts as drawn
    mcts:SIMULATIONS    OpenSpiel's tree search, as bench/mcts_bot.py: UCT, weight of exploration
                        2.0, one random rollout a simulation, solved nodes kept; its seed follows
                        from the seed of the grades and the position's number
    perfect             the move that wins soonest or loses latest, by the solver
    demo@best, ...      any other name is resolved as by `arena match`
"""

import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyspiel
from numpy.typing import NDArray

from arena.guests.program import is_guest
from arena.players.chances import answers
from arena.players.policies import load_policy
from arena.players.resolve import ResolvedPlayer, names_snapshot, resolve_players
from bench.connect_four_board import COLUMNS, board_of, minimax
from bench.connect_four_solver import Solver
from bench.position_games import GAME, search
from bench.positions import Position
from pbt.envs.contract import EnvSpec, SeatTurn
from pbt.inference.policy_server import ScriptedPolicy
from pbt.seeding import integer
from pbt.transport.slab import role_layout

REFERENCE = re.compile(r"perfect|(mcts|minimax):([1-9]\d*)")
# Scripted players draw equally among at most seven moves; 420 is a multiple of each number up to 7.
_DRAWS = 420


class Asked(NamedTuple):
    """What a player does in N positions.

    chances  [N, 7] the probability of each move as it plays; 0 or 1 where it was asked once
    greedy   [N] the moves of greedy play; None for players without it
    values   [N] of the value head, for the side to move; None without one
    """

    chances: NDArray[np.float64]
    greedy: NDArray[np.int64] | None = None
    values: NDArray[np.float32] | None = None


Player = Callable[[Sequence[Position]], Asked]


def player_named(name: str, data: Path | None, seed: int) -> tuple[str, Player]:
    """(label, player) of a name. data: as for `resolve_players`; seed: of MCTS.

    Raises: PlayerError for names without a player, SystemExit for players of another game.
    """
    if found := REFERENCE.fullmatch(name):
        return name, _reference(found[1], int(found[2] or 0), seed)
    if is_guest(name):
        raise SystemExit(f"{name}: programs are not graded; expected a player of the league")
    spec, (player,) = resolve_players([name], data, None if names_snapshot(name) else GAME)
    if (player.env_name, dict(player.env_options)) != (GAME, {}):
        options = f" with {dict(player.env_options)}" if player.env_options else ""
        raise SystemExit(
            f"{player.label} plays {player.env_name}{options}; expected a player of {GAME}, whose "
            "positions are solved"
        )
    return player.label, lambda positions: _resolved(player, spec, positions)


def _reference(kind: str | None, number: int, seed: int) -> Player:
    if kind == "minimax":
        return lambda positions: Asked(_minimax(positions, number))
    if kind == "mcts":
        return lambda positions: Asked(_moves(_mcts_moves(positions, number, seed)))
    solver = Solver()
    return lambda positions: Asked(_moves(solver.best(one.moves) for one in positions))


def _moves(moves: Iterable[int]) -> NDArray[np.float64]:
    """The chances of moves that are certain."""
    return np.eye(COLUMNS)[list(moves)]


def _minimax(positions: Sequence[Position], plies: int) -> NDArray[np.float64]:
    found = np.zeros((len(positions), COLUMNS))
    for row, position in zip(found, positions, strict=True):
        values = minimax(board_of(position.moves), plies)
        best = [column for column, value in values.items() if value == max(values.values())]
        row[best] = 1 / len(best)
    return found


def _mcts_moves(positions: Sequence[Position], simulations: int, seed: int) -> Iterable[int]:
    for number, position in enumerate(positions):
        state = pyspiel.load_game(GAME).new_initial_state()
        for column in position.moves:
            state.apply_action(column)
        yield search(simulations, integer(seed, "mcts", number, bits=31)).step(state)


def _resolved(player: ResolvedPlayer, spec: EnvSpec, positions: Sequence[Position]) -> Asked:
    game = spec.make()
    width = 0 if player.config is None else player.config.model.state_size
    layout = role_layout(game.roles[0], game.reward_terms, 1, width)
    game.close()
    hosted = load_policy(player, layout, spec)
    sequences = [own_turns(spec, position.moves) for position in positions]
    if isinstance(hosted, ScriptedPolicy):
        return Asked(_scripted_chances(hosted, [sequence[-1] for sequence in sequences]))
    if not hosted.model.state_size:
        sequences = [sequence[-1:] for sequence in sequences]
    longest = max(map(len, sequences))
    first = sequences[0][-1].observation
    seen = np.zeros((longest, len(positions), *first.shape), first.dtype)
    legal = np.ones((longest, len(positions), COLUMNS), np.bool_)
    starts = np.zeros((longest, len(positions)), np.bool_)
    for place, sequence in enumerate(sequences):
        begin = longest - len(sequence)
        starts[begin, place] = True
        for row, turn in enumerate(sequence, begin):
            seen[row, place], legal[row, place] = turn.observation, turn.mask
    said = answers(hosted.model, {"observation": seen}, legal, starts)
    return Asked(said.chances, said.best, said.values)


def own_turns(spec: EnvSpec, moves: Sequence[int]) -> list[SeatTurn]:
    """What the side to move saw at each of its turns, the present one last."""
    game = spec.make()
    (turn,) = game.reset(0)
    turns = [turn]
    for column in moves:
        (turn,) = game.step({turn.seat: (column,)})
        turns.append(turn)
    game.close()
    return turns[::-2][::-1]


def _scripted_chances(policy: ScriptedPolicy, turns: Sequence[SeatTurn]) -> NDArray[np.float64]:
    """How often each move comes of evenly spaced random numbers."""
    uniforms = (np.arange(_DRAWS)[:, None] + 0.5) / _DRAWS
    found = np.zeros((len(turns), COLUMNS))
    for row, turn in zip(found, turns, strict=True):
        assert turn.mask is not None
        seen = np.repeat(turn.observation[None], _DRAWS, axis=0)
        mask = np.repeat(turn.mask[None], _DRAWS, axis=0)
        drawn = policy.act({"observation": seen}, mask, uniforms)[:, 0]
        row[:] = np.bincount(drawn, minlength=COLUMNS) / _DRAWS
    return found
