"""A service below a path of another site: every address that it gives leads back to it."""

from pathlib import Path

import httpx2
import pytest
from pydantic import ValidationError

from api.http import dashboard
from api.http.root_path import within
from api.http.settings import Settings
from tests.api.live import live
from tests.api.proxy import proxy
from tests.api.service import CONFIG, serving

ROOT = "/team/arena"


@pytest.mark.parametrize("strips", [True, False])
def test_all_of_the_service_is_below_its_root_path(
    tmp_path: Path, strips: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether the proxy takes the root path off, or hands it on."""
    bundle = tmp_path / "bundle"
    (bundle / "assets").mkdir(parents=True)
    (bundle / "index.html").write_text('<html lang="en"><script src="/assets/a-1.js"></script>')
    (bundle / "assets/a-1.js").write_text("the program")
    monkeypatch.setattr(dashboard, "BUNDLE", bundle)
    with (
        live(tmp_path / "data", root_path=ROOT) as (url, service),
        proxy(url, ROOT, strips=strips) as site,
        httpx2.Client(timeout=30) as browser,
    ):
        origin = site.removesuffix(ROOT)
        for view in ("/", "/app/populations/first"):
            page = browser.get(site + view)
            assert f'data-root="{ROOT}"' in page.text and f'="{ROOT}/assets/a-1.js"' in page.text
        assert browser.get(f"{site}/assets/a-1.js").text == "the program"
        code = service.call("POST", "/v1/session/codes")["code"]
        answer = browser.post(f"{site}/v1/session", json={"code": code}, headers={"origin": origin})
        assert f"Path={ROOT};" in answer.headers["set-cookie"] + ";"
        assert browser.get(f"{site}/v1/session").json() == {"level": "admin"}
        made = browser.post(
            f"{site}/v1/populations",
            json={"name": "first", "config": CONFIG},
            headers={"origin": origin},
        )
        assert made.headers["location"] == f"{ROOT}/v1/populations/first"
        assert browser.get(origin + made.headers["location"]).json()["id"] == "first"
        missing = browser.get(f"{site}/v1/populations/unknown").json()
        assert missing["instance"] == f"{ROOT}/v1/populations/unknown"
        assert browser.get(f"{site}/openapi.json").json()["servers"] == [{"url": ROOT}]
        with browser.stream("GET", f"{site}/v1/events?after=0") as stream:
            assert "population" in next(
                line for line in stream.iter_lines() if line.startswith("event")
            )
        left = browser.delete(f"{site}/v1/session", headers={"origin": origin})
        assert f"Path={ROOT}" in left.headers["set-cookie"]
        assert browser.get(f"{site}/v1/populations").status_code == 401


def test_without_a_bundle_the_page_logs_in_below_the_root_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dashboard, "BUNDLE", tmp_path / "none")
    with serving(tmp_path / "data", root_path=ROOT) as service:
        text = service.client.get(f"{ROOT}/").text
        assert f'src="{ROOT}/login.js"' in text and f'href="{ROOT}/openapi.json"' in text
        # A proxy's own check of health, and this machine, may leave the root path out.
        assert service.client.get("/readyz").status_code == 200
        assert service.client.get(ROOT).status_code == 200
        for path in (f"{ROOT}x/readyz", "/team/readyz"):
            assert service.client.get(path).status_code == 401
        assert service.client.get(f"{ROOT}{ROOT}/readyz").status_code == 401


def test_what_is_within_a_root_path() -> None:
    paths = ["/arena", "/arena/", "/arena/v1/x", "/arenas/v1", "/v1/x", "/"]
    assert [within("/arena", path) for path in paths] == [
        "/",
        "/",
        "/v1/x",
        "/arenas/v1",
        "/v1/x",
        "/",
    ]


@pytest.mark.parametrize(
    "root", ["arena", "/", "/arena/", "//arena", "/a b", '/a"', "/..", "/v1", "/app/x", "/metrics"]
)
def test_a_root_path_that_cannot_be_told_from_the_services_own_is_refused(
    tmp_path: Path, root: str
) -> None:
    with pytest.raises(ValidationError, match="--root-path"):
        Settings(data=tmp_path, root_path=root)
