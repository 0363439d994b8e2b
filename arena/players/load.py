"""A player outside a match: it takes observations and returns actions of the game's action space.

player = load_player("demo@best")
action = player.act(observation)
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
from gymnasium import spaces
from numpy.typing import NDArray

from arena.argument_kinds import check_kinds
from arena.data.paths import data_dir
from arena.guests.player import GuestError, GuestPlayer, SeatTaken
from arena.guests.protocol import GuestFault
from arena.players.policies import load_policy, memory_size
from arena.players.resolve import GuestRefused, ResolvedPlayer, resolve_players
from pbt.envs.actions import ActionSpec
from pbt.envs.adapters.seating import flat_mask
from pbt.envs.contract import Action, EnvSpec, Role
from pbt.envs.spaces import ObservationCodec
from pbt.envs.viewed_game import ViewedGame, own_roles
from pbt.errors import EnvError, EnvFileError, PlayerError
from pbt.inference.policy_server import NetworkPolicy, check_finite
from pbt.seeding import action_uniforms, seat_key
from pbt.transport.slab import role_layout
from pbt.transport.staging import CPU

MASK = "action_mask"


class LoadedPlayer:
    """One player in one seat.

    If its network has a memory, it remembers the observations since the last `reset`. Its random
    choices follow only from (seed, number of resets, number of actions since). A guest's program is
    started with the first action and ended by `close` or at the end of a `with`. At every `reset`
    it is told that a new game begins, but no places or returns.

    player  what its name was resolved to
    role    the role that it plays, with the observations of the game itself: the player makes of
            them what it was trained to see (`env.resize`, `env.grey`, `env.stack`)
    """

    def __init__(
        self, player: ResolvedPlayer, spec: EnvSpec, *, seed: int = 0, role: str | None = None
    ) -> None:
        game = spec.make(**player.env_options)
        self.player = player
        roles = own_roles(game)
        self.role: Role = _role(player, roles, role)
        index = roles.index(self.role)
        self._view = game.seat_view(index) if isinstance(game, ViewedGame) else None
        layout = role_layout(game.roles[index], game.reward_terms, 1, memory_size(player))
        seats = [seat for seat, of_role in enumerate(game.seat_roles) if of_role == index]
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
        self._observations = ObservationCodec(layout.role.observation_space)
        self._actions = ActionSpec.of(self.role.action_space)
        self._seed, self._game, self._step = seed, 0, 0
        self._state = torch.zeros(1, layout.state_size)

    @property
    def label(self) -> str:
        """The player's name for people, such as "demo/m2@1.2M"."""
        return self.player.label

    def reset(self) -> None:
        """Begins a new game. The first action in it clears the memory."""
        if self._guest is not None and self._step:
            self._guest.leave(
                self._key, {"place": None, "places": None, "return": None, "reason": "reset"}
            )
        self._game, self._step = self._game + 1, 0
        if self._view is not None:
            self._view.begin()

    def act(self, observation: Any, mask: Any = None, *, greedy: bool = False) -> Any:
        """Chooses an action of the role's action space.

        observation  of the role's space, or PettingZoo's {"observation": ..., "action_mask": ...}
        mask         one entry per choice, non-zero = legal; None: the mask in the observation,
                     and without one every action is legal
        greedy       whether to take the most likely action instead of a sampled one
        Raises: EnvError for an observation or a mask that does not have the role's shape;
        GuestError for a fault of a guest's program.
        """
        shown, mask = self._split(observation, mask)
        where = f"{self.label} as {self.role.name}"
        total = self._actions.mask_size
        legal = np.ones(total, np.bool_) if mask is None else flat_mask(where, mask, total)
        try:
            shown = shown if self._view is None else self._view.see(shown)
            leaves = {name: leaf[None] for name, leaf in self._observations.arrays(shown).items()}
        except (KeyError, TypeError, ValueError, IndexError) as error:
            raise EnvError(
                f"{where}: an observation that does not fit ({error!r}); expected "
                f"{self.role.observation_space}"
            ) from error
        if self._guest is not None:
            return self._actions.decode(self._ask(self._guest, leaves, legal))
        key = np.array([self._key], np.uint64)
        uniforms = action_uniforms(key, np.array([self._step], np.uint64), self._actions.width)
        (action,) = self._actions.listed(self._choose(leaves, legal[None], uniforms, greedy))
        self._step += 1
        return self._actions.decode(action)

    @property
    def _key(self) -> int:
        return seat_key(self._seed, "player", self._game)

    def _ask(
        self, guest: GuestPlayer, leaves: Mapping[str, NDArray[Any]], legal: NDArray[np.bool_]
    ) -> Action:
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
        """Ends the guest's program, if the player is one."""
        if self._guest is not None:
            self._guest.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *failure: object) -> None:
        self.close()

    def _split(self, observation: Any, mask: Any) -> tuple[Any, Any]:
        """(observation, mask), also where a game gives both in one dictionary."""
        if not isinstance(observation, Mapping) or MASK not in observation:
            return observation, mask
        rest = {key: part for key, part in observation.items() if key != MASK}
        space = self.role.observation_space
        named = isinstance(space, spaces.Dict) and "observation" in space.spaces
        shown = rest["observation"] if set(rest) == {"observation"} and not named else rest
        return shown, observation[MASK] if mask is None else mask

    def _choose(
        self,
        leaves: Mapping[str, NDArray[Any]],
        legal: NDArray[np.bool_],
        uniforms: NDArray[np.float64],
        greedy: bool,
    ) -> NDArray[Any]:
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
        check_finite(
            [self._hosted], [1], {name: one.numpy() for name, one in acted.named().items()}
        )
        self._state = acted.state
        actions: NDArray[Any] = acted.actions.numpy()
        return actions


