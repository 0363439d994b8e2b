"""Guests at the tables of a match: they answer action requests in place of a policy server.

They are also told when a game begins and ends. A guest loses a game in which it makes a mistake.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from arena.guests.player import SeatTaken
from arena.guests.program import FORFEIT_PREFIX, GuestProgram
from arena.guests.protocol import GuestFault
from arena.machine import usable_cores
from pbt.envs.contract import Action, Game
from pbt.records import is_voided
from pbt.sampling.rollout_worker import RolloutWorker
from pbt.seeding import seat_key
from pbt.transport.messages import ActionRequest, ActionsReady, GameEnd, GamePlan
from pbt.transport.slab import OBSERVATION_PREFIX, Slab

# In games of turns, a guest waits at half of its tables while its opponents move.
_TABLES_PER_CORE = 2


def tables_for(programs: Sequence[GuestProgram | None], tables: int) -> int:
    """How many tables to use. Programs share the cores and have limited time, so they get fewer."""
    return min(tables, _TABLES_PER_CORE * usable_cores()) if any(programs) else tables


def forfeit_places(seats: int, guilty: int) -> tuple[int, ...]:
    """Places by seat: the guilty seat is last, the others share the first place."""
    return tuple(seats - 1 if seat == guilty else 0 for seat in range(seats))


class Guest(Protocol):
    """A player outside this process: a program (`GuestPlayer`) or a person (`Person`)."""

    def take(self, taken: SeatTaken) -> None:
        """Begins a game in which the guest sits."""

    def act(
        self, keys: Sequence[int], observations: Mapping[str, NDArray[Any]], mask: NDArray[np.bool_]
    ) -> list[Action | GuestFault]:
        """Asks in N games at once: for each, an action, or the fault that forfeits the game.

        keys          [N] of seats
        observations  leaf name -> [N, *shape]
        mask          [N, A] legal actions
        """

    def leave(self, key: int, result: Mapping[str, Any]) -> None:
        """Ends a game. result: what the guest is told about it."""

    def close(self) -> None:
        """Ends the guest: no question follows."""


class GuestTables:
    """The guests of a match, by the policy that each of them stands for.

    game   the game, for the names of its seats
    slabs  by role: observations are read here, actions are written here
    seed   of the tables' action noise, from which the seats' keys follow
    """

    def __init__(self, game: Game, slabs: Sequence[Slab], seed: int) -> None:
        self._game, self._slabs, self._seed = game, tuple(slabs), seed
        self._guests: dict[int, Guest] = {}
        self._forfeits: dict[int, str] = {}

    def attach(self, policy: int, guest: Guest) -> None:
        self._guests[policy] = guest

    def serves(self, policy: int) -> bool:
        return policy in self._guests

    def serve(self, request: ActionRequest) -> ActionsReady:
        """As `PolicyServer.serve`, but the answer leaves out the rows of forfeited games.

        Raises: GuestError.
        """
        slab, at = self._slabs[request.role], (request.slots, request.rows)
        observations = {
            leaf.name: slab.column[OBSERVATION_PREFIX + leaf.name][at]
            for leaf in slab.layout.leaves
        }
        keys = request.keys.tolist()
        answers = self._guests[request.policy].act(keys, observations, slab.column["mask"][at])
        played = np.array([not isinstance(answer, GuestFault) for answer in answers])
        for slot, row, key, answer in zip(*at, keys, answers, strict=True):
            if isinstance(answer, GuestFault):
                self._forfeits[key] = str(answer)
            else:
                slab.column["actions"][slot, row] = answer
        return ActionsReady(
            request.policy, request.role, request.slots[played], request.rows[played], 0
        )

    def forfeit(self, worker: RolloutWorker) -> None:
        """Ends the games that were forfeited since the last call."""
        forfeits, self._forfeits = self._forfeits, {}
        if not forfeits:
            return
        for table in worker.tables:
            keys = worker.seats.key[table.seats.start : table.seats.stop].tolist()
            guilty = [seat for seat, key in enumerate(keys) if table.playing and key in forfeits]
            for seat in guilty[:1]:
                reason = FORFEIT_PREFIX + forfeits[keys[seat]]
                worker.void(table.position, reason, forfeit_places(len(keys), seat))

    def game_begins(self, plan: GamePlan) -> None:
        for seat, key in self._seats(plan):
            # The guest gets a seed of its own, because the game's seed would reveal hidden cards.
            self._guests[plan.seats[seat].policy].take(
                SeatTaken(key, plan.game_count, seat, self._game.seat_names[seat], key % 2**31)
            )

    def game_over(self, end: GameEnd) -> None:
        for seat, key in self._seats(end.plan):
            record, voided = end.seats[seat], is_voided(end.reason)
            places = None if voided else [other.place for other in end.seats]
            result = {
                "place": None if voided else record.place,
                "places": places,
                "return": record.returns,
                "reason": end.reason,
            }
            self._guests[end.plan.seats[seat].policy].leave(key, result)

    def _seats(self, plan: GamePlan) -> list[tuple[int, int]]:
        """(seat, key) of the seats that guests sit in."""
        return [
            (seat, seat_key(self._seed, *plan.noise, seat))
            for seat, taken in enumerate(plan.seats)
            if taken.policy in self._guests
        ]

    def close(self) -> None:
        for guest in self._guests.values():
            guest.close()
