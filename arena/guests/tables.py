"""Guests at the tables of a match: they are asked where a policy server would act, told of every
game, and lose the games they spoil.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from arena.guests.player import SeatTaken
from arena.guests.program import FORFEIT_PREFIX, GuestProgram
from arena.guests.protocol import Action, GuestFault
from arena.host import usable_cores
from pbt.envs.contract import Game
from pbt.records import is_voided
from pbt.sampling.rollout_worker import RolloutWorker
from pbt.seeding import seat_key
from pbt.transport.messages import ActionRequest, ActionsReady, GameEnd, GamePlan
from pbt.transport.slab import OBSERVATION_PREFIX, Slab

# In games of turns a guest waits at half of its tables while the others move.
_TABLES_PER_CORE = 2


def tables_for(programs: Sequence[GuestProgram | None], tables: int) -> int:
    """Fewer where a program sits at each of them: they share the cores, and their time is
    limited.
    """
    return min(tables, _TABLES_PER_CORE * usable_cores()) if any(programs) else tables


def forfeit_places(seats: int, guilty: int) -> tuple[int, ...]:
    """By seat: whoever forfeited is last, the others share the first place."""
    return tuple(seats - 1 if seat == guilty else 0 for seat in range(seats))


class Guest(Protocol):
    """Who is asked outside this process: a program (`GuestPlayer`), or a person
    (`arena.guests.person`).
    """

    def take(self, taken: SeatTaken) -> None:
        """A game begins in which the guest sits."""

    def act(
        self, keys: Sequence[int], observations: Mapping[str, NDArray[Any]], mask: NDArray[np.bool_]
    ) -> list[Action | GuestFault]:
        """In N games at once. observations: leaf name -> [N, *shape]; mask: [N, A]. For each an
        action, or what forfeits the game.
        """

    def leave(self, key: int, result: Mapping[str, Any]) -> None:
        """The game is over. result: what the guest is told of it."""

    def close(self) -> None:
        """Nothing more will be asked."""


class GuestTables:
    """seed: of the tables' action noise;  slabs: by role."""

    def __init__(self, game: Game, slabs: Sequence[Slab], seed: int) -> None:
        self._game, self._slabs, self._seed = game, tuple(slabs), seed
        self._guests: dict[int, Guest] = {}
        self._forfeits: dict[int, str] = {}

    def attach(self, policy: int, guest: Guest) -> None:
        self._guests[policy] = guest

    def serves(self, policy: int) -> bool:
        return policy in self._guests

    def serve(self, request: ActionRequest) -> ActionsReady:
        """As `PolicyServer.serve`, but for the rows that were forfeited, which the answer leaves
        out. Raises: GuestError.
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
        """End the games that were forfeited since."""
        forfeits, self._forfeits = self._forfeits, {}
        for table in worker.tables:
            for guilty in [seat for seat in table.seats if seat.key in forfeits][:1]:
                for seat, place in zip(
                    table.seats, forfeit_places(len(table.seats), guilty.index), strict=True
                ):
                    seat.place = place
                worker.void(table, FORFEIT_PREFIX + forfeits[guilty.key])

    def game_begins(self, plan: GamePlan) -> None:
        for seat, key in self._seats(plan):
            # A seed of its own: the game's would tell it the cards.
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
        """(seat, key) of those that guests sit in."""
        return [
            (seat, seat_key(self._seed, *plan.noise, seat))
            for seat, taken in enumerate(plan.seats)
            if taken.policy in self._guests
        ]

    def close(self) -> None:
        for guest in self._guests.values():
            guest.close()
