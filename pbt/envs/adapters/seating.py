"""What the adapters share: seats and roles, masks, rewards and outcomes.

Conventions that a game may use in the info dict of an agent (all optional):

==============  ================================================================================
action_mask     legal actions, beside the observation or in info: one flat array of heads, or one
                array per head; non-zero = legal
tics            engine ticks that the agent's previous action covered (default 1)
reward_terms    {term: amount since the agent's previous turn} for the terms named by the
                environment's attribute `reward_terms`; the environment's own reward is always
                term 0, "reward"
place           at the end: the agent's place, lower is better, equal = tie; all agents or none
points          at the end: the game's own count (frags, goals)
end_reason      at the end: one word
==============  ================================================================================
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from pbt.envs.actions import ActionSpec
from pbt.envs.contract import Outcome, Role, ranking_from_scores
from pbt.errors import EnvError

Info = Mapping[str, Any]
Mask = NDArray[np.bool_]
Reader = Callable[[Any, Info], tuple[Any, Mask | None]]

RETURN_DIGITS = 9


class EnvSeats:
    """Seats and roles of one environment, and how to read each seat's observation.

    agents              in the order of seats
    observation_spaces  per seat, as the environment declares them
    action_spaces       per seat, as the environment declares them
    first_infos         the infos right after a reset, the only place where masks outside the
                        observation show before play
    """

    def __init__(
        self,
        game: str,
        agents: Sequence[Any],
        observation_spaces: Sequence[gymnasium.Space[Any]],
        action_spaces: Sequence[gymnasium.Space[Any]],
        first_infos: Mapping[Any, Info],
    ) -> None:
        if not agents:
            raise EnvError(
                f"game {game!r} names no agents; expected a non-empty possible_agents, set "
                "in __init__"
            )
        groups = _seat_groups(observation_spaces, action_spaces)
        self.seat_names = tuple(str(agent) for agent in agents)
        members = [[self.seat_names[seat] for seat in seats] for _, _, seats in groups]
        role_names = _role_names(members)
        self.roles: tuple[Role, ...] = ()
        readers: dict[int, Reader] = {}
        seat_roles = [0] * len(agents)
        specs: dict[int, ActionSpec] = {}
        for index, (observation_space, action_space, seats) in enumerate(groups):
            spec = ActionSpec.of(action_space)
            in_info = any("action_mask" in (first_infos.get(agents[seat]) or {}) for seat in seats)
            where = f"game {game!r}, role {role_names[index]!r}"
            space, masked, reader = _reader(where, observation_space, spec, in_info)
            self.roles += (Role(role_names[index], space, action_space, masked),)
            for seat in seats:
                seat_roles[seat], readers[seat], specs[seat] = index, reader, spec
        self.readers = [readers[seat] for seat in range(len(agents))]
        self.specs = [specs[seat] for seat in range(len(agents))]
        self.seat_roles = tuple(seat_roles)
        self.over_masks: list[Mask | None] = [
            spec.free if self.roles[role].masked else None
            for role, spec in zip(self.seat_roles, self.specs, strict=True)
        ]


def _seat_groups(
    observation_spaces: Sequence[gymnasium.Space[Any]],
    action_spaces: Sequence[gymnasium.Space[Any]],
) -> list[tuple[gymnasium.Space[Any], gymnasium.Space[Any], list[int]]]:
    """(observation space, action space, seats) of every role, in the order of first seats."""
    groups: list[tuple[gymnasium.Space[Any], gymnasium.Space[Any], list[int]]] = []
    for seat, (observation_space, action_space) in enumerate(
        zip(observation_spaces, action_spaces, strict=True)
    ):
        for group_seen, group_acted, seats in groups:
            if group_seen == observation_space and group_acted == action_space:
                seats.append(seat)
                break
        else:
            groups.append((observation_space, action_space, [seat]))
    return groups


def _role_names(members: Sequence[Sequence[str]]) -> list[str]:
    if len(members) == 1:
        return ["player"]
    bases = []
    for names in members:
        stems = {re.sub(r"[_\- ]*\d+$", "", name) for name in names}
        bases.append(
            stems.pop() if len(stems) == 1 else _common_start(names).rstrip("_- 0123456789")
        )
    return [
        base if base and bases.count(base) == 1 else f"role_{index}"
        for index, base in enumerate(bases)
    ]


def _common_start(names: Sequence[str]) -> str:
    first, last = min(names), max(names)
    return next((first[:k] for k, letter in enumerate(first) if last[k : k + 1] != letter), first)


def _reader(
    where: str, space: gymnasium.Space[Any], spec: ActionSpec, in_info: bool
) -> tuple[gymnasium.Space[Any], bool, Reader]:
    """(observation space without the mask, whether turns carry a mask, reader) of a role.

    The reader separates observation and mask.
    """
    total = spec.mask_size
    if isinstance(space, spaces.Dict) and "action_mask" in space.spaces:
        return _masked_dict_reader(where, space, total)
    if in_info:

        def read_info(seen: Any, info: Info) -> tuple[Any, Mask]:
            mask = info.get("action_mask")
            return seen, spec.free if mask is None else flat_mask(where, mask, total)

        return space, True, read_info

    def read_plain(seen: Any, info: Info) -> tuple[Any, None]:
        if "action_mask" in info:
            raise EnvError(
                f"{where}: an action_mask appeared in info after play began, but none of the "
                "role's agents had one after reset; "
                "expected it from the first info on; give the role's agents "
                "infos[agent]['action_mask'] in reset too"
            )
        return seen, None

    return space, False, read_plain


def _masked_dict_reader(
    where: str, space: spaces.Dict, total: int
) -> tuple[gymnasium.Space[Any], bool, Reader]:
    """`_reader` of a role whose observations are dicts that hold their mask."""
    rest = {key: sub for key, sub in space.spaces.items() if key != "action_mask"}
    if not rest:
        raise EnvError(
            f"{where}: the observation holds nothing beside action_mask; expected at "
            "least one more entry; return what the agent sees"
        )
    if tuple(rest) == ("observation",):

        def read_pair(seen: Any, info: Info) -> tuple[Any, Mask]:
            return seen["observation"], flat_mask(where, seen["action_mask"], total)

        return rest["observation"], True, read_pair
    keys = tuple(rest)

    def read_dict(seen: Any, info: Info) -> tuple[Any, Mask]:
        return {key: seen[key] for key in keys}, flat_mask(where, seen["action_mask"], total)

    return spaces.Dict(rest), True, read_dict


def flat_mask(where: str, mask: Any, total: int) -> Mask:
    """A game's mask as [total] bool, heads side by side.

    mask  one array of all heads, or a (nested) sequence or dict of arrays
    """
    if type(mask) is not np.ndarray:
        mask = np.concatenate(
            [np.atleast_1d(np.asarray(part)).reshape(-1) for part in _parts(mask)] or [np.zeros(0)]
        )
    if mask.size != total:
        raise EnvError(
            f"{where}: action_mask has {mask.size} entries (shape {mask.shape}), the action "
            f"space has {total} choices; "
            f"expected {total}: one entry per choice, heads side by side"
            + ", and none for numbers"
            * (not total)
        )
    flat: Mask = mask.reshape(-1).astype(np.bool_, copy=False)
    return flat


def _parts(mask: Any) -> list[Any]:
    if isinstance(mask, Mapping):
        return [leaf for part in mask.values() for leaf in _parts(part)]
    if isinstance(mask, tuple) or (
        isinstance(mask, list) and mask and isinstance(mask[0], np.ndarray | list | tuple | Mapping)
    ):
        return [leaf for part in mask for leaf in _parts(part)]
    return [mask]


class Scoreboard:
    """Counts one game: returns, and what the game declared when each seat ended.

    The adapter that owns it may read `returns[seat]` and `over[seat]`, and add to `returns`.
    """

    def __init__(self, game: str, seats: int, reward_terms: tuple[str, ...]) -> None:
        self._game = game
        self._seats = seats
        self._extra_terms = reward_terms[1:]
        self.start()

    def start(self) -> None:
        self.returns = [0.0] * self._seats
        self.over = [False] * self._seats
        self._declared: list[Info] = [{}] * self._seats
        self._truncated = False

    def rewards(self, seat: int, reward: Any, info: Info) -> list[float]:
        """The turn's reward terms, [reward, declared terms ...].

        Term 0 is added to the seat's return.
        """
        amount = float(reward)
        self.returns[seat] += amount
        if not self._extra_terms:
            return [amount]
        terms = info.get("reward_terms") or {}
        return [amount, *(float(terms.get(name, 0.0)) for name in self._extra_terms)]

    def end(self, seat: int, info: Info, truncated: bool) -> None:
        self.over[seat] = True
        self._declared[seat] = info
        self._truncated = self._truncated or truncated

    def outcome(self) -> Outcome:
        """Declared places, else the ranking of returns.

        Returns are rounded, so that the order of additions breaks no tie.
        """
        if not all(self.over):
            raise EnvError(
                f"game {self._game!r}: outcome() was called while seats "
                f"{[s for s, o in enumerate(self.over) if not o]} still play"
            )
        places = [info.get("place") for info in self._declared]
        if all(place is None for place in places):
            ranking = ranking_from_scores([round(total, RETURN_DIGITS) for total in self.returns])
        elif any(place is None for place in places):
            raise EnvError(
                f"game {self._game!r}: infos declare places {places}; expected a place for "
                "every agent or for none"
            )
        else:
            ranking = ranking_from_scores([-float(place) for place in places if place is not None])
        points = [info.get("points") for info in self._declared]
        reasons = [str(info["end_reason"]) for info in self._declared if info.get("end_reason")]
        return Outcome(
            ranking,
            tuple(float(p) for p in points if p is not None)
            if all(p is not None for p in points)
            else None,
            reasons[0] if reasons else "truncated" if self._truncated else "rules",
        )


def declared_terms(env: Any) -> tuple[str, ...]:
    """The game's reward terms: "reward", then those that the environment's `reward_terms` names."""
    terms = tuple(str(term) for term in getattr(env, "reward_terms", ()) if term != "reward")
    return ("reward", *terms)


def possible_agents(env: Any, name: str) -> list[Any]:
    """All agents of a PettingZoo environment, in seat order."""
    agents = getattr(env, "possible_agents", None)
    if agents is None:
        raise EnvError(
            f"game {name!r} has no possible_agents: seats must be known before play; set "
            "self.possible_agents in __init__"
        )
    return list(agents)
