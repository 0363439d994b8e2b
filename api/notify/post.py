"""One POST to a webhook: to an address that was checked, within a time, with no redirect."""

import hashlib
import hmac
import http.client
import socket
import ssl
import threading
import time
from http import HTTPStatus

from api.notify.addresses import Target
from pbt import __version__
from pbt.errors import PbtError

SIGNATURE = "X-Arena-Signature"
TRY_AGAIN = (HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_MANY_REQUESTS)


class DeliveryError(PbtError):
    """A receiver did not take a notice.

    lasting  another attempt would end the same way
    """

    def __init__(self, text: str, *, lasting: bool = False) -> None:
        self.lasting = lasting
        super().__init__(text)


def signature(secret: str, body: bytes) -> str:
    """What the header SIGNATURE says of a body: HMAC-SHA-256 with the secret, in hexadecimal."""
    return f"sha256={hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()}"


def post(target: Target, address: str, body: bytes, secret: str | None, timeout_s: float) -> None:
    """Send JSON and wait for the status of the answer, which must be a success.

    address    to connect to; the name of the target is what TLS checks
    secret     to sign the body with
    timeout_s  for all of it, however slowly the receiver answers
    Raises: DeliveryError.
    """
    headers = {"Content-Type": "application/json", "User-Agent": f"pbt-arena/{__version__}"}
    if secret is not None:
        headers[SIGNATURE] = signature(secret, body)
    deadline = time.monotonic() + timeout_s
    try:
        status = _status(target, address, body, headers, deadline)
    except (OSError, http.client.HTTPException, ValueError) as error:
        if time.monotonic() >= deadline:
            raise DeliveryError(f"{target.shown}: no answer within {timeout_s:g} s") from error
        raise DeliveryError(f"{target.shown}: {str(error) or type(error).__name__}") from error
    if HTTPStatus.MULTIPLE_CHOICES <= status < HTTPStatus.BAD_REQUEST:
        raise DeliveryError(
            f"{target.shown}: it answered {status}, a redirect, which is not followed; name the "
            "last address itself",
            lasting=True,
        )
    if not HTTPStatus.OK <= status < HTTPStatus.MULTIPLE_CHOICES:
        again = status >= HTTPStatus.INTERNAL_SERVER_ERROR or status in TRY_AGAIN
        raise DeliveryError(f"{target.shown}: it answered {status}", lasting=not again)


def _status(
    target: Target, address: str, body: bytes, headers: dict[str, str], deadline: float
) -> int:
    left_s = max(0.001, deadline - time.monotonic())
    connected = socket.create_connection((address, target.port), timeout=left_s)
    try:
        if target.scheme == "https":
            connected = ssl.create_default_context().wrap_socket(
                connected, server_hostname=target.host, do_handshake_on_connect=False
            )
        # A timeout of a socket begins anew with every byte, so the whole is cut off from outside.
        watch = threading.Timer(max(0.0, deadline - time.monotonic()), _cut, (connected,))
        watch.daemon = True
        watch.start()
        try:
            if isinstance(connected, ssl.SSLSocket):
                connected.do_handshake()
            # A connection that has a socket makes none, and so asks for no name and no proxy.
            connection = http.client.HTTPConnection(target.host, target.port)
            connection.sock = connected
            connection.putrequest("POST", target.path, skip_host=True)
            connection.putheader("Host", target.shown.partition("://")[2])
            connection.putheader("Content-Length", str(len(body)))
            for name, value in headers.items():
                connection.putheader(name, value)
            connection.endheaders(body)
            return connection.getresponse().status
        finally:
            watch.cancel()
    finally:
        connected.close()


def _cut(connected: socket.socket) -> None:
    try:
        connected.shutdown(socket.SHUT_RDWR)
    except OSError:
        return  # it is over already
