"""What every test shares. One thread per process: the machine's cores belong to the test
workers.
"""

import gc
import os
import signal
import tempfile

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("MKL_NUM_THREADS", "1")
os.environ.setdefault("SDL_VIDEODRIVER", "dummy")
# The width of a developer's terminal: tables would leave out columns.
os.environ.pop("COLUMNS", None)
# A shell starts background jobs with Ctrl-C ignored, and what tests start would inherit that: none
# could be interrupted.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

from collections.abc import Generator, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# Slow or busy machines are no reason to fail; what Hypothesis found once is found again.
settings.register_profile(
    "project",
    deadline=None,
    derandomize=True,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("project")

REPORTS = ("game-error-*.json", "arena-crash-*.log")
REPOSITORY = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def repository() -> Path:
    """The root of the checkout."""
    return REPOSITORY


@pytest.fixture(scope="session", autouse=True)
def _own_temporary_files(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Temporary files stand among those of the tests. A run that leaves reports of games or of the
    program in the system's folder all the same has failed: a child was started without TMPDIR.
    """
    system = Path(tempfile.gettempdir())
    before = _reports(system)
    os.environ["TMPDIR"] = tempfile.tempdir = str(tmp_path_factory.mktemp("temporary"))
    yield
    os.environ["TMPDIR"] = tempfile.tempdir = str(system)
    left = sorted(_reports(system) - before)
    assert not left, f"left in {system}: {left}"


def _reports(folder: Path) -> set[str]:
    """The names of the files in which a game or the program told what went wrong."""
    return {path.name for name in REPORTS for path in folder.glob(name)}


@pytest.fixture(autouse=True)
def _own_data_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No test writes into a person's arena-data, caches or configurations."""
    monkeypatch.setenv("ARENA_DATA", str(tmp_path / "arena-data"))
    # Beside the test's folder, in which some tests count what they find. What was measured of a
    # game before must not hide what a test measures.
    person = tmp_path.with_name(f"{tmp_path.name}-person")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(person / "configs"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(person / "caches"))


def _skips_fail() -> bool:
    return os.environ.get("CI", "").lower() in {"1", "true", "yes"}


@pytest.hookimpl(tryfirst=True)
def pytest_collection() -> None:
    """A million objects of modules and tests stay to the end: nothing is gained by looking through
    them, neither while they are made nor later.
    """
    gc.disable()


def pytest_collection_finish() -> None:
    gc.collect()
    gc.freeze()
    gc.enable()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """With CI=1 a skipped test is a failed one: something the machine should have is missing."""
    report = yield
    if report.skipped and not hasattr(report, "wasxfail") and _skips_fail():
        report.outcome = "failed"
        report.longrepr = f"CI=1, and {item.nodeid} was skipped: {report.longrepr}"
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """The same for files that skip themselves as a whole."""
    report = yield
    if report.skipped and _skips_fail():
        report.outcome = "failed"
        report.longrepr = f"CI=1, and {collector.nodeid} was skipped: {report.longrepr}"
    return report


class _FailuresAtOnce:
    """Prints a failure when it happens: a run that is ended from outside prints no summary."""

    def __init__(self, terminal: pytest.TerminalReporter) -> None:
        self._terminal = terminal

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self._terminal.write_line(f"\nFAILED {report.nodeid} ({report.when})")
            self._terminal.write_line(report.longreprtext[-2000:])


@pytest.hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    terminal = config.pluginmanager.get_plugin("terminalreporter")
    if terminal is not None and _skips_fail():
        config.pluginmanager.register(_FailuresAtOnce(terminal), "failures-at-once")
