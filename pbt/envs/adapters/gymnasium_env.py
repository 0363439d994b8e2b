"""Adapts Gymnasium environments (one agent) to games with one seat."""

from collections.abc import Callable, Mapping
from typing import Any

from pbt.envs.adapters.seating import EnvSeats, Scoreboard, declared_terms
from pbt.envs.contract import Action, EnvSpec, Game, Outcome, SeatTurn, env_error
from pbt.errors import EnvError


def one_seat(name: str, make: Callable[..., Game], description: str) -> EnvSpec:
    """A registered game of one seat, with chance, which its seed and its actions reproduce."""
    return EnvSpec(
        name,
        make,
        chance=True,
        replayable=True,
        winners="one seat: no player wins, the return counts",
        description=description,
        objective="return",
    )


class GymnasiumGame:
    """A game over a `gymnasium.Env`: one seat, one role, ranking (0,).

    The info dict follows the conventions of `pbt.envs.adapters.seating`.

    Raises: EnvError when the environment raises.
    """

    def __init__(self, env: Any, name: str = "") -> None:
        self._env = env
        self._name = name or str(env)
        try:
            _, info = env.reset(seed=0)
        except Exception as error:
            raise env_error(self._name, 0, 0, "player", error) from error
        seats = EnvSeats(
            self._name, ["player"], [env.observation_space], [env.action_space], {"player": info}
        )
        self.roles, self.seat_names = seats.roles, seats.seat_names
        self.seat_roles = seats.seat_roles
        self.reward_terms = declared_terms(env.unwrapped)
        self._read, self._over_mask = seats.readers[0], seats.over_masks[0]
        self._decode = seats.specs[0].decode
        self._score = Scoreboard(self._name, 1, self.reward_terms)
        self._seed: int | None = None
        self._steps = 0

    def reset(self, seed: int) -> list[SeatTurn]:
        """Start an episode."""
        self._seed, self._steps = seed, 0
        self._score.start()
        try:
            raw, info = self._env.reset(seed=seed)
        except Exception as error:
            raise env_error(self._name, seed, 0, "player", error) from error
        observation, mask = self._read(raw, info)
        return [SeatTurn(0, observation, mask, self._score.rewards(0, 0.0, {}), False, False, 0)]

    def step(self, actions: Mapping[int, Action]) -> list[SeatTurn]:
        """Act for seat 0."""
        if self._score.over[0] or actions.keys() != {0}:
            raise EnvError(
                f"game {self._name!r}: actions for seats {sorted(actions)}; expected seat 0 "
                "of a running episode"
            )
        self._steps += 1
        try:
            raw, reward, terminated, truncated, info = self._env.step(self._decode(actions[0]))
        except Exception as error:
            raise env_error(self._name, self._seed, self._steps, "player", error) from error
        rewards = self._score.rewards(0, reward, info)
        observation, mask = self._read(raw, info)
        if terminated or truncated:
            self._score.end(0, info, bool(truncated) and not terminated)
            mask = self._over_mask
        tics = int(info.get("tics", 1))
        return [SeatTurn(0, observation, mask, rewards, bool(terminated), bool(truncated), tics)]

    def outcome(self) -> Outcome:
        """The ranking is always (0,): there is one seat."""
        return self._score.outcome()

    def close(self) -> None:
        self._env.close()
