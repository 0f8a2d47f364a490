"""Columns that all but follow from each other: the log-likelihood keeps its digits."""

from fractions import Fraction

import numpy as np
import pytest

import suffice as sf

OUTLIER = np.array([[3.77394734, 4.0], [5.19266298, 4.0], [48707.8699, 5.0]])
WEIGHTS = np.array([2.0, 1.0, 3.0])


def exact_log_likelihood(rows, weights, model):
    """Σ w log p(x) of two columns, where all but the logarithms is exact."""
    (a, b), (_, c) = [[Fraction(float(x)) for x in row] for row in np.asarray(model.cov)]
    det, total = a * c - b * b, Fraction(0)
    for row, held in zip(rows, weights, strict=True):
        x, y = (Fraction(float(one)) - Fraction(float(mean)) for one, mean in zip(row, model.mean, strict=True))
        total += Fraction(float(held)) * (c * x * x - 2 * b * x * y + a * y * y) / det
    return -0.5 * float(total) - float(np.sum(weights)) * (0.5 * np.log(float(det)) + np.log(2 * np.pi))


@pytest.mark.parametrize("weights", [np.ones(3), WEIGHTS], ids=["plain", "weighted"])
def test_the_log_likelihood_is_that_of_the_rows(weights):
    found = sf.fit(sf.MultivariateNormal(), OUTLIER, weights=weights)
    assert found.log_likelihood == pytest.approx(exact_log_likelihood(OUTLIER, weights, found.distribution), abs=1e-10)
    assert found.log_likelihood == pytest.approx(float(weights @ found.log_prob(OUTLIER)), abs=1e-10)


def test_so_it_is_in_a_table_and_with_rows_of_weight_0():
    table = {"a": OUTLIER[[0, 1, 2, 0], 0], "b": OUTLIER[[0, 1, 2, 0], 1], "n": np.array([1.0, 4.0, 2.0, -1.0])}
    model = sf.Product({("a", "b"): sf.MultivariateNormal(), "n": sf.Poisson()})
    found = sf.fit(model, table, weights=np.array([1.0, 1.0, 1.0, 0.0]))
    counts = sf.fit(sf.Poisson(), table["n"][:3]).log_likelihood
    alone = sf.fit(sf.MultivariateNormal(), OUTLIER)
    expected = exact_log_likelihood(OUTLIER, np.ones(3), alone.distribution) + counts
    assert found.log_likelihood == pytest.approx(expected, abs=1e-9)


def test_rounding_of_wide_covariances_needs_no_matrix():
    """Of a diagonal and a few rows the least eigenvalue is bounded by the diagonal's part of the variances."""
    rows = np.random.default_rng(0).normal(size=(20, 200))
    found = sf.fit(sf.MultivariateNormal(), rows)
    compact = found.distribution
    dense = sf.MultivariateNormal(compact.mean, np.asarray(compact.cov))
    assert compact.rounding(found.statistics) >= 0.1 * dense.rounding(found.statistics)
    diagonal = sf.fit(sf.MultivariateNormal(structure="diag"), rows)
    assert diagonal.distribution.rounding(diagonal.statistics) == pytest.approx(20 * 200 * np.finfo(float).eps)
