"""Frozen opponents: a pool of policy slots for snapshots and scripted players.

A player is loaded when it is first seated. When the slots run out, the player that has been unused
for longest is evicted.
"""

from collections import OrderedDict
from collections.abc import Callable
from typing import Protocol

from pbt.inference.policy_server import HostedPolicy, PolicyServer
from pbt.records import PlayerRef

LoadPolicy = Callable[[PlayerRef, int], HostedPolicy]
"""(player, role index) -> the policy that plays it. Raises SnapshotError when its weights are gone.
"""

Seated = tuple[PlayerRef, int]


class PolicyHost(Protocol):
    """Has the table of policies that act, in this process or in another."""

    def attach_player(self, policy: int, player: PlayerRef, role: int) -> None:
        """From now on `policy` is this player. Raises SnapshotError when its weights are gone."""

    def detach(self, policy: int) -> None:
        """Free the place of a policy that gets no requests any more."""


class LocalPolicyHost:
    """The policy host of a server in this process."""

    def __init__(self, server: PolicyServer, load: LoadPolicy) -> None:
        self._server, self._load = server, load

    def attach_player(self, policy: int, player: PlayerRef, role: int) -> None:
        self._server.attach(policy, self._load(player, role))

    def detach(self, policy: int) -> None:
        self._server.detach(policy)


class FrozenPool:
    """Manages the policy slots `first` to `first + slots - 1` of the host's table."""

    def __init__(self, host: PolicyHost, first: int, slots: int) -> None:
        self._host = host
        self._unassigned = list(range(first + slots - 1, first - 1, -1))
        # Policy slot by player; the least recently seated player comes first.
        self._policies: OrderedDict[Seated, int] = OrderedDict()
        self._users: dict[Seated, int] = {}

    def acquire(self, players: list[Seated]) -> list[int] | None:
        """Policy slots for these players, who keep them until `release`.

        None while too many other players are seated.
        """
        missing = {seated for seated in players if seated not in self._policies}
        evictable = [
            seated for seated, users in self._users.items() if users == 0 and seated not in players
        ]
        if len(missing) > len(self._unassigned) + len(evictable):
            return None
        for seated in players:
            if seated not in self._policies:
                self._attach(seated, players)
            self._policies.move_to_end(seated)
            self._users[seated] += 1
        return [self._policies[seated] for seated in players]

    def release(self, players: list[Seated]) -> None:
        for seated in players:
            self._users[seated] -= 1

    def seated(self) -> set[str]:
        """Ids of the snapshots that sit at a table now."""
        return {
            player.name
            for (player, _), users in self._users.items()
            if users and player.kind == "snapshot"
        }

    def _attach(self, seated: Seated, keep: list[Seated]) -> None:
        if not self._unassigned:
            oldest = next(
                other for other in self._policies if self._users[other] == 0 and other not in keep
            )
            policy = self._policies.pop(oldest)
            del self._users[oldest]
            self._host.detach(policy)
            self._unassigned.append(policy)
        self._host.attach_player(self._unassigned[-1], *seated)
        policy = self._unassigned.pop()
        self._policies[seated] = policy
        self._users[seated] = 0
