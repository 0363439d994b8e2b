"""Token files, codes, cookies."""

import os
from pathlib import Path

import pytest

from api.http.tokens import (
    CODE_VALID_S,
    SESSION_VALID_S,
    Tokens,
    caller_name,
    read_or_make,
)
from pbt.errors import PbtError


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


def test_token_files_are_made_once_and_for_their_owner_alone(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        Tokens(tmp_path)
    finally:
        os.umask(before)
    files = sorted(tmp_path.iterdir())
    assert [path.name for path in files] == ["admin.token", "cookie.key", "viewer.token"]
    assert {path.stat().st_mode & 0o777 for path in files} == {0o600}
    texts = [path.read_text() for path in files]
    Tokens(tmp_path)
    assert [path.read_text() for path in files] == texts
    assert len(set(texts)) == 3


def test_a_file_that_others_can_read_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "admin.token"
    read_or_make(path)
    path.chmod(0o644)
    with pytest.raises(PbtError, match="mode 644, so others can read it; expected 600"):
        read_or_make(path)
    path.chmod(0o600)
    path.write_text("short\n")
    with pytest.raises(PbtError, match="5 characters; expected 16 or more"):
        read_or_make(path)


def test_levels(tmp_path: Path) -> None:
    tokens = Tokens(tmp_path)
    given = [(tmp_path / f"{level}.token").read_text().strip() for level in ("admin", "viewer")]
    assert [tokens.level(token) for token in (*given, "", "wrong", given[0] + "x", "\ud800")] == [
        "admin",
        "viewer",
        "none",
        "none",
        "none",
        "none",
    ]


def test_a_code_is_good_once_and_for_ten_minutes(tmp_path: Path) -> None:
    clock = Clock()
    tokens = Tokens(tmp_path, clock)
    first, second = tokens.new_code("admin"), tokens.new_code("viewer")
    assert [tokens.redeem(first), tokens.redeem(first), tokens.redeem("")] == [
        "admin",
        "none",
        "none",
    ]
    clock.now += CODE_VALID_S
    assert tokens.redeem(second) == "none"


def test_a_cookie_is_believed_by_its_signature_and_until_its_day(tmp_path: Path) -> None:
    clock = Clock()
    tokens = Tokens(tmp_path, clock)
    cookie = tokens.new_cookie("viewer")
    assert tokens.cookie_level(cookie) == "viewer"
    assert Tokens(tmp_path, clock).cookie_level(cookie) == "viewer"
    forged = [
        "admin" + cookie[6:],
        cookie[:-1] + ("0" if cookie[-1] != "0" else "1"),
        "",
        "a.b.c.d",
        "viewer",
        cookie.replace(f".{int(1000 + SESSION_VALID_S)}.", ".99999999999."),
        "ü.ü",
    ]
    assert cookie not in forged
    assert {tokens.cookie_level(text) for text in forged} == {"none"}
    clock.now += SESSION_VALID_S
    assert tokens.cookie_level(cookie) == "none"


def test_a_session_that_was_ended_stays_ended(tmp_path: Path) -> None:
    tokens = Tokens(tmp_path)
    left, stays = tokens.new_cookie("admin"), tokens.new_cookie("viewer")
    tokens.end_session(left, caller_name(left, "127.0.0.1"))
    tokens.end_session("admin.99999999999.made.up", "x y")
    assert tokens.locked_out(caller_name(left, "10.0.0.7"))
    assert not tokens.locked_out(caller_name(stays, "127.0.0.1"))
    for known in (tokens, Tokens(tmp_path)):
        assert [known.cookie_level(cookie) for cookie in (left, stays)] == ["none", "viewer"]
    assert (tmp_path / "ended_sessions.json").stat().st_mode & 0o777 == 0o600
