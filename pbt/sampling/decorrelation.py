"""Decorrelation: tables that begin together are set apart by random decisions, once.

Where games have a fixed length, such tables would stay together, and batches would be all openings
or all ends. So the first game of each has an opening of its own length, which
`pbt.matchmaking.planner` draws (Stooke & Abbeel 2018, "Accelerated methods for deep reinforcement
learning", section 5.3). A game that ends within that opening begins again in its place, untold and
with another seed, until the table has made all of the moves. The last one goes on as a game of its
players.
"""

from collections.abc import Sequence

from pbt.sampling.table import Table
from pbt.seeding import integer
from pbt.transport.messages import GamePlan


def begun_again(tables: Sequence[Table], positions: Sequence[int]) -> dict[int, GamePlan]:
    """By position, how games go on that ended before their tables had made all random moves.

    tables     of a worker, by position
    positions  of games that have ended well
    """
    ended = [tables[position] for position in positions if tables[position].plan.decorrelates]
    left = {table.position: table.plan.opening_plies - table.moves for table in ended}
    return {at: _again(tables[at].plan, moves) for at, moves in left.items() if moves > 0}


def _again(plan: GamePlan, moves: int) -> GamePlan:
    """The same players with another seed. moves: that are left to be drawn."""
    seed = integer(plan.seed, "decorrelate", bits=31)
    return plan._replace(seed=seed, opening_seed=seed, opening_plies=moves)
