"""Adapts PettingZoo parallel environments (all agents act at once) to games."""

from collections.abc import Mapping
from typing import Any

from pbt.envs.adapters.pettingzoo_game import PettingZooGame
from pbt.envs.contract import Action, SeatTurn
from pbt.errors import EnvError


class PettingZooParallel(PettingZooGame):
    """A game over a parallel environment.

    An agent that ends is reported with its own last reward and observation while the others play
    on. Agents may join late. Observations and masks are valid until the next call of `step`.

    env   a `pettingzoo.ParallelEnv`
    name  used in error messages
    Raises: EnvError when the environment raises or breaks the parallel rules.
    """

    def _first_infos(self) -> Mapping[Any, Any]:
        _, infos = self._env.reset(seed=0)
        return infos  # type: ignore[no-any-return]

    def _start(self, seed: int) -> list[SeatTurn]:
        """Return one turn per agent at the table."""
        observations, infos = self._env.reset(seed=seed)
        return self._turns(observations, {}, {}, {}, infos)

    def _act(self, actions: Mapping[int, Action]) -> list[SeatTurn]:
        """Return a turn per seat that plays on or ended."""
        decoded = {
            self._agents[seat]: self._decoders[seat](indices) for seat, indices in actions.items()
        }
        observations, rewards, terminations, truncations, infos = self._env.step(decoded)
        return self._turns(observations, rewards, terminations, truncations, infos)

    def _turns(
        self,
        observations: Mapping[Any, Any],
        rewards: Mapping[Any, Any],
        terminations: Mapping[Any, bool],
        truncations: Mapping[Any, bool],
        infos: Mapping[Any, Mapping[str, Any]],
    ) -> list[SeatTurn]:
        playing = set(self._env.agents)
        turns = []
        due = set()
        for seat, agent in enumerate(self._agents):
            if self._score.over[seat]:
                continue
            was_due = seat in self._due
            if (
                agent not in observations
                and agent not in terminations
                and agent not in truncations
                and not was_due
            ):
                if not playing:  # the game ended before this agent ever joined
                    turns.append(
                        self._final(seat, None, [0.0] * len(self.reward_terms), True, False, 0, {})
                    )
                continue
            info = infos.get(agent) or {}
            terms = self._score.rewards(seat, rewards.get(agent, 0.0), info)
            tics = int(info.get("tics", 1)) if was_due else 0
            terminated = bool(terminations.get(agent, False))
            truncated = bool(truncations.get(agent, False))
            if terminated or truncated:
                turns.append(
                    self._final(
                        seat, observations.get(agent), terms, terminated, truncated, tics, info
                    )
                )
                continue
            if agent not in playing:
                raise EnvError(
                    f"game {self._name!r}: agent {agent!r} left env.agents at step "
                    f"{self._steps} (seed {self._seed}) with neither terminations nor "
                    "truncations True for it; expected one of them; set it in the step in "
                    "which the agent leaves"
                )
            observation, mask = self._readers[seat](observations[agent], info)
            due.add(seat)
            turns.append(SeatTurn(seat, observation, mask, terms, False, False, tics))
        self._due = due
        return turns
