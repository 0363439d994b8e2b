"""What everybody may read of the dashboard, and nothing else; what is there without one."""

import tomllib
from pathlib import Path

import pytest

from api.http import dashboard
from pbt.config.load import shipped_configs
from tests.api.service import Service


@pytest.fixture
def bundle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "bundle"
    (folder / "assets").mkdir(parents=True)
    (folder / "index.html").write_text("the page")
    (folder / "assets/index-4f2a.js").write_text("the program")
    (folder / "secret.js").write_text("not for browsers")
    monkeypatch.setattr(dashboard, "BUNDLE", folder)
    return folder


def test_the_page_is_at_every_views_address_and_needs_no_session(
    shared: Service, bundle: Path
) -> None:
    for path in (
        "/",
        "/app/populations",
        "/app/league?population=first&anything=1",
        "/app/populations/a%2Fb",
    ):
        answer = shared.client.get(path)
        assert (answer.status_code, answer.text) == (200, "the page"), path
        assert (
            "unsafe" not in answer.headers["content-security-policy"]
            and answer.headers["cache-control"] == "private, no-cache"
        )


def test_its_files_are_kept_by_browsers_and_nothing_beside_them_is_sent(
    shared: Service, bundle: Path
) -> None:
    answer = shared.client.get("/assets/index-4f2a.js")
    assert answer.text == "the program" and "immutable" in answer.headers["cache-control"]
    assert answer.headers["content-type"].startswith("text/javascript")
    for name in ("other.js", "..%2Fsecret.js", "%2e%2e%2fsecret.js", ".hidden.js", "a%00.js"):
        refused = shared.client.get(f"/assets/{name}")
        assert refused.status_code in (401, 404) and "not for browsers" not in refused.text, name


def test_without_a_bundle_a_page_says_so_and_logs_in(
    shared: Service, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(dashboard, "BUNDLE", tmp_path / "none")
    assert "python hatch_build.py" in shared.client.get("/").text
    assert "v1/session" in shared.client.get("/login.js").text


def test_anybody_learns_what_they_may_do(shared: Service) -> None:
    assert shared.client.get("/v1/session").json() == {"level": "none"}
    for level in ("viewer", "admin"):
        assert shared.client.get(
            "/v1/session", headers={"authorization": f"Bearer {shared.token(level)}"}
        ).json() == {"level": level}


def test_templates_are_the_shipped_configs(shared: Service) -> None:
    found = {item["name"]: item for item in shared.call("GET", "/v1/templates")["items"]}
    assert set(found) == set(shipped_configs())
    demo = tomllib.loads(shipped_configs()["demo"].read_text())
    assert found["demo"]["config"] == demo and found["demo"]["description"] == demo["description"]
