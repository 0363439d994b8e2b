"""UDP ports for matches: each is taken by one match at a time, in whichever process it runs.

An engine binds its port itself, so this program cannot hold the port until then. It holds a name
that stands for the port instead: an abstract socket of Linux, which one process at a time can bind,
and which is gone with that process, however it ends.
"""

import random
import socket
from collections.abc import Iterable

# Below the ports that the kernel hands out by itself, above those of well-known services.
PORTS = range(20_000, 32_000)


class Port:
    """A UDP port that no other match will take while this object lives."""

    def __init__(self, number: int, hold: socket.socket) -> None:
        self.number, self._hold = number, hold

    def close(self) -> None:
        self._hold.close()


def take_port(candidates: Iterable[int] | None = None) -> Port:
    """Take the first free port of `candidates`, or of all ports from a random one on.

    Raises: OSError when there is none.
    """
    if candidates is None:
        start = random.SystemRandom().randrange(len(PORTS))
        candidates = (PORTS[(start + step) % len(PORTS)] for step in range(len(PORTS)))
    for number in candidates:
        hold = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        try:
            hold.bind(f"\0pbt-arena-doom-{number}")
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
                probe.bind(("", number))
            return Port(number, hold)
        except OSError:
            hold.close()
    raise OSError("no UDP port is free")


def waiting_bytes(number: int) -> int:
    """Bytes of packets that have come to a UDP port and wait there, as the kernel counts them."""
    bound = f":{number:04X}"
    with open("/proc/self/net/udp", encoding="ascii") as sockets:
        rows = [line.split() for line in sockets]
    return sum(int(row[4].partition(":")[2], 16) for row in rows if row[1].endswith(bound))
