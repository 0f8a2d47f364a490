"""A browser for tests of pages, Chromium without a window, or why there is none; and what coverage counts."""

import os
import shutil
from pathlib import Path

import coverage
import pytest

# The gate of `make test` is about core and distributions. What these folders and the tests marked slow reach of them,
# others reach as well; under the tracer they would take twice the time.
UNCOUNTED = [Path(__file__).parent / name for name in ("cli", "golden", "io", "kernels", "report")]
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


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item):
    """Run a test that coverage does not count without its tracer."""
    uncounted = item.get_closest_marker("slow") or any(item.path.is_relative_to(folder) for folder in UNCOUNTED)
    tracer = coverage.Coverage.current() if uncounted else None
    if tracer is None:
        return (yield)
    tracer.stop()
    try:
        return (yield)
    finally:
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
