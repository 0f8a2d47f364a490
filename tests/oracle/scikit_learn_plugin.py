"""A pytest plugin that runs scikit-learn's own tests on suffice's classes.

    python -m pytest -p scikit_learn_plugin --pyargs sklearn.tests.test_naive_bayes sklearn.mixture …

with this folder on PYTHONPATH. The classes are replaced before the tests are imported, so that their parametrisation
has ours, too. Left out is what is not about our classes: those that suffice has no counterpart of, functions and
attributes that are private to scikit-learn, and arrays of other libraries than NumPy. The count is printed at the end;
with ``--oracle-report FILE`` the outcome of every test is written there as JSON.
"""

import inspect
import json
import re
from collections import Counter
from pathlib import Path

import pytest
import sklearn.cluster
import sklearn.discriminant_analysis
import sklearn.mixture
import sklearn.naive_bayes
import sklearn.neighbors

import suffice as sf

REPLACED = {
    sklearn.naive_bayes: ("GaussianNB", "BernoulliNB", "MultinomialNB", "CategoricalNB"),
    sklearn.discriminant_analysis: ("LinearDiscriminantAnalysis", "QuadraticDiscriminantAnalysis"),
    sklearn.mixture: ("GaussianMixture", "BayesianGaussianMixture"),
    sklearn.cluster: ("KMeans",),
    sklearn.neighbors: ("KernelDensity",),
}
# What a test says in its name, its parameters or its text where it is not about our classes.
OTHERS = {
    "arrays of other libraries than NumPy": r"array_api",
    "classes and functions that suffice does not have": (
        r"MiniBatchKMeans|ComplementNB|minibatch|mini_batch|cnb|k_means_function|kmeans_plusplus"
    ),
}
PRIVATE = re.compile(r"\w\._(?!n_parameters|estimate_log_prob|joint_log_likelihood)[a-z]\w*\(|\b_n_init\b|\bMock\b")
OURS = re.compile(rf"\b({'|'.join(name for names in REPLACED.values() for name in names)})\b")
INDIRECT = re.compile(r"Estimator|\b(km|gmm|klass|DiscreteNaiveBayes|GaussianMixture)")
LEFT_OUT = pytest.StashKey[Counter]()
OUTCOMES: dict[str, str] = {}


def pytest_addoption(parser):
    """Offer a file for the outcomes."""
    parser.addoption("--oracle-report", help="write the outcome of every test to this file, as JSON")


def pytest_configure():
    """Put our classes in the place of scikit-learn's."""
    for module, names in REPLACED.items():
        for name in names:
            setattr(module, name, getattr(sf, name))


def reason_to_leave_out(item):
    """Why a test is not about one of our classes, by what scikit-learn's users may call; None where it is."""
    text = inspect.getsource(item.function)
    for reason, pattern in OTHERS.items():
        if re.search(pattern, item.nodeid):
            return reason
    if PRIVATE.search(text) or not (OURS.search(text + item.nodeid) or INDIRECT.search(text)):
        return "functions and attributes that are private to scikit-learn"
    return None


def pytest_collection_modifyitems(config, items):
    """Leave out what is not about our classes, and count it."""
    reasons = [reason_to_leave_out(item) for item in items]
    config.stash[LEFT_OUT] = Counter(reason for reason in reasons if reason)
    config.hook.pytest_deselected(items=[item for item, reason in zip(items, reasons, strict=True) if reason])
    items[:] = [item for item, reason in zip(items, reasons, strict=True) if not reason]


def pytest_runtest_logreport(report):
    """Keep the worst outcome of a test."""
    name = f"{Path(report.location[0]).stem}::{report.nodeid.split('::')[-1]}"
    if report.outcome != "passed" or report.when == "call":
        OUTCOMES[name] = "failed" if "failed" in (report.outcome, OUTCOMES.get(name)) else report.outcome


def pytest_terminal_summary(terminalreporter, config):
    """Print the count, and write the outcomes."""
    left_out = config.stash.get(LEFT_OUT, Counter())
    terminalreporter.write_line(f"{dict(Counter(OUTCOMES.values()))}, left out: {dict(left_out)}")
    if config.option.oracle_report:
        Path(config.option.oracle_report).write_text(json.dumps({"outcomes": OUTCOMES, "left_out": left_out}))
