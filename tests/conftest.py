"""A browser for tests of pages: Chromium without a window, or a stated reason why there is none."""

import os
import shutil

import pytest

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
