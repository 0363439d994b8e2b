"""Adapts PettingZoo AEC environments (one agent acts at a time) to games."""

from collections.abc import Mapping
from typing import Any

from pbt.envs.adapters.pettingzoo_game import PettingZooGame
from pbt.envs.contract import Action, SeatTurn


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
        self._seat_of = {agent: seat for seat, agent in enumerate(self._agents)}
        self._acted = [False] * len(self._agents)

    def _first_infos(self) -> Mapping[Any, Any]:
        self._env.reset(seed=0)
        return dict(self._env.infos)

    def _start(self, seed: int) -> list[SeatTurn]:
        """Return the turn of the agent that moves first, after those of agents that are over."""
        self._acted = [False] * len(self._agents)
        self._env.reset(seed=seed)
        return self._turns()

    def _act(self, actions: Mapping[int, Action]) -> list[SeatTurn]:
        """Return the turns of seats that ended, then the turn of the next seat to act."""
        ((seat, action),) = actions.items()
        self._env.step(self._decoders[seat](action))
        self._acted[seat] = True
        return self._turns()

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
                self._due = {seat}
                turns.append(SeatTurn(seat, observation, mask, rewards, False, False, tics))
                return turns
            turns.append(
                self._final(
                    seat, observation, rewards, bool(terminated), bool(truncated), tics, info
                )
            )
            env.step(None)
        self._due = set()
        pending = getattr(env, "_cumulative_rewards", {})
        for seat, agent in enumerate(self._agents):
            if not score.over[seat]:
                # The agent was dropped without the closing step that AEC asks for.
                rewards = score.rewards(seat, pending.get(agent, 0.0), {})
                tics = int(self._acted[seat])
                turns.append(self._final(seat, None, rewards, True, False, tics, {}))
        return turns
