"""Fault domains: processes that live and die together are started, and started again after a death.

The sampling plane (all workers and policy servers) is one domain, because its processes share
queues and slots; every process outside it is a domain of its own.
"""

import time

from pbt.errors import EngineError
from pbt.population.interfaces import RunSink
from pbt.processes.restarts import RestartPolicy
from pbt.records import Event
from pbt.runtime.control import Go
from pbt.runtime.pausing import Rest
from pbt.runtime.process_group import Domain, ProcessGroup
from pbt.runtime.repeated_errors import RepeatedErrors
from pbt.runtime.run_state import RunState


class FaultDomains:
    """Starts the domains of a run, and decides what follows from a death.

    errors  that may end the run
    """

    def __init__(
        self,
        processes: ProcessGroup,
        state: RunState,
        rest: Rest,
        sink: RunSink,
    ) -> None:
        self._processes, self._state, self._rest, self._sink = processes, state, rest, sink
        self.errors = RepeatedErrors()
        max_restarts = state.config.runtime.max_restarts
        self._restarts = {domain: RestartPolicy(max_restarts) for domain in processes.domains}
        # When each domain that does not run is to be started.
        self._due: dict[Domain, float] = dict.fromkeys(processes.domains, 0.0)

    def start_due(self) -> None:
        """Start every domain whose time has come.

        The sampling plane starts only when no learner reads its slots any more. None starts while
        the snapshots are away, since it could not load them.
        """
        state, now = self._state, time.monotonic()
        due = [domain for domain, due_s in self._due.items() if now >= due_s]
        for domain in due if due and not state.away else ():
            plane = self._processes.is_plane(domain)
            if plane and state.scheduler.gathering:
                continue
            del self._due[domain]
            if plane:
                state.shared.renew_plane()
                state.final_games.quiet.clear()
            self._processes.start(state.orders(domain))

    def ready(self, name: str) -> bool:
        """Note that a process is built; its domain begins to work when all of it is.

        Returns whether games begin by that.
        """
        self._processes.children[name].ready = True
        domain = self._processes.domain_of(name)
        if not all(self._processes.is_ready(other) for other in domain):
            return False
        for other in domain:
            self._processes.send(other, Go())
        for learner in self._state.learners_at(domain):
            self._state.scheduler.started(learner.name)
        return self._processes.is_plane(domain)

    def died(self, domain: Domain, reason: str) -> None:
        """Count what is lost with a domain that was buried, and set when it starts again.

        Raises: EngineError when the sampling plane died too often in a row, or when the same error
        ended a process before.
        """
        scheduler, plane = self._state.scheduler, self._processes.is_plane(domain)
        learners = self._state.learners_at(domain)
        for learner in learners:
            learner.died()
            scheduler.died(learner.name)
        self.errors.domain_died()
        self._state.counters.bury(domain)
        if plane:
            self._rest.answers.clear()
            scheduler.pacing.restart()
            self._state.slots_died()
        # A learner's process has made progress only if its own members trained.
        delay_s = self._restarts[domain].died(
            scheduler.updates + self._state.roster.evaluated.closing
            if plane
            else sum(learner.frames for learner in learners)
        )
        if delay_s is None:
            self._give_up(domain, reason)
        else:
            self._announce_restart(domain, reason)
            self._due[domain] = time.monotonic() + delay_s

    def _announce_restart(self, domain: Domain, reason: str) -> None:
        state = self._state
        text = f"{reason}; starting again: {', '.join(domain)}"
        if self._processes.is_plane(domain):
            voided = state.roster.void_open_games(state.shared.counts.tolist())
            text += f"; {voided} open games are void"
        frames = max(state.scheduler.clocks().values())
        self._sink.event(Event("restart", None, frames, text))

    def _give_up(self, domain: Domain, reason: str) -> None:
        """Fail the members of a learner's process. Raises: EngineError for the sampling plane."""
        text = (
            f"{reason}; {self._restarts[domain].in_a_row} times in a row without an "
            "update in between"
        )
        if self._processes.is_plane(domain):
            raise EngineError(f"the run cannot go on: {text}")
        for shard in self._processes.plans[domain[0]].trains:
            self._state.scheduler.fail(shard.member, text)
