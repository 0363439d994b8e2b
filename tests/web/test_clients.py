"""Clients that others generate from the OpenAPI document: both print a rating table of a service.

`pytest -m slow -s tests/web/test_clients.py` shows the tables.
"""

import json
import subprocess
import venv
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

from api.openapi import METHODS
from tests.api.routes.test_read_routes import write_league
from tests.served import Served
from tests.web.sources import Sources, run

pytestmark = pytest.mark.slow

HERE = Path(__file__).parent
GENERATOR, FETCH = "openapi-python-client==0.29.*", "openapi-fetch@0.17"
"""They are no dependencies of the project: the first one needs another Typer than the commands."""
LIMIT_S = 300


@pytest.fixture(scope="module")
def league(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A real service of a league with ratings."""
    data = tmp_path_factory.mktemp("clients") / "data"
    data.mkdir()
    write_league(data)
    running = Served(data)
    yield running
    running.stop()


def token(of: Served) -> str:
    return (of.data / "service/viewer.token").read_text().strip()


def done(*words: str | Path, folder: Path) -> str:
    """What a program prints; it must succeed."""
    made = subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=LIMIT_S)
    assert made.returncode == 0, made.stdout + made.stderr
    return made.stdout


def expected(of: Served) -> list[str]:
    table = of.call("GET", "/v1/ratings?population=demo")
    return [
        f"{row['rank']} {row['player']} {row['elo']:.0f} {row['games']}" for row in table["players"]
    ]


def test_a_python_client(league: Served, tmp_path: Path) -> None:
    """A warning of the generator would be an operation or an answer that it leaves out."""
    venv.create(tmp_path / "venv", with_pip=True)
    python = tmp_path / "venv/bin/python"
    done(python, "-m", "pip", "install", "-q", GENERATOR, folder=tmp_path)
    text = httpx2.get(
        f"{league.url}/openapi.json", headers={"authorization": f"Bearer {token(league)}"}
    ).text
    (tmp_path / "openapi.json").write_text(text)
    media = {"video/mp4": "application/octet-stream"}
    (tmp_path / "config.yml").write_text(
        json.dumps({"content_type_overrides": media, "post_hooks": []})
    )
    words = ("--path", "openapi.json", "--output-path", "arena_client", "--config", "config.yml")
    said = done(
        tmp_path / "venv/bin/openapi-python-client",
        "generate",
        *words,
        "--meta",
        "none",
        folder=tmp_path,
    )
    assert "WARNING" not in said and "Unable" not in said, said
    operations = sum(len(set(METHODS) & by.keys()) for by in json.loads(text)["paths"].values())
    made = list((tmp_path / "arena_client/api").glob("*/*.py"))
    assert len([path for path in made if path.name != "__init__.py"]) == operations
    script = tmp_path / "rating_table.py"
    script.write_text((HERE / "rating_table.py").read_text())
    printed = done(python, script, league.url, token(league), "demo", folder=tmp_path)
    print(printed, end="")
    assert printed.splitlines() == expected(league)


def test_a_typescript_client(league: Served, sources: Sources) -> None:
    run(sources, "install", "--no-save", "--ignore-scripts", FETCH)
    run(sources, "run", "types")
    folder = sources.folder / "client"
    folder.mkdir()
    (folder / "rating_table.ts").write_text((HERE / "rating_table.ts").read_text())
    options = ("--strict", "--target", "es2022", "--module", "esnext", "--lib", "es2022,dom")
    resolved = ("--moduleResolution", "bundler", "--skipLibCheck", "--outDir", "client")
    run(sources, "exec", "--", "tsc", *options, *resolved, "client/rating_table.ts")
    node = ("exec", "--", "node", "client/rating_table.js")
    printed = run(sources, *node, league.url, token(league), "demo")
    print(printed, end="")
    assert printed.splitlines() == expected(league)
