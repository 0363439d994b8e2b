"""Where a worker's groups get their actions from: a policy server in the same process, or one
elsewhere (`remote.py`).
"""

from typing import Protocol

from pbt.inference.frozen import LoadPolicy, LocalPolicyHost, PolicyHost
from pbt.inference.policy_server import PolicyServer
from pbt.transport.messages import ActionRequest, ActionsReady


class Inference(PolicyHost, Protocol):
    """Takes the requests of several groups; answers come in any order, that to a long request in
    parts.
    """

    def send(self, group: int, request: ActionRequest) -> None:
        """Ask for the actions of a group's rows."""

    def poll(self, timeout_s: float) -> list[tuple[int, ActionsReady]]:
        """(group, answer) of what was answered since; waits so long for the first one, not at
        all when nothing is outstanding.
        """

    def outstanding(self, group: int) -> int:
        """Answers the group still waits for."""


class LocalInference(LocalPolicyHost):
    """Acts at once, in this process."""

    def __init__(self, server: PolicyServer, load: LoadPolicy) -> None:
        super().__init__(server, load)
        self._serve = server.serve
        self._ready: list[tuple[int, ActionsReady]] = []

    def send(self, group: int, request: ActionRequest) -> None:
        self._ready.append((group, self._serve(request)))

    def poll(self, timeout_s: float) -> list[tuple[int, ActionsReady]]:
        ready, self._ready = self._ready, []
        return ready

    def outstanding(self, group: int) -> int:
        return sum(asker == group for asker, _ in self._ready)
