"""A browser for tests of pages, Chromium without a window, or why there is none; what coverage counts; threads."""

import os
import shutil
from contextlib import nullcontext
from pathlib import Path

import coverage
import pytest
from threadpoolctl import ThreadpoolController

HERE = Path(__file__).parent
# The gate of `make test` is about the layers that pyproject.toml lists. Under the tracer small fits take nearly twice
# the time, so it follows the tests of these places that reach most lines in little time.
COUNTED = [
    *("bayes", "core", "densities", "display", "distributions", "em", "estimators", "io", "laws", "models", "queries"),
    *("schema", "selection", "statistics", "tables", "theory", "uncertainty"),
]
# Of these places: tests marked slow, and files that take long and reach next to nothing that the others do not.
UNCOUNTED = [
    *(
        "laws/test_broken_families.py",
        "laws/test_em_never_falls.py",
        "laws/test_degenerate.py",
        "models/test_chance.py",
    ),
    *("models/test_collapsed_columns.py", "em/init/test_short_runs.py", "em/test_loop.py", "theory/test_em_bound.py"),
    *(
        "uncertainty/test_information.py",
        "theory/test_likelihood.py",
        "em/test_merge.py",
        "models/test_mixture_answers.py",
    ),
    *(
        "models/test_mixture.py",
        "selection/test_select.py",
        "em/init/test_starts.py",
        "tables/test_suggestions.py",
    ),
    *("theory/test_bounds.py", "estimators/test_bayes_laws.py", "estimators/test_bayesian_gaussian_mixture.py"),
    *("estimators/test_checks.py", "estimators/test_compare.py", "estimators/test_evidence.py"),
    *("estimators/test_fitted_attributes.py", "estimators/test_gaussian_mixture.py", "estimators/test_k_means.py"),
    *("estimators/test_reproducibility.py", "estimators/test_rows_as_given.py", "estimators/test_tables.py"),
    *("estimators/test_to_sklearn.py", "estimators/test_user_guide.py", "estimators/test_wide_discriminants.py"),
    *("distributions/test_covariance_floors.py", "core/test_column_blocks.py", "models/test_variational.py"),
    *("schema/test_family_choice.py", "tables/test_odd_files.py", "tables/test_frame.py"),
    *("io/test_messy_tables.py", "io/test_safety.py"),
]
# These see whether threads change an answer, and leave BLAS its own. Elsewhere one thread is quicker: threads that wait
# for small matrices wait busily, and several tests run at once.
THREADED = [
    "laws/test_laws.py",
    "selection/test_select.py",
    "distributions/test_missing_cells.py",
    "tables/test_scan.py",
    "kernels",
]
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


def pytest_collection_modifyitems(items):
    """Begin with what takes long, so that all workers end together."""
    items.sort(key=lambda item: item.get_closest_marker("slow") is None)


def pytest_collection_finish(session):
    """Know the libraries that have threads, now that all are loaded."""
    session.config.stash[THREADS] = ThreadpoolController()


def _in(item, places):
    return any(item.path.is_relative_to(HERE / place) for place in places)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item):
    """Leave out the tracer where coverage does not count, and threads of BLAS where they are not the matter."""
    counted = _in(item, COUNTED) and not _in(item, UNCOUNTED) and not item.get_closest_marker("slow")
    tracer = None if counted else coverage.Coverage.current()
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
