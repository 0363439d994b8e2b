"""Tokens that come and go while a service runs; codes, sessions, cookies."""

import errno
import os
from pathlib import Path

import pytest
import structlog

from api.http import known_tokens
from api.http.tokens import CODE_VALID_S, SESSION_VALID_S, Tokens
from arena.data.service_tokens import NAMED_TOKENS, create_token, revoke_token


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


def level(tokens: Tokens, secret: str) -> str:
    grant = tokens.bearer(secret)
    return "none" if grant is None else grant.level


def cookie_level(tokens: Tokens, cookie: str) -> str:
    grant = tokens.session(cookie)
    return "none" if grant is None else grant.level


def file_secret(folder: Path, name: str) -> str:
    return (folder / f"{name}.token").read_text().strip()


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


def test_levels(tmp_path: Path) -> None:
    tokens = Tokens(tmp_path)
    admin, viewer = file_secret(tmp_path, "admin"), file_secret(tmp_path, "viewer")
    named = create_token(tmp_path, "ada", "admin", None)
    hashed = tokens.named("ada").token.sha256
    assert [level(tokens, secret) for secret in (admin, viewer, named)] == [
        "admin",
        "viewer",
        "admin",
    ]
    for wrong in ("", "wrong", admin + "x", named[:-1], hashed, "ada", "\ud800"):
        assert level(tokens, wrong) == "none", wrong


def test_a_token_counts_from_its_making_to_its_end(tmp_path: Path) -> None:
    clock = Clock()
    tokens = Tokens(tmp_path, clock)
    clock.now = 1e9
    short = create_token(tmp_path, "short", "viewer", 1e9 + 5)
    long = create_token(tmp_path, "long", "viewer", None)
    cookie, session = tokens.new_session(tokens.named("short"))
    assert (session.until, session.by) == (1e9 + 5, "session of short")
    assert cookie_level(tokens, cookie) == level(tokens, short) == level(tokens, long) == "viewer"
    revoke_token(tmp_path, "long")
    assert level(tokens, long) == "none"
    clock.now += 5
    assert cookie_level(tokens, cookie) == level(tokens, short) == "none"
    assert not tokens.holds(session)


def test_what_a_token_gave_ends_with_it_and_not_with_its_name(tmp_path: Path) -> None:
    """A token, its session and its code; another token of the name revives none of them."""
    tokens = Tokens(tmp_path)
    for name in ("ada", "admin"):
        if name == "ada":
            create_token(tmp_path, name, "admin", None)
        grant = tokens.named(name)
        cookie, session = tokens.new_session(grant)
        code = tokens.new_code(session, "viewer")
        assert cookie_level(tokens, cookie) == "admin" and tokens.holds(session)
        revoke_token(tmp_path, name)
        if name == "ada":
            create_token(tmp_path, name, "admin", None)
        for known in (tokens, Tokens(tmp_path)):
            assert cookie_level(known, cookie) == "none"
            assert not known.holds(grant) and not known.holds(session)
        assert tokens.redeem(code) is None


def test_a_code_is_good_once_and_for_ten_minutes(tmp_path: Path) -> None:
    clock = Clock()
    tokens = Tokens(tmp_path, clock)
    admin = tokens.named("admin")
    first, second = tokens.new_code(admin, "admin"), tokens.new_code(admin, "viewer")
    grant = tokens.redeem(first)
    assert grant is not None and (grant.level, grant.by) == ("admin", "admin")
    assert [tokens.redeem(first), tokens.redeem("")] == [None, None]
    clock.now += CODE_VALID_S
    assert tokens.redeem(second) is None


def test_no_code_and_no_session_gives_more_than_its_token(tmp_path: Path) -> None:
    tokens = Tokens(tmp_path)
    found = tokens.redeem(tokens.new_code(tokens.named("viewer"), "admin"))
    assert found is not None and found.level == "viewer"
    found = tokens.redeem(tokens.new_code(tokens.named("admin"), "viewer"))
    assert found is not None and found.level == "viewer"
    cookie, session = tokens.new_session(found)
    assert cookie_level(tokens, cookie) == session.level == "viewer"
    assert session.by == "session of admin"


