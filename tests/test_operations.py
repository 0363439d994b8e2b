"""The files of docs/operations work with their programs, and name metrics that there are."""

import grp
import inspect
import json
import os
import pwd
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any, get_args

import pytest
from prometheus_client.registry import Collector

from api.http.observability import Observed
from api.routes.bodies import State
from arena.cli.serve import serve

ROOT = Path(__file__).resolve().parent.parent
FILES = ROOT / "docs/operations"
PAGE = (ROOT / "docs/operations.md").read_text(encoding="utf-8")
METRIC = re.compile(r"\b(?:arena|process)_[a-z0-9_]+\b")
SUFFIXES = {
    "counter": ("_total",),
    "histogram": ("_bucket", "_count", "_sum"),
    "gauge": ("",),
    "info": ("_info",),
}


def described() -> dict[str, Any]:
    """Name of each metric of the service -> what Prometheus is told of it."""
    collectors: list[Collector] = [Observed().registry]
    return {metric.name: metric for one in collectors for metric in one.collect()}


def printed() -> set[str]:
    """The names of all series that /metrics can print."""
    return {name + end for name, one in described().items() for end in SUFFIXES[one.type]}


def unknown(text: str) -> set[str]:
    """Metrics in a text that the service does not print."""
    return set(METRIC.findall(text)) - printed()


@pytest.mark.parametrize("name", ["alerts.yml", "grafana.json"])
def test_rules_and_dashboard_name_metrics_that_there_are(name: str) -> None:
    text = (FILES / name).read_text(encoding="utf-8")
    assert METRIC.search(text) and unknown(text) == set()
    states = set(re.findall(r'arena_population_state\{state=\\?"(\w+)\\?"', text))
    assert states and states <= set(get_args(State))


def test_a_metric_that_is_not_there_is_found() -> None:
    assert unknown("rate(arena_env_frames[5m]) / arena_ready") == {"arena_env_frames"}
    assert unknown("arena_http_request_seconds_bucket, process_cpu_seconds_total") == set()


def test_the_page_lists_every_metric_with_its_type_and_labels() -> None:
    rows = re.findall(r"^\| `(arena_\w+)` \| (\w+) \| ([^|]*)\|", PAGE, re.MULTILINE)
    told = {name: (kind, set(re.findall(r"\w+", labels))) for name, kind, labels in rows}
    made = {
        name + SUFFIXES[metric.type][0] * (metric.type != "histogram"): (
            "gauge" if metric.type == "info" else metric.type
        )
        for name, metric in described().items()
        if name.startswith("arena_")
    }
    assert {name: kind for name, (kind, _) in told.items()} == made
    observed = Observed()
    for collector in observed.registry._collector_to_names:
        labels = set(getattr(collector, "_labelnames", ()))
        name = getattr(collector, "_name", "")
        if labels:
            found = told.get(name) or told[f"{name}_total"]
            assert found[1] == labels, name


def test_the_page_says_what_to_do_about_every_alert() -> None:
    alerts = re.findall(r"- alert: (\w+)", (FILES / "alerts.yml").read_text(encoding="utf-8"))
    rows = re.findall(r"^\| (Arena[\w, ]+) \|", PAGE, re.MULTILINE)
    assert sorted(alerts) == sorted(name for row in rows for name in row.split(", "))
    assert len(alerts) == len(set(alerts)) > 10


def test_the_dashboard_is_one_that_grafana_can_draw() -> None:
    board = json.loads((FILES / "grafana.json").read_text(encoding="utf-8"))
    ids = [panel["id"] for panel in board["panels"]]
    assert len(set(ids)) == len(ids) > 10
    taken = set[tuple[int, int]]()
    for panel in board["panels"]:
        place = panel["gridPos"]
        cells = {
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        }
        assert not cells & taken and max(x for x, _ in cells) < 24, panel["title"]
        taken |= cells
        assert panel["targets"] and all(target["expr"] for target in panel["targets"])
        assert panel["datasource"]["uid"] == "${datasource}"


def test_the_unit_runs_a_command_that_there_is() -> None:
    text = (FILES / "arena.service").read_text(encoding="utf-8")
    (line,) = re.findall(r"^ExecStart=(.*)$", text, re.MULTILINE)
    program, command, *words = line.split()
    options = {f"--{name.replace('_', '-')}" for name in inspect.signature(serve).parameters}
    assert program.endswith("/arena") and command == "serve" and set(words[::2]) <= options
    assert "KillMode=mixed" in text and "OOMPolicy=continue" in text


