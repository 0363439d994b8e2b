"""What the adapters of both kinds of PettingZoo environments share: the seats, and their ends."""

from collections.abc import Mapping, Sequence
from typing import Any

from pbt.envs.adapters.seating import EnvSeats, Scoreboard, declared_terms, possible_agents
from pbt.envs.contract import SeatTurn


class PettingZooGame:
    """A PettingZoo environment with a seat for each of its possible agents."""

    def __init__(self, env: Any, name: str) -> None:
        self._env = env
        self._name = name or str(env)
        self._agents = possible_agents(env, self._name)
        self._seed: int | None = None
        self._steps = 0

    def _arrange(
        self, observation_spaces: Sequence[Any], action_spaces: Sequence[Any], infos: Any
    ) -> None:
        """Find the seats' roles, masks and codecs. infos: of all agents, after a first reset."""
        seats = EnvSeats(self._name, self._agents, observation_spaces, action_spaces, infos)
        self.roles, self.seat_names, self.seat_roles = (
            seats.roles,
            seats.seat_names,
            seats.seat_roles,
        )
        self.reward_terms = declared_terms(self._env)
        self._readers, self._over_masks = seats.readers, seats.over_masks
        self._decoders = [codec.decode for codec in seats.codecs]
        self._score = Scoreboard(self._name, len(self._agents), self.reward_terms)

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