def test_a_cookie_is_believed_by_its_signature_and_until_its_day(tmp_path: Path) -> None:
    clock = Clock()
    tokens = Tokens(tmp_path, clock)
    cookie, session = tokens.new_session(tokens.named("viewer"))
    assert cookie_level(tokens, cookie) == "viewer"
    assert cookie_level(Tokens(tmp_path, clock), cookie) == "viewer"
    forged = [
        cookie.replace("viewer.", "admin.", 1),
        cookie.replace(".viewer.", ".admin.", 1),
        cookie[:-1] + ("0" if cookie[-1] != "0" else "1"),
        "",
        "a.b.c.d",
        "a.b.c.d.e",
        "viewer",
        cookie.replace(f".{int(1000 + SESSION_VALID_S)}.", ".99999999999."),
        cookie.replace(session.session, "0" * 16),
        "ü.ü",
    ]
    assert cookie not in forged
    assert {cookie_level(tokens, text) for text in forged} == {"none"}
    clock.now += SESSION_VALID_S
    assert cookie_level(tokens, cookie) == "none"


def test_a_session_that_was_ended_stays_ended(tmp_path: Path) -> None:
    tokens = Tokens(tmp_path)
    (left, one), (stays, other) = (
        tokens.new_session(tokens.named(name)) for name in ("admin", "viewer")
    )
    tokens.end_session(left)
    tokens.end_session("admin.admin.99999999999.made.up")
    assert not tokens.holds(one) and tokens.holds(other)
    assert tokens.holds(tokens.named("admin"))
    for known in (tokens, Tokens(tmp_path)):
        assert [cookie_level(known, cookie) for cookie in (left, stays)] == ["none", "viewer"]
    assert (tmp_path / "ended_sessions.json").stat().st_mode & 0o777 == 0o600


def test_a_file_that_cannot_be_trusted_lets_no_caller_in(tmp_path: Path) -> None:
    """Neither its tokens nor those of the other files, until it is as it should be."""
    tokens = Tokens(tmp_path)
    admin, named = file_secret(tmp_path, "admin"), create_token(tmp_path, "ci", "viewer", None)
    assert [level(tokens, secret) for secret in (admin, named)] == ["admin", "viewer"]
    with structlog.testing.capture_logs() as lines:
        (tmp_path / NAMED_TOKENS).chmod(0o640)
        for _ in range(3):
            assert [level(tokens, secret) for secret in (admin, named)] == ["none", "none"]
    (line,) = lines
    assert line["log_level"] == "error" and "mode 640" in line["why"] and named not in str(line)
    (tmp_path / NAMED_TOKENS).chmod(0o600)
    assert [level(tokens, secret) for secret in (admin, named)] == ["admin", "viewer"]
    (tmp_path / NAMED_TOKENS).unlink()
    assert [level(tokens, secret) for secret in (admin, named)] == ["admin", "none"]


def test_tokens_last_while_their_folder_is_away(tmp_path: Path) -> None:
    folder, away = tmp_path / "service", tmp_path / "away"
    tokens = Tokens(folder)
    named = create_token(folder, "ci", "viewer", None)
    assert level(tokens, named) == "viewer"
    folder.rename(away)
    assert level(tokens, named) == "viewer"
    revoke_token(away, "ci")
    away.rename(folder)
    assert level(tokens, named) == "none"


def test_a_machine_without_file_handles_locks_no_caller_out_and_forgets_no_revocation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tokens = Tokens(tmp_path)
    admin, named = file_secret(tmp_path, "admin"), create_token(tmp_path, "ci", "viewer", None)
    assert level(tokens, named) == "viewer"
    revoke_token(tmp_path, "ci")

    def refuse(folder: Path) -> None:
        raise OSError(errno.EMFILE, "Too many open files")

    with monkeypatch.context() as full:
        full.setattr(known_tokens, "named_tokens", refuse)
        assert level(tokens, admin) == "admin"
    assert [level(tokens, secret) for secret in (admin, named)] == ["admin", "none"]
