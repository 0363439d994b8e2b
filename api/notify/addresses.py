"""Where webhooks may go: hosts that the service's settings name, and no machine behind them.

A caller chooses the address, and the service sends from inside a network that the caller may not
reach. So the host must be in the settings, and an address that is not public (loopback, private,
link-local and the like) must stand there itself. A name is resolved once for each attempt, and the
connection goes to the address that was checked: what the name means a moment later is not asked.
"""

import ipaddress
import socket
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from urllib.parse import urlsplit

from pbt.errors import PbtError

PORTS = {"http": 80, "https": 443}
LOCALHOST = ("localhost", "127.0.0.1", "::1")
MOST_LETTERS = 2000
_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")

Address = ipaddress.IPv4Address | ipaddress.IPv6Address


class TargetError(PbtError):
    """An address that no webhook may have, or a name that has no address.

    lasting  asking again would end the same way
    """

    def __init__(self, text: str, *, lasting: bool = True) -> None:
        self.lasting = lasting
        super().__init__(text)


@dataclass(frozen=True, slots=True)
class Target:
    """A place to send to.

    scheme  "http" or "https"
    host    name or address, in lower case
    port    of the host
    path    with the query
    """

    scheme: str
    host: str
    port: int
    path: str

    @property
    def shown(self) -> str:
        """Without the path, which may be a secret."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        port = "" if self.port == PORTS[self.scheme] else f":{self.port}"
        return f"{self.scheme}://{host}{port}"


def target_of(url: str) -> Target:
    """The parts of a URL. Raises: TargetError for one that is not http or https, or has a user."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise TargetError(f"{error}; expected https://HOST/PATH") from error
    if not url.isascii() or not url.isprintable() or " " in url or len(url) > MOST_LETTERS:
        raise TargetError(f"expected at most {MOST_LETTERS} letters of ASCII without spaces")
    if parts.scheme not in PORTS or not parts.hostname:
        raise TargetError("expected https://HOST/PATH or http://HOST/PATH")
    if parts.username is not None or parts.password is not None or parts.fragment:
        raise TargetError("expected no user, no password and no fragment in it")
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    return Target(parts.scheme, canonical(parts.hostname), port or PORTS[parts.scheme], path)


def refuse_host(target: Target, allowed: Collection[str]) -> None:
    """Raises: TargetError unless the host is in the settings."""
    if target.host not in listed(allowed):
        names = ", ".join(sorted(allowed)) or "none"
        raise TargetError(
            f"the host {target.host} is not allowed; allowed are: {names}; `arena serve "
            "--webhook-host NAME` adds one"
        )


def resolve(target: Target, allowed: Collection[str]) -> str:
    """The address to connect to. Raises: TargetError when it has none that is allowed.

    Asking for the address of a name may take half a minute.
    """
    refuse_host(target, allowed)
    try:
        found = socket.getaddrinfo(target.host, target.port, type=socket.SOCK_STREAM)
    except OSError as error:
        text = f"{target.host}: its address was not found: {error}"
        raise TargetError(text, lasting=False) from error
    addresses = [ipaddress.ip_address(str(entry[4][0]).partition("%")[0]) for entry in found]
    for address in addresses:
        if is_allowed(address, allowed):
            return str(address)
    texts = ", ".join(dict.fromkeys(map(str, addresses)))
    raise TargetError(
        f"{target.host}: {texts} is not public; `arena serve --webhook-host {addresses[0]}` allows "
        "it"
    )


def is_allowed(address: Address, allowed: Collection[str]) -> bool:
    """Whether an address is public, or stands in the settings itself."""
    if str(address) in listed(allowed):
        return True
    return all(one.is_global and not one.is_multicast for one in _meant(address))


def listed(allowed: Collection[str]) -> frozenset[str]:
    """The hosts of the settings. "localhost" stands for its addresses as well."""
    names = {canonical(name) for name in allowed}
    return frozenset(names | (set(LOCALHOST) if "localhost" in names else set()))


def canonical(host: str) -> str:
    """One spelling for each name and address."""
    plain = host.lower().strip("[]")
    try:
        return str(ipaddress.ip_address(plain))
    except ValueError:
        return plain


def _meant(address: Address) -> Iterator[Address]:
    """The address, and the IPv4 addresses that packets to it may reach."""
    yield address
    if isinstance(address, ipaddress.IPv6Address):
        inner = (address.ipv4_mapped, address.sixtofour, *(address.teredo or ()))
        yield from (one for one in inner if one is not None)
        if address in _NAT64:
            yield ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
