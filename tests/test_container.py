"""The image without Docker: entrypoint, environment and health check of the Dockerfile, run
here; the compose file held against it.
"""

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import httpx2
import pytest
import yaml  # type: ignore[import-untyped]  # comes with schemathesis, without stubs

ROOT = Path(__file__).resolve().parent.parent
START_S = 60.0


def last_stage() -> dict[str, list[str]]:
    """Instruction -> its arguments, in order, of what becomes the image."""
    text = (ROOT / "Dockerfile").read_text(encoding="utf-8").replace("\\\n", " ")
    found: dict[str, list[str]] = {}
    for line in text.splitlines():
        instruction, _, rest = line.partition(" ")
        if instruction == "FROM":
            found = {}
        if instruction.isupper():
            found.setdefault(instruction, []).append(rest.strip())
    return found


class Image:
    """What Docker would start, with the folders of this machine in place of the image's."""

    def __init__(self, data: Path, programs: Path) -> None:
        stage = last_stage()
        (self.volume,), (port,) = stage["VOLUME"], stage["EXPOSE"]
        self.port = int(port)
        self.environment = dict(
            word.partition("=")[::2] for line in stage["ENV"] for word in shlex.split(line)
        )
        assert self.environment["ARENA_DATA"] == self.volume == stage["WORKDIR"][-1]
        self.environment["ARENA_DATA"] = str(data)
        self.environment["PATH"] = self.environment["PATH"].replace("/opt/arena/bin", str(programs))
        self.command = json.loads(stage["ENTRYPOINT"][0]) + json.loads(stage["CMD"][0])
        self.health = json.loads(stage["HEALTHCHECK"][0].partition("CMD ")[2])
        self.signal = getattr(signal, stage["STOPSIGNAL"][0])


@pytest.mark.slow
def test_what_docker_starts_serves_and_stops(tmp_path: Path) -> None:
    programs, data = tmp_path / "bin", tmp_path / "data"
    data.mkdir()
    programs.mkdir()
    for name in ("arena", "python"):
        (programs / name).symlink_to(Path(sys.executable).with_name(name))
    image = Image(data, programs)
    # The last one counts: whatever else listens on the image's port here is left alone.
    with (tmp_path / "log").open("wb") as log:
        process = subprocess.Popen(
            [*image.command, "--port", "0"], env=image.environment, cwd=data, stdout=log, stderr=log
        )
    try:
        deadline, state = time.monotonic() + START_S, data / "service/service.json"
        while not state.exists():
            assert process.poll() is None and time.monotonic() < deadline, (
                tmp_path / "log"
            ).read_text()
            time.sleep(0.1)
        url = json.loads(state.read_text())["url"]
        port = url.rpartition(":")[2]
        health = [word.replace(str(image.port), port) for word in image.health]
        while (
            subprocess.run(health, env=image.environment, cwd=data, capture_output=True).returncode
            != 0
        ):
            assert time.monotonic() < deadline, (tmp_path / "log").read_text()
        token = (data / "service/viewer.token").read_text().strip()
        headers = {"authorization": f"Bearer {token}"}
        assert (
            httpx2.get(f"http://localhost:{port}/v1/populations", headers=headers).status_code
            == 200
        )
        assert httpx2.get(f"http://localhost:{port}/v1/populations").status_code == 401
        assert (
            httpx2.get(
                f"{url}/v1/populations", headers={**headers, "host": "evil.example"}
            ).status_code
            == 400
        )
        process.send_signal(image.signal)
        assert process.wait(30) == 0
        for line in (tmp_path / "log").read_text().splitlines():
            assert token not in line
    finally:
        process.kill()
        process.wait()


def test_the_health_check_asks_the_port_that_is_served() -> None:
    stage = last_stage()
    assert f"--port {stage['EXPOSE'][0]} " in stage["ENTRYPOINT"][0]
    assert f"127.0.0.1:{stage['EXPOSE'][0]}/readyz" in stage["HEALTHCHECK"][0]
    assert stage["USER"] == ["arena"]


def test_the_compose_file_fits_the_image() -> None:
    compose: dict[str, Any] = yaml.safe_load(
        (ROOT / "docker-compose.yml").read_text(encoding="utf-8")
    )
    stage, services = last_stage(), compose["services"]
    assert list(compose["volumes"]) == ["arena-data"]
    for service in services.values():
        assert service["volumes"] == [f"arena-data:{stage['VOLUME'][0]}"]
        assert service["ports"] == [f"127.0.0.1:{stage['EXPOSE'][0]}:{stage['EXPOSE'][0]}"]
        assert service["shm_size"] and service["init"] is True
        assert re.fullmatch(r"\$\{ARENA_ALLOWED_HOST:-localhost\}", service["command"][1])
    assert "profiles" not in services["arena"] and services["arena-gpu"]["profiles"] == ["gpu"]
    (device,) = services["arena-gpu"]["deploy"]["resources"]["reservations"]["devices"]
    assert (device["driver"], device["capabilities"]) == ("nvidia", ["gpu"])
    known = set(
        re.findall(r"^ARG (\w+)=", (ROOT / "Dockerfile").read_text(encoding="utf-8"), re.MULTILINE)
    )
    assert set(services["arena-gpu"]["build"]["args"]) == known


def compose_program() -> list[str] | None:
    """Docker's own, or the older one; either reads the file without an engine."""
    if (
        shutil.which("docker")
        and subprocess.run(
            ["docker", "compose", "version"], capture_output=True, check=False
        ).returncode
        == 0
    ):
        return ["docker", "compose"]
    return ["docker-compose"] if shutil.which("docker-compose") else None


@pytest.mark.slow
@pytest.mark.skipif(
    compose_program() is None, reason="needs docker compose (Debian: docker-compose)"
)
def test_compose_takes_the_file_and_its_variables() -> None:
    """What it makes of the file, with the GPU's service and without; the proxy's name goes
    through.
    """
    program = compose_program()
    assert program is not None
    for profile, services in ((), {"arena"}), (("--profile", "gpu"), {"arena", "arena-gpu"}):
        words = [*program, "-f", str(ROOT / "docker-compose.yml"), *profile, "config"]
        done = subprocess.run(
            words,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
            env={**os.environ, "ARENA_ALLOWED_HOST": "arena.example"},
        )
        assert done.returncode == 0, done.stderr
        made = yaml.safe_load(done.stdout)
        # The older program shows services of every profile.
        assert services <= set(made["services"]) <= {"arena", "arena-gpu"}
        for service in made["services"].values():
            assert service["command"] == ["--allowed-host", "arena.example"]
            (volume,) = service["volumes"]
            assert volume == "arena-data:/data:rw" or (volume["source"], volume["target"]) == (
                "arena-data",
                "/data",
            )


def test_every_file_that_the_image_copies_is_there() -> None:
    copied = re.findall(
        r"^COPY (?!--from)(\S+) ", (ROOT / "Dockerfile").read_text(encoding="utf-8"), re.MULTILINE
    )
    ignored = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    assert copied
    for name in copied:
        assert (ROOT / name).exists() and name not in ignored
