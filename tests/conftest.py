"""A browser for tests of pages, Chromium without a window, or why there is none; what coverage counts; threads."""

import os
import shutil
from contextlib import nullcontext
from pathlib import Path

import coverage
import pytest
from threadpoolctl import ThreadpoolController

HERE = Path(__file__).parent
# The gate of `make test` is about core and distributions. What these files and the tests marked slow reach of them,
# others reach as well; under the tracer they would take twice the time.
UNCOUNTED = [
    *("cli", "golden", "io", "kernels", "oracle", "report", "test_plot_columns.py", "test_plot_mixtures.py"),
    *("contract/test_climbing.py", "contract/test_degenerate.py", "core/test_select.py", "frames/test_table.py"),
    *("estimators/test_bayesian_gaussian_mixture.py", "estimators/test_gaussian_mixture.py"),
    *("estimators/test_checks.py", "estimators/test_compare.py", "estimators/test_k_means.py"),
    *("estimators/test_tables.py", "estimators/test_user_guide.py"),
]
# These see whether threads change an answer, and leave BLAS its own. Elsewhere one thread is quicker: threads that wait
# for small matrices wait busily, and several tests run at once.
THREADED = ["contract/test_laws.py", "core/test_select.py", "families/test_holes.py", "frames/test_scan.py", "kernels"]
THREADS = pytest.StashKey[ThreadpoolController]()
FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
)


def pytest_terminal_summary(terminalreporter):
    """Print what tests have to say beside that they passed: ``record_property("told", …)``."""
    for kind in ("passed", "failed"):
        for report in terminalreporter.stats.get(kind, []):
            for text in (text for name, text in report.user_properties if name == "told"):
                terminalreporter.write_line(text)


def pytest_collection_finish(session):
    """Know the libraries that have threads, now that all are loaded."""
    session.config.stash[THREADS] = ThreadpoolController()


def _in(item, places):
    return any(item.path.is_relative_to(HERE / place) for place in places)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item):
    """Leave out the tracer where coverage does not count, and threads of BLAS where they are not the matter."""
    uncounted = item.get_closest_marker("slow") or _in(item, UNCOUNTED)
    tracer = coverage.Coverage.current() if uncounted else None
    threads = nullcontext() if _in(item, THREADED) else item.config.stash[THREADS].limit(limits=1)
    if tracer is not None:
        tracer.stop()
    try:
        with threads:
            return (yield)
    finally:
        if tracer is not None:
            tracer.start()


def _missing(why):
    if os.environ.get("SUFFICE_REQUIRE_CHROMIUM") == "1":
        pytest.fail(f"SUFFICE_REQUIRE_CHROMIUM=1, but {why}")
    pytest.skip(f"{why}; SUFFICE_REQUIRE_CHROMIUM=1 makes this a failure")


@pytest.fixture(scope="session")
def browser(tmp_path_factory):
    """A running Chromium, driven by selenium; its log of the console can be asked for."""
    try:
        from selenium import webdriver
        from selenium.webdriver.chrome.options import Options
        from selenium.webdriver.chrome.service import Service
    except ImportError:
        _missing("selenium is not installed")
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    driver = shutil.which("chromedriver")
    if chromium is None or driver is None:
        _missing("chromium or chromedriver is not installed")
    options = Options()
    options.binary_location = chromium
    for flag in (*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('chromium')}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    found = webdriver.Chrome(options=options, service=Service(driver))
    yield found
    found.quit()


@pytest.fixture
def shown_at(browser):
    """Open a file at a width, in light or dark dress, and return the browser."""

    def opened(path, width, dress="light"):
        metrics = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
        media = {"features": [{"name": "prefers-color-scheme", "value": dress}]}
        browser.execute_cdp_cmd("Emulation.setEmulatedMedia", media)
        browser.get_log("browser")  # what earlier pages said
        browser.get(path.as_uri())
        return browser

    return opened
