"""The likelihood profile of one mean of several columns."""

import numpy as np
import pytest
from scipy import optimize, stats

import suffice as sf
from suffice.errors import ParameterError, UnsupportedError

X = np.random.default_rng(0).normal(size=(40, 3)) @ np.array([[1.0, 0.5, 0.0], [0.0, 1.0, -2.0], [0.3, 0.0, 1.0]])
WEIGHTS = np.random.default_rng(1).uniform(0.5, 2.0, 40)


@pytest.mark.parametrize("column", [0, 1, 2])
def test_log_l_falls_as_hotellings_formula_says(column):
    fit, n = sf.fit(sf.MultivariateNormal(), X, weights=WEIGHTS), WEIGHTS.sum()
    grid = fit.distribution.mean[column] + np.array([-2.0, 0.0, 0.1, 5.0])
    away = np.square(grid - fit.distribution.mean[column]) / fit.distribution.cov[column, column]
    found = sf.theory.profile(sf.MultivariateNormal(), X, ("mean", column), grid, weights=WEIGHTS)
    assert found == pytest.approx(fit.log_likelihood - n / 2 * np.log1p(away), rel=1e-12)


@pytest.mark.parametrize("structure", ["full", "diag", "spherical", "identity"])
@pytest.mark.parametrize("held", [False, True], ids=["learned", "fixed covariance"])
def test_no_other_means_are_better(structure, held):
    model = sf.MultivariateNormal(structure=structure)
    if held:
        if structure in ("spherical", "identity"):
            cov = np.eye(3)
        else:
            cov = np.diag([1.0, 2.0, 3.0]) + (0.5 if structure == "full" else 0.0) * (1 - np.eye(3))
        model = sf.MultivariateNormal(np.zeros(3), cov, structure).fix("cov")
    value = X[:, 1].mean() + 0.7
    found = float(sf.theory.profile(model, X, ("mean", 1), [value])[0])

    def height(others):
        fixed = sf.MultivariateNormal(
            np.insert(others, 1, value), np.asarray(model.cov) if held else np.eye(3), structure
        )
        fixed = fixed.fix("mean", "cov") if held else fixed.fix("mean")
        return -sf.fit(fixed, X).log_likelihood

    near = {"xatol": 1e-8, "fatol": 1e-10}
    best = optimize.minimize(height, X.mean(axis=0)[[0, 2]], method="Nelder-Mead", options=near)
    assert found == pytest.approx(-best.fun, rel=1e-8)


def test_the_interval_is_that_of_the_t_statistic():
    """2 log Λ = n log(1 + t²/(n − 1)), as of one column alone."""
    low, high = sf.theory.likelihood_interval(sf.MultivariateNormal(), X, ("mean", 2))
    n, column = len(X), X[:, 2]
    reach = np.sqrt(np.expm1(stats.chi2(1).ppf(0.95) / n) * column.var())
    assert (low, high) == pytest.approx((column.mean() - reach, column.mean() + reach), rel=1e-9)
    assert (low, high) == pytest.approx(sf.theory.likelihood_interval(sf.Normal(), column, "mean"), rel=1e-9)


@pytest.mark.parametrize(
    ("model", "rows", "name", "error", "told"),
    [
        (sf.MultivariateNormal(), X, "mean", UnsupportedError, r"one mean, named by its column as \('mean', 0\)"),
        (sf.MultivariateNormal(), X, ("cov", 0, 1), UnsupportedError, "entry of the covariance has none"),
        (sf.MultivariateNormal(np.zeros(3)).fix("mean"), X, ("mean", 0), ParameterError, "mean is fixed"),
        (sf.MultivariateNormal(), np.where(X > 3, np.nan, X), ("mean", 0), UnsupportedError, "without missing cells"),
        (sf.MultivariateNormal(), X, ("mean", 3), ParameterError, "mean"),
    ],
)
def test_what_has_no_profile_is_refused_with_the_reason(model, rows, name, error, told):
    with pytest.raises(error, match=told):
        sf.theory.profile(model, rows, name, [0.0])
