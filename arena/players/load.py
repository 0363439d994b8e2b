"""A player outside any match: observations in, actions of the game's own action space out.

player = load_player("demo@best")
action = player.act(observation)
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

import gymnasium
import numpy as np
import torch
from gymnasium import spaces
from numpy.typing import NDArray

from arena.data.paths import data_dir
from arena.guests.player import GuestError, GuestPlayer, SeatTaken
from arena.guests.protocol import GuestFault
from arena.players.policies import load_policy, memory_size
from arena.players.resolve import ResolvedPlayer, resolve_players
from pbt.envs.adapters.seating import flat_mask
from pbt.envs.contract import EnvSpec, Role
from pbt.envs.spaces import ActionCodec, ObservationCodec
from pbt.errors import EnvError, PlayerError
from pbt.inference.policy_server import NetworkPolicy
from pbt.seeding import action_uniforms, seat_key
from pbt.transport.slab import role_layout
from pbt.transport.staging import CPU

MASK = "action_mask"


class LoadedPlayer:
    """One player in one seat. It remembers what it has seen since the last `reset`, if its network
    has a memory.

    Its random choices follow from (seed, number of resets, number of actions since), nothing else.
    A program that plays along is started with the first action, told of a new game at every `reset`
    (never of places and returns), and ended by `close` or at the end of a `with`.
    """

    def __init__(
        self, player: ResolvedPlayer, spec: EnvSpec, *, seed: int = 0, role: str | None = None
    ) -> None:
        game = spec.make(**player.env_options)
        self.player = player
        self.role: Role = _role(player, game.roles, role)
        layout = role_layout(self.role, game.reward_terms, 1, memory_size(player))
        seats = [
            seat for seat, index in enumerate(game.seat_roles) if game.roles[index] is self.role
        ]
        self._seat, self._seat_name = seats[0], game.seat_names[seats[0]]
        game.close()
        self._guest = (
            None
            if player.program is None
            else GuestPlayer(
                player.program, player.env_name, player.env_options, layout, len(game.seat_names)
            )
        )
        self._hosted = load_policy(player, layout, spec) if self._guest is None else None
        if isinstance(self._hosted, NetworkPolicy):
            self._hosted.settle(CPU)
        self._observations, self._actions = (
            ObservationCodec(self.role.observation_space),
            ActionCodec(self.role.action_space),
        )
        self._seed, self._game, self._step = seed, 0, 0
        self._state = torch.zeros(1, layout.state_size)

    @property
    def label(self) -> str:
        """Such as "demo/m2@1.2M"."""
        return self.player.label

    def reset(self) -> None:
        """A new game begins: the first action in it clears the memory."""
        if self._guest is not None and self._step:
            self._guest.leave(
                self._key, {"place": None, "places": None, "return": None, "reason": "reset"}
            )
        self._game, self._step = self._game + 1, 0

    def act(self, observation: Any, mask: Any = None, *, greedy: bool = False) -> Any:
        """Choose an action of the role's action space.

        observation  of the role's space; PettingZoo's {"observation": ..., "action_mask": ...} is
                     taken as it is
        mask         legal actions, non-zero = legal, one entry per choice; None: as in the
                     observation, else everything is legal
        greedy       the most likely action instead of a sampled one
        Raises: EnvError for an observation or a mask that is not of the role's shape; GuestError
        for a program's fault.
        """
        seen, mask = self._split(observation, mask)
        where = f"{self.label} as {self.role.name}"
        total = sum(self._actions.head_sizes)
        legal = np.ones(total, np.bool_) if mask is None else flat_mask(where, mask, total)
        try:
            leaves = {name: leaf[None] for name, leaf in self._observations.arrays(seen).items()}
        except (KeyError, TypeError, ValueError, IndexError) as error:
            raise EnvError(
                f"{where}: an observation that does not fit ({error!r}); expected "
                f"{self.role.observation_space}"
            ) from error
        if self._guest is not None:
            return self._actions.decode(self._ask(self._guest, leaves, legal))
        key = np.array([self._key], np.uint64)
        uniforms = action_uniforms(
            key, np.array([self._step], np.uint64), len(self._actions.head_sizes)
        )
        indices = self._choose(leaves, legal[None], uniforms, greedy)
        self._step += 1
        return self._actions.decode(tuple(int(index) for index in indices[0]))

    @property
    def _key(self) -> int:
        return seat_key(self._seed, "player", self._game)

    def _ask(
        self, guest: GuestPlayer, leaves: Mapping[str, NDArray[Any]], legal: NDArray[np.bool_]
    ) -> tuple[int, ...]:
        if self._step == 0:
            guest.take(
                SeatTaken(self._key, self._game, self._seat, self._seat_name, self._key % 2**31)
            )
        self._step += 1
        (answer,) = guest.act([self._key], leaves, legal[None])
        if isinstance(answer, GuestFault):
            raise GuestError(str(answer)) from answer
        return answer

    def close(self) -> None:
        """End the program, if there is one."""
        if self._guest is not None:
            self._guest.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *failure: object) -> None:
        self.close()

    def _split(self, observation: Any, mask: Any) -> tuple[Any, Any]:
        """The observation proper and the mask, also where a game hands out both in one
        dictionary.
        """
        if not isinstance(observation, Mapping) or MASK not in observation:
            return observation, mask
        rest = {key: part for key, part in observation.items() if key != MASK}
        seen = (
            rest["observation"]
            if set(rest) == {"observation"}
            and not _has_key(self.role.observation_space, "observation")
            else rest
        )
        return seen, observation[MASK] if mask is None else mask

    def _choose(
        self,
        leaves: Mapping[str, NDArray[Any]],
        legal: NDArray[np.bool_],
        uniforms: NDArray[np.float64],
        greedy: bool,
    ) -> NDArray[np.int64]:
        assert self._hosted is not None, "guests are asked elsewhere"
        if not isinstance(self._hosted, NetworkPolicy):
            return self._hosted.act(leaves, legal, uniforms)
        with torch.inference_mode():
            acted = self._hosted.model.act(
                {name: torch.from_numpy(leaf) for name, leaf in leaves.items()},
                torch.from_numpy(legal),
                torch.tensor([self._step == 0]),
                self._state,
                torch.from_numpy(uniforms),
                greedy=greedy,
            )
            self._state = acted.state
        actions: NDArray[np.int64] = acted.actions.numpy()
        return actions


def _has_key(space: gymnasium.Space[Any], key: str) -> bool:
    return isinstance(space, spaces.Dict) and key in space.spaces


def _role(player: ResolvedPlayer, roles: tuple[Role, ...], wanted: str | None) -> Role:
    named = {role.name: role for role in roles}
    if player.role is not None and player.role not in named:
        raise PlayerError(
            f"{player.label} plays {player.role}, which {player.env_name} no longer has; it "
            f"has {', '.join(named)}"
        )
    if wanted is not None and (wanted not in named or not player.plays(wanted)):
        raise PlayerError(
            f"role {wanted!r}: {player.label} plays {player.role or ', '.join(named)}; leave "
            "the role away or name one of these"
        )
    if player.role is not None:
        return named[player.role]
    if wanted is None and len(roles) > 1:
        raise PlayerError(f"{player.label} may play {' or '.join(named)}; say which with role=")
    return named[wanted] if wanted is not None else roles[0]


def load_player(
    name: str,
    data: Path | str | None = None,
    *,
    env: str | None = None,
    seed: int = 0,
    role: str | None = None,
    allow_files: bool = False,
) -> LoadedPlayer:
    """A player for scripts of one's own; see `LoadedPlayer`.

    data  as for `resolve_players`;  env: the game, for scripted players;  seed: of its random
          choices
    role  which role it plays, for scripted players in games of several roles
    Raises: PlayerError for a wrong name, SnapshotError for unusable weights.
    """
    spec, (player,) = resolve_players([name], data_dir(data), env, allow_files=allow_files)
    return LoadedPlayer(player, spec, seed=seed, role=role)
