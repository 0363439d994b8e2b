"""The actions of games that run, many tables at once."""

from typing import Any

import numpy as np
from gymnasium import spaces

from pbt.envs.actions import ActionSpec, GamePacking
from pbt.sampling.history import History

PAIR = ActionSpec.of(spaces.MultiDiscrete([9, 9]))
ONE = ActionSpec.of(spaces.Discrete(300))
MIXED = ActionSpec.of(
    spaces.Tuple([spaces.Discrete(3), spaces.Box(-1.0, 1.0, (2,), dtype=np.float32)])
)


def played(specs: list[ActionSpec], moves: int) -> tuple[History, list[list[Any]]]:
    """Random moves at three tables, and each table's history as a plain list."""
    rng = np.random.default_rng(3)
    history, expected = History(3, specs), [list[Any]() for _ in range(3)]
    for _ in range(moves):
        tables, seats, actions = [], [], []
        for table in rng.permutation(3)[: rng.integers(1, 4)].tolist():
            for seat in sorted(rng.choice(len(specs), rng.integers(1, len(specs) + 1), False)):
                spec = specs[seat]
                (action,) = spec.listed(
                    spec.random_act({}, spec.free[None], rng.random((1, spec.width)))
                )
                tables.append(table)
                seats.append(seat)
                actions.append([*action, *[0] * (history.width - spec.width)])
                expected[table] += (int(seat), *action)
        columns = np.array(tables), np.array(seats), np.array(actions, history.dtype)
        history.add(*columns)
    return history, expected


def packed(history: History, table: int) -> bytes:
    (own,) = history.packed(np.array([table]))
    return own


def test_every_table_has_its_own_actions_in_order() -> None:
    for specs in ([PAIR, PAIR], [ONE, PAIR, ONE], [MIXED, ONE], [ONE]):
        history, expected = played(specs, 200)
        for table, flat in enumerate(expected):
            assert history.flat(table) == flat
            assert packed(history, table) == GamePacking(specs).pack(flat)
            assert len(history.packing.unpack(packed(history, table))) == history.count[table]


def test_a_history_is_taken_over() -> None:
    for specs in ([PAIR, PAIR], [MIXED, ONE]):
        history, expected = played(specs, 70)
        other = History(3, specs)
        other.set(2, expected[0])
        assert packed(other, 2) == packed(history, 0) and other.count.tolist()[:2] == [0, 0]
