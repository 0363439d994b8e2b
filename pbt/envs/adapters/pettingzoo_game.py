"""What the adapters of both kinds of PettingZoo environments share: seats, errors and ends."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

from pbt.envs.adapters.seating import EnvSeats, Scoreboard, declared_terms, possible_agents
from pbt.envs.contract import Action, Outcome, SeatTurn, env_error
from pbt.errors import EnvError


class PettingZooGame(ABC):
    """A PettingZoo environment with a seat for each of its possible agents."""

    def __init__(self, env: Any, name: str = "") -> None:
        self._env = env
        self._name = name or str(env)
        self._agents = possible_agents(env, self._name)
        self._seed: int | None = None
        self._steps = 0
        self._due: set[int] = set()
        try:
            infos = self._first_infos()
            observation_spaces = [env.observation_space(agent) for agent in self._agents]
            action_spaces = [env.action_space(agent) for agent in self._agents]
        except Exception as error:
            raise env_error(self._name, 0, 0, "-", error) from error
        seats = EnvSeats(self._name, self._agents, observation_spaces, action_spaces, infos)
        self.roles, self.seat_names = seats.roles, seats.seat_names
        self.seat_roles = seats.seat_roles
        self.reward_terms = declared_terms(env)
        self._readers, self._over_masks = seats.readers, seats.over_masks
        self._decoders = [spec.decode for spec in seats.specs]
        self._score = Scoreboard(self._name, len(self._agents), self.reward_terms)

    @abstractmethod
    def _first_infos(self) -> Mapping[Any, Any]:
        """Reset the environment for a look at it. Returns the infos of all agents."""

    @abstractmethod
    def _start(self, seed: int) -> list[SeatTurn]:
        """Reset the environment, and note the seats that are due in `_due`."""

    @abstractmethod
    def _act(self, actions: Mapping[int, Action]) -> list[SeatTurn]:
        """Step the environment, and note the seats that are due in `_due`."""

    def reset(self, seed: int) -> list[SeatTurn]:
        """Start a game."""
        self._seed, self._steps, self._due = seed, 0, set()
        self._score.start()
        try:
            return self._start(seed)
        except EnvError:
            raise
        except Exception as error:
            raise env_error(self._name, seed, 0, "-", error) from error

    def step(self, actions: Mapping[int, Action]) -> list[SeatTurn]:
        """Act for exactly the seats that are due: one at least, until the game is over."""
        if not actions or actions.keys() != self._due:
            raise EnvError(
                f"game {self._name!r}: actions for seats {sorted(actions)}; expected exactly "
                f"the seats that are due, {sorted(self._due)}"
            )
        self._steps += 1
        try:
            return self._act(actions)
        except EnvError:
            raise
        except Exception as error:
            acting = ", ".join(self.seat_names[seat] for seat in sorted(actions))
            raise env_error(self._name, self._seed, self._steps, acting, error) from error

    def _final(
        self,
        seat: int,
        observation: Any,
        rewards: list[float],
        terminated: bool,
        truncated: bool,
        tics: int,
        info: Mapping[str, Any],
    ) -> SeatTurn:
        """Return the turn that ends a seat's episode. observation: None where there is none."""
        if observation is not None:
            observation, _ = self._readers[seat](observation, info)
        self._score.end(seat, info, truncated and not terminated)
        return SeatTurn(
            seat, observation, self._over_masks[seat], rewards, terminated, truncated, tics
        )

    def outcome(self) -> Outcome:
        """Declared places (`infos[agent]["place"]`), else the ranking of summed rewards."""
        return self._score.outcome()

    def close(self) -> None:
        self._env.close()