def _role(player: ResolvedPlayer, roles: tuple[Role, ...], requested: str | None) -> Role:
    """The role to play. Raises: PlayerError when the player cannot play the requested one."""
    by_name = {role.name: role for role in roles}
    if player.role is not None and player.role not in by_name:
        raise PlayerError(
            f"{player.label} plays {player.role}, which {player.env_name} no longer has; it "
            f"has {', '.join(by_name)}"
        )
    if requested is not None and (requested not in by_name or not player.plays(requested)):
        raise PlayerError(
            f"role {requested!r}: {player.label} plays {player.role or ', '.join(by_name)}; "
            "leave the role out or name one of these"
        )
    if player.role is not None:
        return by_name[player.role]
    if requested is None and len(roles) > 1:
        raise PlayerError(f"{player.label} may play {' or '.join(by_name)}; say which with role=")
    return by_name[requested] if requested is not None else roles[0]


def load_player(
    name: str,
    data: Path | str | None = None,
    *,
    env: str | None = None,
    seed: int = 0,
    role: str | None = None,
    allow_files: bool = False,
) -> LoadedPlayer:
    """Loads a player for scripts and notebooks; see `LoadedPlayer`.

    name         as for `resolve_players`
    data         the data directory, as for `resolve_players`
    env          the game, for scripted players
    seed         of its random choices
    role         the role that it plays, for scripted players in games of several roles
    allow_files  as for `resolve_players`
    Raises: PlayerError for a wrong name, SnapshotError for unusable weights, ConfigError for
    arguments of another kind.
    """
    check_kinds(
        "arena.load_player",
        {
            "name": name,
            "data": data,
            "env": env,
            "seed": seed,
            "role": role,
            "allow_files": allow_files,
        },
        renamed={"name": "player", "env": "game"},
    )
    try:
        spec, (player,) = resolve_players([name], data_dir(data), env, allow_files=allow_files)
    except (EnvFileError, GuestRefused) as error:
        advice = f"in a program of yours that trusts it: load_player({name!r}, allow_files=True)"
        raise type(error)(f"{error}; {advice}") from None
    return LoadedPlayer(player, spec, seed=seed, role=role)
