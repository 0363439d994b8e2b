"""Unix sockets and IPv6: which process has them, which may connect, and what is left at the end."""

import os
import signal
import socket
import stat
import subprocess
import sys
import time
from pathlib import Path

import httpx2
import pytest
from pydantic import ValidationError

from api.http.listening import listen, listen_unix
from api.http.settings import Settings
from arena.cli.service_client import Client
from pbt.errors import PbtError
from tests.api.live import live

LISTENER = """
import socket, sys, time
taken = socket.socket(socket.AF_UNIX)
taken.bind(sys.argv[1])
taken.listen()
print("listens", flush=True)
time.sleep(600)
"""


def test_owner_and_group_may_connect_and_nothing_is_left_at_the_end(tmp_path: Path) -> None:
    path = tmp_path / "arena.sock"
    with listen_unix(path):
        mode = path.stat().st_mode
        assert stat.S_ISSOCK(mode) and stat.S_IMODE(mode) == 0o660
        assert [found.name for found in tmp_path.iterdir()] == ["arena.sock"]
        with socket.socket(socket.AF_UNIX) as caller:
            caller.connect(str(path))
    assert list(tmp_path.iterdir()) == []


def test_a_socket_on_which_a_process_listens_is_refused_and_a_dead_ones_replaced(
    tmp_path: Path,
) -> None:
    path = tmp_path / "arena.sock"
    words = [sys.executable, "-c", LISTENER, str(path)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as other:
        try:
            assert other.stdout is not None and other.stdout.readline() == "listens\n"
            with pytest.raises(PbtError, match=rf"process {other.pid} \(.*--unix-socket"):
                listen_unix(path).__enter__()
        finally:
            other.send_signal(signal.SIGKILL)
    assert path.is_socket()
    with listen_unix(path), socket.socket(socket.AF_UNIX) as caller:
        caller.connect(str(path))


def test_what_is_no_socket_stays_and_so_does_a_later_services_socket(tmp_path: Path) -> None:
    path = tmp_path / "arena.sock"
    path.write_text("mine")
    with pytest.raises(PbtError, match="is no socket"):
        listen_unix(path).__enter__()
    assert path.read_text() == "mine"
    path.unlink()
    with listen_unix(path):
        path.unlink()
        with listen_unix(path):
            later = path.stat().st_ino
            with listen_unix(tmp_path / "other.sock"):
                pass
    with pytest.raises(PbtError, match=r"cannot listen on .*missing/arena.sock"):
        listen_unix(tmp_path / "missing/arena.sock").__enter__()
    with pytest.raises(PbtError, match="at most 90 characters"):
        listen_unix(tmp_path / ("long" * 40)).__enter__()
    assert later


def test_a_service_on_a_unix_socket(tmp_path: Path) -> None:
    path = tmp_path / "arena.sock"
    with live(tmp_path / "data", unix_socket=path, root_path="/arena") as (url, service):
        assert url == "http://localhost/arena"
        client = Client(url, service.token("admin"), str(path))
        assert client.call("GET", "/v1/populations")["items"] == []
        code = client.call("POST", "/v1/session/codes")["code"]
        answer = service.client.post(
            "/v1/session", json={"code": code}, headers={"x-forwarded-proto": "https"}
        )
        assert "Secure" in answer.headers["set-cookie"]
    assert not path.exists()


def test_a_unix_socket_takes_the_place_of_an_address(tmp_path: Path) -> None:
    for more in ({"port": 0}, {"host": "::1"}):
        with pytest.raises(ValidationError, match="takes the place of --host and --port"):
            Settings(data=tmp_path, unix_socket=tmp_path / "s", **more)


@pytest.fixture
def ipv6() -> None:
    try:
        with socket.create_server(("::1", 0), family=socket.AF_INET6):
            pass
    except OSError as error:
        pytest.skip(f"this machine has no IPv6: {error}")


@pytest.mark.usefixtures("ipv6")
@pytest.mark.parametrize("host", ["::1", "::", "0:0:0:0:0:0:0:1"])
def test_a_service_on_ipv6(tmp_path: Path, host: str) -> None:
    public = {"allowed_hosts": ("[FD00:0::1]",), "tokens_set": True} if host == "::" else {}
    with live(tmp_path, host=host, **public) as (url, service):
        port = int(url.rpartition(":")[2])
        assert url == f"http://[{'::1' if host == '::' else host}]:{port}"
        assert Client(url, service.token("admin")).call("GET", "/v1/populations")["items"] == []
        hosts = ["[::1]", f"[::1]:{port}", "[0:0::0:1]"] + ["[fd00::1]"] * (host == "::")
        for name in hosts:
            assert service.client.get("/livez", headers={"host": name}).status_code == 200, name
        for name in ("[::2]", "::1", "[::1", f"[fd00::2]:{port}"):
            assert service.client.get("/livez", headers={"host": name}).status_code == 400, name
        # A proxy of this machine, also one that calls by IPv4.
        for address in ("[::1]", "127.0.0.1") if host == "::" else ("[::1]",):
            code = service.call("POST", "/v1/session/codes")["code"]
            answer = httpx2.post(
                f"http://{address}:{port}/v1/session",
                json={"code": code},
                headers={"x-forwarded-proto": "https", "origin": f"https://{address}:{port}"},
            )
            assert "Secure" in answer.headers["set-cookie"], address


@pytest.mark.usefixtures("ipv6")
def test_a_port_of_ipv6_that_is_taken_names_address_and_holder() -> None:
    with socket.create_server(("::1", 0), family=socket.AF_INET6) as taken:
        port = taken.getsockname()[1]
        found = rf"cannot listen on \[::1\]:{port}: .*by process {os.getpid()} \("
        with pytest.raises(PbtError, match=found):
            listen("::1", port)


@pytest.mark.slow
def test_arena_serve_on_a_unix_socket_killed_and_started_again(tmp_path: Path) -> None:
    path, data = tmp_path / "arena.sock", tmp_path / "data"
    arena = [sys.executable, "-P", "-m", "arena"]
    serve = [*arena, "serve", "--unix-socket", str(path), "--root-path", "/arena"]

    def started() -> subprocess.Popen[str]:
        process = subprocess.Popen([*serve, "--data", str(data)], stderr=subprocess.PIPE, text=True)
        deadline = time.monotonic() + 120
        while True:
            with socket.socket(socket.AF_UNIX) as caller:
                if caller.connect_ex(str(path)) == 0:
                    # It listens before it is ready, and answers when it is.
                    caller.settimeout(60)
                    caller.sendall(b"GET /arena/livez HTTP/1.0\r\n\r\n")
                    assert caller.recv(16).startswith(b"HTTP/1.")
                    return process
            assert process.poll() is None and time.monotonic() < deadline
            time.sleep(0.1)

    first = started()
    opened = subprocess.run(
        [*arena, "open", "--data", str(data)], capture_output=True, text=True, timeout=60
    )
    assert opened.stdout.startswith("/arena/#code="), opened.stderr
    assert "your proxy" in opened.stderr
    first.kill()
    first.communicate()
    assert path.is_socket()
    second = started()
    refused = subprocess.run(
        [*serve, "--data", str(tmp_path / "other")], capture_output=True, text=True, timeout=60
    )
    assert refused.returncode == 1 and f"process {second.pid} (" in refused.stderr
    second.send_signal(signal.SIGTERM)
    second.communicate(timeout=60)
    assert (second.returncode, path.exists()) == (0, False)
