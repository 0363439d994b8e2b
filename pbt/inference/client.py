"""A worker's way to a policy server: the interface, and its form for a server in this process.

`remote.py` has the form for servers in other processes.
"""

from collections.abc import Sequence
from typing import Protocol

from pbt.inference.frozen import LoadPolicy, LocalPolicyHost, PolicyHost
from pbt.inference.policy_server import PolicyServer
from pbt.transport.messages import ActionRequest, ActionsReady


class Inference(PolicyHost, Protocol):
    """Takes requests for actions from several groups of tables, and gives their answers.

    Answers come in any order, and the answer to a long request may come in parts.
    """

    def send(self, group: int, requests: Sequence[ActionRequest]) -> None:
        """Ask for the actions of a group's rows. requests: one for each policy that acts."""

    def poll(self, timeout_s: float) -> list[tuple[int, ActionsReady]]:
        """(group, answer) of all answers that are new.

        Waits up to `timeout_s` for the first one; does not wait when no request is outstanding.
        """

    def outstanding(self, group: int) -> int:
        """Number of answers that the group still waits for."""


class LocalInference(LocalPolicyHost):
    """A policy server in this process; it answers every request at once."""

    def __init__(self, server: PolicyServer, load: LoadPolicy) -> None:
        super().__init__(server, load)
        self._serve = server.serve_all
        self._ready: list[tuple[int, ActionsReady]] = []

    def send(self, group: int, requests: Sequence[ActionRequest]) -> None:
        self._ready += ((group, ready) for ready in self._serve(requests))

    def poll(self, timeout_s: float) -> list[tuple[int, ActionsReady]]:
        ready, self._ready = self._ready, []
        return ready

    def outstanding(self, group: int) -> int:
        return sum(answered == group for answered, _ in self._ready)
