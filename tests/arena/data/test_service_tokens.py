"""Tokens by name: what is stored of them, and what several processes and foreign files do to it."""

import json
import multiprocessing
import os
import stat
from pathlib import Path

import pytest

from arena.data.lock import PopulationLock
from arena.data.private_file import make_secret, read_private, read_secret, write_private
from arena.data.service_tokens import (
    NAMED_TOKENS,
    create_token,
    file_token,
    hash_of,
    named_tokens,
    revoke_token,
)
from pbt.errors import ConfigError, HeldError, PbtError

FAR = 4e9
"""Seconds since 1970, in the year 2096."""


def test_only_a_hash_is_stored_and_for_its_owner_alone(tmp_path: Path) -> None:
    folder, before = tmp_path / "service", os.umask(0)
    try:
        secret = create_token(folder, "ci", "viewer", FAR)
    finally:
        os.umask(before)
    (token,) = named_tokens(folder)
    assert (token.name, token.level, token.expires_at) == ("ci", "viewer", FAR)
    assert token.sha256 == hash_of(secret)
    assert folder.stat().st_mode & 0o777 == 0o700
    assert (folder / NAMED_TOKENS).stat().st_mode & 0o777 == 0o600
    assert sorted(path.name for path in folder.iterdir()) == [NAMED_TOKENS, "tokens.lock"]
    for path in folder.iterdir():
        assert secret not in path.read_text()


@pytest.mark.parametrize(
    "name", ["", "admin", "viewer", "Ada", "a b", "a\n", "../a", "-a", "é", "a.b", "a" * 65]
)
def test_a_name_that_a_log_or_a_cookie_cannot_hold_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(ConfigError, match="token name"):
        create_token(tmp_path, name, "viewer", None)
    assert not (tmp_path / NAMED_TOKENS).exists()


def test_a_name_is_taken_until_its_token_is_revoked_or_has_expired(tmp_path: Path) -> None:
    create_token(tmp_path, "ci", "viewer", 1.0)
    second = create_token(tmp_path, "ci", "admin", None)
    with pytest.raises(ConfigError, match="arena token revoke ci"):
        create_token(tmp_path, "ci", "viewer", None)
    assert [token.sha256 for token in named_tokens(tmp_path)] == [hash_of(second)]
    assert revoke_token(tmp_path, "ci") is None
    with pytest.raises(ConfigError, match="no token has this name; there are: none"):
        revoke_token(tmp_path, "ci")
    assert named_tokens(tmp_path) == ()


def test_a_token_that_has_a_file_gets_a_new_secret_there(tmp_path: Path) -> None:
    path = tmp_path / "admin.token"
    with pytest.raises(ConfigError, match="no token has this name"):
        revoke_token(tmp_path, "admin")
    make_secret(path)
    before = file_token(tmp_path, "admin")
    assert revoke_token(tmp_path, "admin") == path
    after = file_token(tmp_path, "admin")
    assert after.sha256 not in (before.sha256, hash_of(""))
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_file_that_others_can_read_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "admin.token"
    make_secret(path)
    text = path.read_text()
    make_secret(path)
    assert path.read_text() == text
    path.chmod(0o644)
    with pytest.raises(PbtError, match="mode 644, so others can read it; expected 600"):
        read_secret(path)
    path.chmod(0o600)
    path.write_text("short\n")
    with pytest.raises(PbtError, match="5 characters; expected 16 or more"):
        read_secret(path)
    path.write_bytes(b"\xff" * 40)
    with pytest.raises(PbtError, match="this is no text"):
        read_secret(path)
    path.unlink()
    os.mkfifo(path, 0o600)
    with pytest.raises(PbtError, match="this is no file"):
        read_secret(path)


def test_what_lies_behind_a_link_is_not_written(tmp_path: Path) -> None:
    """A link in place of the file, to a file that must stay as it is."""
    folder, other = tmp_path / "service", tmp_path / "other"
    folder.mkdir()
    other.write_text('{"tokens": []}')
    other.chmod(0o600)
    (folder / NAMED_TOKENS).symlink_to(other)
    create_token(folder, "ci", "viewer", None)
    assert other.read_text() == '{"tokens": []}'
    assert stat.S_ISREG((folder / NAMED_TOKENS).lstat().st_mode)
    assert [token.name for token in named_tokens(folder)] == ["ci"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only the superuser makes files for others")
def test_what_the_superuser_makes_belongs_to_the_account_of_the_service(tmp_path: Path) -> None:
    os.chown(tmp_path, 12345, 12345)
    create_token(tmp_path, "ci", "viewer", None)
    make_secret(tmp_path / "admin.token")
    revoke_token(tmp_path, "admin")
    assert {(path.name, path.stat().st_uid) for path in tmp_path.iterdir()} == {
        (name, 12345) for name in (NAMED_TOKENS, "tokens.lock", "admin.token")
    }


WRONG = [
    "",
    "[]",
    "{",
    '{"tokens": [{"name": "a"}]}',
    '{"tokens": [], "more": 1}',
    json.dumps(
        {"tokens": [{"name": "a\n", "level": "viewer", "sha256": "0" * 64, "created_at": 1}]}
    ),
    json.dumps({"tokens": [{"name": "a", "level": "root", "sha256": "0" * 64, "created_at": 1}]}),
    json.dumps({"tokens": [{"name": "a", "level": "admin", "sha256": "0", "created_at": 1}]}),
]


@pytest.mark.parametrize("text", WRONG)
def test_a_file_of_something_else_is_refused_with_its_place(tmp_path: Path, text: str) -> None:
    write_private(tmp_path / NAMED_TOKENS, text)
    with pytest.raises(PbtError, match=f"{NAMED_TOKENS}: .*; expected what `arena token create`"):
        named_tokens(tmp_path)


def test_a_write_that_fails_leaves_the_old_file_and_nothing_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "a"
    write_private(path, "old")
    with pytest.raises(UnicodeEncodeError):
        write_private(path, "\ud800")
    assert read_private(path) == "old" and list(tmp_path.iterdir()) == [path]


def make_some(folder: Path, number: int) -> None:
    for count in range(6):
        create_token(folder, f"t{number}-{count}", "viewer", None)
        if count % 2:
            revoke_token(folder, f"t{number}-{count}")


def test_processes_that_change_tokens_at_once_lose_none(tmp_path: Path) -> None:
    context = multiprocessing.get_context("fork")
    processes = [context.Process(target=make_some, args=(tmp_path, n)) for n in range(3)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(60)
    assert [process.exitcode for process in processes] == [0] * 3
    names = sorted(token.name for token in named_tokens(tmp_path))
    assert names == sorted(f"t{number}-{count}" for number in range(3) for count in range(0, 6, 2))


def test_a_process_that_keeps_the_tokens_to_itself_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("arena.data.service_tokens.LOCK_TIMEOUT_S", 0.0)
    with (
        PopulationLock(tmp_path / "tokens.lock", "tokens"),
        pytest.raises(HeldError, match=f"process {os.getpid()} has been changing the tokens"),
    ):
        create_token(tmp_path, "ci", "viewer", None)
