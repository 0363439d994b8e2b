"""The processes of a run by fault domain: who lives, who is stuck, and what the dead still said."""

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pbt.runtime.control import FROM_MAIN, TO_MAIN, Assignment
from pbt.runtime.placements import ProcessPlan
from pbt.transport.board import PHASES, ProcessBoard
from pbt.transport.child import START_TIMEOUT_S, Child, Wires, hear, stop_all
from pbt.transport.messages import JsonState

# Between two looks at the children lies a turn of the main loop, and now and then a checkpoint.
PAUSE_S = 2.0
# Who is stopped, by a signal, does not go on by itself: there is nothing to wait for but the signal
# that takes it back.
STOPPED_AFTER_S = 2.0

Domain = tuple[str, ...]
"""Names of processes that live and die together: the whole sampling plane, or one process
outside it.
"""


WIRES = Wires(FROM_MAIN, TO_MAIN)


def start_child(name: str, orders: JsonState, descriptors: Sequence[int], program: str) -> Child:
    """One process of a run. orders: what it is to be; its config says how many threads it
    computes with.
    """
    threads: int = orders["config"]["runtime"]["torch_threads"]
    return Child(name, program, WIRES, Assignment(name, orders), descriptors, threads)


class ProcessGroup:
    """Starts, hears, watches and buries processes. What their deaths mean is for the engine to say.

    program  the module that every process executes
    """

    program = "pbt.runtime.entry"

    def __init__(
        self,
        plans: Sequence[ProcessPlan],
        board: ProcessBoard,
        silent_after_s: float,
        phase_limits_s: Mapping[str, float],
    ) -> None:
        """phase_limits_s: how long a process may stay in one phase of the board before it is
        taken for hung.
        """
        self.plans = {plan.name: plan for plan in plans}
        self._rows = {plan.name: board.row(index) for index, plan in enumerate(plans)}
        self._silent_after_s, self._phase_limits_s = silent_after_s, dict(phase_limits_s)
        self.children: dict[str, Child] = {}
        self._looked_s = self._woke_s = time.monotonic()
        self.restarts = dict.fromkeys(self.plans, 0)
        plane = tuple(plan.name for plan in plans if plan.in_plane)
        self.domains: tuple[Domain, ...] = (
            plane,
            *((plan.name,) for plan in plans if not plan.in_plane),
        )

    def start(self, assignments: Mapping[str, tuple[JsonState, Sequence[int]]]) -> None:
        """By name: what each process is told first, and the descriptors it gets."""
        for name, (assignment, descriptors) in assignments.items():
            self._rows[name].clear()
            self.children[name] = start_child(name, assignment, descriptors, self.program)

    def send(self, name: str, *messages: Any) -> None:
        """To a process that is not there: nothing, since whoever takes its place is told
        everything anew.
        """
        if name in self.children:
            self.children[name].send(*messages)

    def reachable(self, name: str) -> bool:
        return name in self.children

    def is_ready(self, name: str) -> bool:
        return name in self.children and self.children[name].ready

    def is_plane(self, domain: Domain) -> bool:
        return domain == self.domains[0]

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
        """Domain -> what is wrong with one of its processes, in words."""
        found: dict[Domain, str] = {}
        now = time.monotonic()
        if now - self._looked_s > PAUSE_S:
            # Nobody looked for a while: perhaps the whole run was stopped and goes on just now.
            # Everybody gets the time to show it.
            self._woke_s = now
        self._looked_s = now
        for domain in self.domains:
            reasons = [
                reason
                for name in domain
                if name in self.children and (reason := self._trouble(self.children[name]))
            ]
            if reasons:
                found[domain] = reasons[0]
        return found

    def _trouble(self, child: Child) -> str:
        if child.gone or child.has_ended():
            return child.epitaph()
        now, row = time.monotonic(), self._rows[child.name].read()
        phase = PHASES[int(row["phase"])]
        if not child.ready and now - max(child.started_s, self._woke_s) > START_TIMEOUT_S:
            return (
                f"{child.name} did not get ready within {START_TIMEOUT_S:.0f} s; use "
                "fewer workers (runtime.workers)?"
            )
        silent, since = (
            now - max(row["beat_s"], child.started_s, self._woke_s),
            now - max(row["phase_since_s"], self._woke_s),
        )
        limit_s = self._phase_limits_s.get(phase, since)
        if silent > min(self._silent_after_s, STOPPED_AFTER_S) and child.is_stopped():
            return (
                f"{child.name} (pid {child.pid}) gave no sign of life for {silent:.1f} s: "
                "it is stopped"
            )
        # A game's own code may keep everything else of its process from running, the sign of life
        # included; while it loads there is none either.
        patience_s = max(self._silent_after_s, limit_s) if phase == "game" else self._silent_after_s
        if silent > patience_s and row["beat_s"]:
            return f"{child.name} (pid {child.pid}) gave no sign of life for {silent:.1f} s"
        if row["beat_s"] and since > limit_s:
            where = (
                f" at table {int(row['detail'])}: the game's code does not return (env.timeout_s)"
                if phase == "game"
                else ""
            )
            return f"{child.name} (pid {child.pid}) has been {phase} for {since:.1f} s{where}"
        return ""

    def bury(self, domain: Sequence[str]) -> Iterator[tuple[str, Any]]:
        """End what is left of a domain; yields what its processes said before the end."""
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