# --- with the programs themselves, where they are installed ---------------------------------------


def run(*words: str | Path) -> None:
    name = str(words[0])
    if shutil.which(name) is None:
        pytest.skip(f"no {name} on PATH")
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr


def changed(name: str, folder: Path, *changes: tuple[str, str]) -> Path:
    """A copy of a file with your names put in."""
    text = (FILES / name).read_text(encoding="utf-8")
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    path = folder / name
    path.write_text(text)
    return path


def test_prometheus_takes_configuration_and_rules(tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("secret")
    changed("alerts.yml", tmp_path)
    made = changed("prometheus.yml", tmp_path, ("/etc/prometheus/arena.token", str(token)))
    run("promtool", "check", "config", made)


RULES_TEST = """
rule_files: [alerts.yml]
evaluation_interval: 1m
tests:
  - interval: 1m
    input_series:
      - {series: 'arena_population_state{population="a", state="running"}', values: '1x60'}
      - {series: 'arena_population_state{population="b", state="failed"}', values: '1x60'}
      - {series: 'arena_checkpoint_age_seconds{population="a"}', values: '1000x60'}
      - {series: 'arena_checkpoint_age_seconds{population="b"}', values: '9000x60'}
      - {series: 'arena_env_frames_total{population="a", member="m0"}', values: '0+100x20 2000x40'}
      - {series: 'arena_updates_total{population="a", member="m0"}', values: '0+90x60'}
      - {series: 'arena_updates_refused_total{population="a", member="m0"}', values: '0+10x60'}
    alert_rule_test:
      - {eval_time: 10m, alertname: ArenaTrainingStands, exp_alerts: []}
      - eval_time: 50m
        alertname: ArenaTrainingStands
        exp_alerts:
          - exp_labels: {population: a, severity: warning}
            exp_annotations: {summary: Population a is running and trains no frame.}
      - eval_time: 10m
        alertname: ArenaPopulationFailed
        exp_alerts:
          - exp_labels: {population: b, state: failed, severity: warning}
            exp_annotations: {summary: Population b has failed and is not started again.}
      - eval_time: 10m
        alertname: ArenaCheckpointOld
        exp_alerts:
          - exp_labels: {population: a, severity: warning}
            exp_annotations: {summary: The newest checkpoint of a is 16m 40s old.}
      - eval_time: 30m
        alertname: ArenaUpdatesRefused
        exp_alerts:
          - exp_labels: {population: a, member: m0, severity: warning}
            exp_annotations: {summary: "a: many updates of m0 are not finite."}
"""


def test_alerts_come_when_they_should_and_not_before(tmp_path: Path) -> None:
    changed("alerts.yml", tmp_path)
    (tmp_path / "test.yml").write_text(RULES_TEST)
    run("promtool", "test", "rules", tmp_path / "test.yml")


def test_caddy_takes_its_file() -> None:
    run("caddy", "validate", "--adapter", "caddyfile", "--config", FILES / "Caddyfile")


def test_nginx_takes_its_file(tmp_path: Path) -> None:
    if shutil.which("openssl") is None:
        pytest.skip("no openssl on PATH")
    key, certificate = tmp_path / "privkey.pem", tmp_path / "fullchain.pem"
    made = ("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=arena.example")
    run("openssl", *made, "-keyout", key, "-out", certificate)
    site = changed("nginx.conf", tmp_path, ("/etc/ssl/arena", str(tmp_path)))
    main = tmp_path / "main.conf"
    main.write_text(
        f"pid {tmp_path}/pid; error_log {tmp_path}/log; events {{}} http {{ include {site}; }}"
    )
    run("nginx", "-t", "-c", main)


def test_systemd_takes_the_unit(tmp_path: Path) -> None:
    made = changed("arena.service", tmp_path, ("/opt/arena/bin/arena", shutil.which("true") or ""))
    run("systemd-analyze", "verify", made)


def test_logrotate_takes_its_file(tmp_path: Path) -> None:
    owner = f"su {pwd.getpwuid(os.getuid()).pw_name} {grp.getgrgid(os.getgid()).gr_name}"
    made = changed("logrotate", tmp_path, ("su arena arena", owner))
    run("logrotate", "--debug", "--state", tmp_path / "state", made)
