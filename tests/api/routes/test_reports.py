"""The service gives the report as a file that it lets no page of its own show."""

from pathlib import Path

from tests.api.service import serving
from tests.arena.assessment.test_league import ROWS, grows, league_of, tell
from tests.arena.report.pages import PageReader


def test_it_is_a_file_to_keep(tmp_path: Path) -> None:
    with league_of(tmp_path, grows):
        tell(tmp_path, *ROWS)
    with serving(tmp_path) as service:
        bearer = {"authorization": f"Bearer {service.token('viewer')}"}
        path = "/v1/populations/demo"
        answer = service.client.get(f"{path}/report", headers=bearer)
        sentence = service.call("GET", f"{path}/assessment", None, 200)["sentence"]
        missing = service.client.get("/v1/populations/none/report", headers=bearer)
        refused = service.client.get(f"{path}/report")
    assert answer.status_code == 200 and sentence in PageReader(answer.text).text
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert answer.headers["content-disposition"] == 'attachment; filename="demo-report.html"'
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert (missing.status_code, refused.status_code) == (404, 401)
