"""Adapts PettingZoo AEC environments (one agent acts at a time) to games."""

from collections.abc import Mapping
from typing import Any

from pbt.envs.adapters.pettingzoo_game import PettingZooGame
from pbt.envs.contract import Outcome, SeatTurn, env_error
from pbt.errors import EnvError


class PettingZooAEC(PettingZooGame):
    """A game over an AEC environment.

    Rewards are what `env.last()` reports: everything since the agent's own previous step. A reward
    after the opponent's move or after one's own death arrives with one's next turn, at the latest
    with the turn that ends one's episode. Observations and masks are valid until the next call of
    `step`.

    env   a `pettingzoo.AECEnv`, wrapped or raw; the engine only plays legal actions, so wrappers
          that punish illegal ones are not needed
    name  used in error messages
    Raises: EnvError when the environment raises or breaks the AEC rules.
    """

    def __init__(self, env: Any, name: str = "") -> None:
        super().__init__(env, name)
        agents = self._agents
        self._due: int | None = None
        try:
            env.reset(seed=0)
            observation_spaces = [env.observation_space(agent) for agent in agents]
            action_spaces = [env.action_space(agent) for agent in agents]
            infos = dict(env.infos)
        except Exception as error:
            raise env_error(self._name, 0, 0, "-", error) from error
        self._arrange(observation_spaces, action_spaces, infos)
        self._seat_of = {agent: seat for seat, agent in enumerate(self._agents)}
        self._acted = [False] * len(agents)

    def reset(self, seed: int) -> list[SeatTurn]:
        """Start a game.

        Returns the turn of the agent that moves first, and turns of agents that are over already.
        """
        self._seed, self._steps, self._due = seed, 0, None
        self._score.start()
        self._acted = [False] * len(self._agents)
        try:
            self._env.reset(seed=seed)
            return self._turns()
        except EnvError:
            raise
        except Exception as error:
            raise env_error(self._name, seed, 0, "-", error) from error

    def step(self, actions: Mapping[int, tuple[int, ...]]) -> list[SeatTurn]:
        """Act for the one seat that is due.

        Returns the turns of seats that ended, then the turn of the next seat to act.
        """
        seat = self._due
        if seat is None or len(actions) != 1 or seat not in actions:
            raise EnvError(
                f"game {self._name!r}: actions for seats {sorted(actions)}; expected exactly "
                f"the seat that is due, {seat}"
            )
        self._steps += 1
        try:
            self._env.step(self._decoders[seat](actions[seat]))
            self._acted[seat] = True
            return self._turns()
        except EnvError:
            raise
        except Exception as error:
            raise env_error(
                self._name, self._seed, self._steps, self.seat_names[seat], error
            ) from error

    def _turns(self) -> list[SeatTurn]:
        """The final turns of agents that ended, up to the first agent that must act."""
        env, score = self._env, self._score
        turns = []
        while env.agents:
            observation, reward, terminated, truncated, info = env.last()
            seat = self._seat_of[env.agent_selection]
            rewards = score.rewards(seat, reward, info)
            tics = int(info.get("tics", 1)) if self._acted[seat] else 0
            if not (terminated or truncated):
                observation, mask = self._readers[seat](observation, info)
                self._due = seat
                turns.append(SeatTurn(seat, observation, mask, rewards, False, False, tics))
                return turns
            turns.append(
                self._final(
                    seat, observation, rewards, bool(terminated), bool(truncated), tics, info
                )
            )
            env.step(None)
        self._due = None
        turns.extend(
            self._final(seat, None, self._pending(seat), True, False, int(self._acted[seat]), {})
            for seat in self._unfinished()
        )
        return turns

    def _unfinished(self) -> list[int]:
        """Seats whose agents were dropped without the closing step that AEC asks for."""
        return [seat for seat, over in enumerate(self._score.over) if not over]

    def _pending(self, seat: int) -> list[float]:
        pending = getattr(self._env, "_cumulative_rewards", {})
        return self._score.rewards(seat, pending.get(self._agents[seat], 0.0), {})

    def outcome(self) -> Outcome:
        """Declared places (`infos[agent]["place"]`), else the ranking of summed rewards."""
        return self._score.outcome()

    def close(self) -> None:
        self._env.close()
