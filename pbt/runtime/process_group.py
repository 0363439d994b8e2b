"""The processes of a run by fault domain: which live, which hang, the last words of the dead."""

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pbt.runtime.control import FROM_MAIN, TO_MAIN, Assignment
from pbt.runtime.placements import ProcessPlan
from pbt.transport.child import START_TIMEOUT_S, Child, Wires, hear, stop_all
from pbt.transport.messages import JsonState
from pbt.transport.process_board import PHASES, ProcessBoard

# Between two looks at the children lies a turn of the main loop, and now and then a checkpoint.
# After a longer pause than this, or than half of a limit, the main process itself may have been
# stopped.
PAUSE_S = 2.0
# A process that a signal has stopped does not go on by itself, so it is given less time than one
# that is only silent.
STOPPED_AFTER_S = 2.0

Domain = tuple[str, ...]
"""Names of processes that live and die together: the sampling plane, or one process outside it."""


WIRES = Wires(FROM_MAIN, TO_MAIN)


def start_child(
    plan: ProcessPlan, orders: JsonState, descriptors: Sequence[int], program: str
) -> Child:
    """Start one process of a run. orders: of its assignment; the config has its thread count."""
    threads: int = orders["config"]["runtime"]["torch_threads"]
    return Child(plan.name, program, WIRES, Assignment(plan, orders), descriptors, threads)


class ProcessGroup:
    """Starts, hears, watches and buries processes; `FaultDomains` decides what a death means.

    program   the module that every process executes
    plans     what each process hosts, by name
    children  the processes that were started and not buried, by name
    restarts  how often each process was buried, by name
    domains   the sampling plane first
    rows      each process's row of the board, by name
    """

    program = "pbt.runtime.entry"

    def __init__(
        self,
        plans: Sequence[ProcessPlan],
        board: ProcessBoard,
        silent_after_s: float,
        phase_limits_s: Mapping[str, float],
    ) -> None:
        """silent_after_s: how long a process may show no sign of life.

        phase_limits_s: how long it may stay in a phase of the board; both before it counts as hung.
        """
        self.plans = {plan.name: plan for plan in plans}
        self.rows = {plan.name: board.row(index) for index, plan in enumerate(plans)}
        self._silent_after_s, self._phase_limits_s = silent_after_s, dict(phase_limits_s)
        self._pause_s = min(PAUSE_S, *(0.5 * s for s in (silent_after_s, *phase_limits_s.values())))
        self.children: dict[str, Child] = {}
        self._looked_s = self._woke_s = time.monotonic()
        self.restarts = dict.fromkeys(self.plans, 0)
        plane = tuple(plan.name for plan in plans if plan.in_plane)
        alone = [(plan.name,) for plan in plans if not plan.in_plane]
        self.domains: tuple[Domain, ...] = (plane, *alone)

    def start(self, assignments: Mapping[str, tuple[JsonState, Sequence[int]]]) -> None:
        """Start processes. assignments: by name, the orders of each, and its descriptors."""
        for name, (orders, descriptors) in assignments.items():
            self.rows[name].clear()
            self.children[name] = start_child(self.plans[name], orders, descriptors, self.program)

    def send(self, name: str, *messages: Any) -> None:
        """Send messages to a process, unless it is not there: its successor is told everything."""
        if name in self.children:
            self.children[name].send(*messages)

    def reachable(self, name: str) -> bool:
        return name in self.children

    def is_ready(self, name: str) -> bool:
        return name in self.children and self.children[name].ready

    def is_plane(self, domain: Domain) -> bool:
        return domain == self.domains[0]

    @property
    def plane_is_ready(self) -> bool:
        """Whether the sampling plane works, or only waits for its first messages."""
        return all(self.is_ready(name) for name in self.domains[0])

    def domain_of(self, name: str) -> Domain:
        return next(domain for domain in self.domains if name in domain)

    def workers(self) -> list[str]:
        return [name for name, plan in self.plans.items() if plan.groups]

    def tell_workers(self, *messages: Any) -> None:
        for name in self.workers():
            self.send(name, *messages)

    def hear(self, timeout_s: float) -> Iterator[tuple[str, Any]]:
        for child, message in hear(list(self.children.values()), timeout_s):
            yield child.name, message

    def troubles(self) -> dict[Domain, str]:
        """Return every domain with a process that died or hangs, and in words what is wrong."""
        troubles: dict[Domain, str] = {}
        now = time.monotonic()
        if now - self._looked_s > self._pause_s:
            # The whole run may have been stopped, and go on just now. Every process gets its time
            # to show a sign of life.
            self._woke_s = now
        self._looked_s = now
        for domain in self.domains:
            reasons = [
                reason
                for name in domain
                if name in self.children and (reason := self._trouble(self.children[name]))
            ]
            if reasons:
                troubles[domain] = reasons[0]
        return troubles

    def _trouble(self, child: Child) -> str:
        if child.gone or child.has_ended():
            return child.epitaph()
        now, row = time.monotonic(), self.rows[child.name].read()
        phase = PHASES[int(row["phase"])]
        if not child.ready and now - max(child.started_s, self._woke_s) > START_TIMEOUT_S:
            return (
                f"{child.name} did not get ready within {START_TIMEOUT_S:.0f} s; use "
                "fewer workers (runtime.workers)?"
            )
        silent = now - max(row["beat_s"], child.started_s, self._woke_s)
        since = now - max(row["phase_since_s"], self._woke_s)
        limit_s = self._phase_limits_s.get(phase, since)
        silence = f"{child.name} (pid {child.pid}) gave no sign of life for {silent:.1f} s"
        if silent > min(self._silent_after_s, STOPPED_AFTER_S) and child.is_stopped():
            return f"{silence}: it is stopped"
        # A game's own code may keep its process from showing signs of life, as may loading it.
        patience_s = max(self._silent_after_s, limit_s) if phase == "game" else self._silent_after_s
        if silent > patience_s and row["beat_s"]:
            return silence
        if row["beat_s"] and since > limit_s:
            where = (
                f" at table {int(row['detail'])}: the game's code does not return (env.timeout_s)"
                if phase == "game"
                else ""
            )
            return f"{child.name} (pid {child.pid}) has been {phase} for {since:.1f} s{where}"
        return ""

    def bury(self, domain: Sequence[str]) -> Iterator[tuple[str, Any]]:
        """End what is left of a domain; yields what its processes still sent before their end."""
        dead = [self.children.pop(name) for name in domain if name in self.children]
        for child in dead:
            child.kill()
        for child in dead:
            yield from ((child.name, message) for message in child.last_words())
            child.close()
            self.restarts[child.name] += 1

    def close(self) -> None:
        stop_all(list(self.children.values()))
        self.children.clear()
