"""Adapts PettingZoo parallel environments (all agents act at once) to games."""

from collections.abc import Mapping
from typing import Any

from pbt.envs.adapters.pettingzoo_game import PettingZooGame
from pbt.envs.contract import Outcome, SeatTurn, env_error
from pbt.errors import EnvError


class PettingZooParallel(PettingZooGame):
    """A game over a parallel environment.

    An agent that ends is reported with its own last reward and observation while the others play
    on. Agents may join late. Observations and masks are valid until the next call of `step`.

    env   a `pettingzoo.ParallelEnv`
    name  used in error messages
    Raises: EnvError when the environment raises or breaks the parallel rules.
    """

    def __init__(self, env: Any, name: str = "") -> None:
        super().__init__(env, name)
        agents = self._agents
        try:
            _, infos = env.reset(seed=0)
            observation_spaces = [env.observation_space(agent) for agent in agents]
            action_spaces = [env.action_space(agent) for agent in agents]
        except Exception as error:
            raise env_error(self._name, 0, 0, "-", error) from error
        self._arrange(observation_spaces, action_spaces, infos)
        self._due: set[int] = set()

    def reset(self, seed: int) -> list[SeatTurn]:
        """Start a game. Returns one turn per agent at the table."""
        self._seed, self._steps, self._due = seed, 0, set()
        self._score.start()
        try:
            observations, infos = self._env.reset(seed=seed)
            return self._turns(observations, {}, {}, {}, infos)
        except EnvError:
            raise
        except Exception as error:
            raise env_error(self._name, seed, 0, "-", error) from error

    def step(self, actions: Mapping[int, tuple[int, ...]]) -> list[SeatTurn]:
        """Act for every seat that is due. Returns a turn per seat that plays on or ended."""
        if actions.keys() != self._due:
            raise EnvError(
                f"game {self._name!r}: actions for seats {sorted(actions)}; expected exactly "
                f"the seats that are due, {sorted(self._due)}"
            )
        self._steps += 1
        try:
            observations, rewards, terminations, truncations, infos = self._env.step(
                {
                    self._agents[seat]: self._decoders[seat](indices)
                    for seat, indices in actions.items()
                }
            )
            return self._turns(observations, rewards, terminations, truncations, infos)
        except EnvError:
            raise
        except Exception as error:
            raise env_error(
                self._name,
                self._seed,
                self._steps,
                ", ".join(self.seat_names[seat] for seat in sorted(actions)),
                error,
            ) from error

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
            terminated, truncated = (
                bool(terminations.get(agent, False)),
                bool(truncations.get(agent, False)),
            )
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

    def outcome(self) -> Outcome:
        """Declared places (`infos[agent]["place"]`), else the ranking of summed rewards."""
        return self._score.outcome()

    def close(self) -> None:
        self._env.close()
