"""Slots whose rows are trained or dropped go back to the workers that own them, once per turn."""

from pbt.runtime.control import Permits
from pbt.runtime.process_group import ProcessGroup
from pbt.runtime.shared import SharedMemory
from pbt.transport.messages import RolloutPermit


class SlotReleases:
    """Collects released slots by worker until they are sent."""

    def __init__(self, shared: SharedMemory, processes: ProcessGroup) -> None:
        self._shared, self._processes = shared, processes
        self._permits: dict[str, list[RolloutPermit]] = {}

    def add(self, permit: RolloutPermit) -> None:
        owner = self._shared.owner(permit.role, permit.slot)
        self._permits.setdefault(owner, []).append(permit)

    def send(self) -> None:
        """Send every worker the slots that came back since the last call.

        Those of workers that have died are forgotten: their successors have all slots free.
        """
        for name, permits in self._permits.items():
            self._processes.send(name, Permits(tuple(permits)))
        self._permits.clear()
