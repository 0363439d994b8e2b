"""One throw at once by two or more seats, whose returns a function of the throws decides."""

from collections.abc import Callable, Mapping, Sequence

from gymnasium import spaces

from pbt.envs.contract import EnvSpec, Outcome, Role, SeatTurn, ranking_from_scores
from pbt.objective import ObjectiveKind

Pays = Callable[[Sequence[int]], Sequence[float]]
THROWS = 3


class MatrixGame:
    """The game. places: of the seats; None: those of the returns."""

    def __init__(self, pays: Pays, seats: int = 2, places: Pays | None = None) -> None:
        self._pays, self._places, self._seats = pays, places, seats
        self.roles: tuple[Role, ...] = (
            Role("player", spaces.Discrete(1), spaces.Discrete(THROWS)),
        )
        self.seat_names: tuple[str, ...] = tuple(f"player_{seat}" for seat in range(seats))
        self.seat_roles: tuple[int, ...] = (0,) * seats
        self.reward_terms: tuple[str, ...] = ("reward",)

    def reset(self, seed: int) -> list[SeatTurn]:
        return [SeatTurn(seat, 0, None, (0.0,), tics=0) for seat in range(self._seats)]

    def step(self, actions: Mapping[int, tuple[int, ...]]) -> list[SeatTurn]:
        self._thrown = [actions[seat][0] for seat in range(self._seats)]
        return [
            SeatTurn(seat, 0, None, (float(reward),), terminated=True)
            for seat, reward in enumerate(self._pays(self._thrown))
        ]

    def outcome(self) -> Outcome:
        return Outcome(ranking_from_scores((self._places or self._pays)(self._thrown)))

    def close(self) -> None:
        pass


class SharingGame(MatrixGame):
    """A game whose rules say that all seats share one return, though nothing shows it."""

    def __init__(self) -> None:
        super().__init__(lambda thrown: [0.0, 0.0])

    def shares_rewards(self) -> bool:
        return True


def matrix_spec(
    pays: Pays,
    seats: int = 2,
    places: Pays | None = None,
    objective: ObjectiveKind | None = None,
) -> EnvSpec:
    return EnvSpec(
        "matrix",
        lambda: MatrixGame(pays, seats, places),
        chance=False,
        replayable=True,
        winners="the highest return",
        objective=objective,
    )


def together(thrown: Sequence[int]) -> list[float]:
    """Both gain where they throw the same."""
    return [2.0 if len(set(thrown)) == 1 else -1.0] * len(thrown)


def pot(thrown: Sequence[int]) -> list[float]:
    """The higher throw takes the difference."""
    return [float(thrown[0] - thrown[1]), float(thrown[1] - thrown[0])]


def duel(thrown: Sequence[int]) -> list[float]:
    """The higher throw wins."""
    return [float((x > y) - (x < y)) for x, y in (thrown, thrown[::-1])]


def harvest(thrown: Sequence[int]) -> list[float]:
    """Each gains what it throws, and loses by what the other throws."""
    return [thrown[0] - 0.5 * thrown[1], thrown[1] - 0.5 * thrown[0]]
