"""`arena token`: what it prints and stores, and what it refuses."""

import json
import os
import time
from pathlib import Path
from typing import Any

import pytest

from arena.cli import app as cli
from arena.cli.tokens import expiry
from arena.data.lock import PopulationLock
from arena.data.private_file import make_secret
from arena.data.service_state import ServiceState, service_lock, write_state
from arena.data.service_tokens import hash_of, named_tokens
from pbt.errors import ConfigError

Captured = pytest.CaptureFixture[str]


def arena(data: Path, captured: Captured, *words: str) -> tuple[int, str, str]:
    """(exit code, standard output, standard error) of `arena token`."""
    code = cli.run(["token", *words, "--data", str(data)])
    told = captured.readouterr()
    return code, told.out, told.err


def test_a_token_is_printed_once_and_never_again(tmp_path: Path, capsys: Captured) -> None:
    code, out, err = arena(tmp_path, capsys, "create", "ci", "--expires", "2h")
    token = out.strip()
    assert code == 0 and len(token.split()) == 1 and token not in err and "viewer" in err
    (stored,) = named_tokens(tmp_path / "service")
    assert stored.sha256 == hash_of(token) and stored.level == "viewer"
    assert 7100 < (stored.expires_at or 0) - time.time() <= 7200
    for words in (("list",), ("list", "--json"), ("create", "ci"), ("revoke", "ci")):
        _, out, err = arena(tmp_path, capsys, *words)
        assert "ci" in out + err and token not in out + err and hash_of(token) not in out + err


def test_the_list_has_every_token_with_its_state(tmp_path: Path, capsys: Captured) -> None:
    assert arena(tmp_path, capsys, "list")[1].startswith("no token; ")
    make_secret(tmp_path / "service/admin.token")
    arena(tmp_path, capsys, "create", "ada", "--level", "admin")
    _, out, _ = arena(tmp_path, capsys, "list", "--json")
    told: list[dict[str, Any]] = json.loads(out)["tokens"]
    assert [(one["name"], one["level"], one["expires_at"], one["expired"]) for one in told] == [
        ("admin", "admin", None, False),
        ("ada", "admin", None, False),
    ]
    _, out, _ = arena(tmp_path, capsys, "list")
    (row,) = [line.split() for line in out.splitlines() if line.startswith("ada")]
    assert row[1:3] == ["admin", "valid"] and row[-1] == "never"
    assert arena(tmp_path, capsys, "revoke", "unknown")[0] == 2
    code, out, err = arena(tmp_path, capsys, "revoke", "admin")
    assert (code, out) == (0, "") and "admin.token holds a new one" in err


def test_a_link_reads_and_always_expires(tmp_path: Path, capsys: Captured) -> None:
    code, _, err = arena(tmp_path, capsys, "link", "guests")
    assert code == 5 and "--url" in err and named_tokens(tmp_path / "service") == ()
    for given, begins in (
        ("https://arena.example", "https://arena.example/#token=arena_"),
        ("http://[::1]:8642/", "http://[::1]:8642/#token=arena_"),
        (
            "https://arena.example/app/league?population=first",
            "https://arena.example/app/league?population=first#token=arena_",
        ),
    ):
        code, out, err = arena(tmp_path, capsys, "link", "guests", "--url", given)
        assert code == 0 and out.startswith(begins)
        assert out.strip().partition("=")[2] not in err
        (token,) = named_tokens(tmp_path / "service")
        assert token.level == "viewer" and token.expires_at is not None
        assert arena(tmp_path, capsys, "revoke", "guests")[0] == 0


@pytest.mark.parametrize(
    "url",
    [
        "",
        "arena.example",
        "ftp://arena.example",
        "https://",
        "https://ada:word@arena.example",
        "https://arena.example/#a",
        "https://arena.example:port",
        "https://arena .example",
        "javascript:alert(1)//https://arena.example",
    ],
)
def test_a_link_to_no_address_is_refused(tmp_path: Path, capsys: Captured, url: str) -> None:
    code, out, err = arena(tmp_path, capsys, "link", "guests", "--url", url)
    assert (code, out) == (2, "") and "expected an address" in err
    assert named_tokens(tmp_path / "service") == ()


def test_how_long_a_token_works() -> None:
    found = [expiry(text, 0.0) for text in ("1m", "90m", "12h", "30d", "4w")]
    assert found == [60.0, 5400.0, 43200.0, 2592000.0, 2419200.0]
    for wrong in ("", "0d", "-1d", "1", "d", "1y", "1.5h", "10000d", "1d ", "٣d", "1d\n"):
        with pytest.raises(ConfigError, match="expected a whole number"):
            expiry(wrong, 0.0)


def test_a_link_to_a_service_on_a_unix_socket_needs_the_address_of_its_proxy(
    tmp_path: Path, capsys: Captured
) -> None:
    url = "http://localhost/arena"
    with PopulationLock(service_lock(tmp_path), "service"):
        write_state(tmp_path, ServiceState(os.getpid(), url, 0.0, "1", str(tmp_path / "socket")))
        code, _, err = arena(tmp_path, capsys, "link", "guests")
        assert code == 5 and "listens on a Unix socket" in err and "--url" in err
        site = "https://tools.example/arena"
        code, out, _ = arena(tmp_path, capsys, "link", "guests", "--url", site)
        assert code == 0 and out.startswith(site)
