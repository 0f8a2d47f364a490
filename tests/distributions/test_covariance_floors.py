"""Covariances on the floor: EM never falls, and nothing divides by zero, whatever rows make a component flat."""

import warnings

import numpy as np
import pytest

import suffice as sf
from suffice.distributions.compact_covariance import RELATIVE_FLOOR
from suffice.distributions.covariance_algebra import objectives
from suffice.distributions.covariance_structures import STRUCTURES

LETTERS = sorted({form.letters for name, form in STRUCTURES.items() if name != "identity"})


def outliers(rng):
    n, d = int(rng.integers(12, 36)), int(rng.integers(2, 7))
    x = rng.normal(size=(n, d))
    x[:, rng.integers(d)] = rng.choice([0.0, 1.0, 5.0], n)
    for _ in range(int(rng.integers(1, 4))):
        x[rng.integers(n), rng.integers(d)] *= 10.0 ** rng.integers(2, 6)
    return x


def discrete(rng):
    n, d = int(rng.integers(5, 16)), int(rng.integers(2, 5))
    x = rng.choice([0.0, 1.0], size=(n, d))
    x[:, 0] = rng.normal(size=n) if rng.random() < 0.7 else x[:, 0]
    x[:, -1] = 0.0 if rng.random() < 0.2 else x[:, -1]
    return x


def repeated(rng):
    n, d = int(rng.integers(6, 30)), int(rng.integers(1, 6))
    x = rng.normal(size=(n, d)) @ rng.normal(size=(d, d)) * 10.0 ** rng.integers(-6, 7, size=d)
    x[:, -1] = x[:, 0] if rng.random() < 0.3 else x[:, -1]
    return x[rng.integers(n, size=n)]


def run_em(kind, seed, structure):
    """Fit strictly: a fall of the likelihood is an error, and so is a warning of NumPy."""
    rng = np.random.default_rng(seed)
    x, k = kind(rng), int(rng.integers(2, 5))
    unit = x / np.maximum(x.std(axis=0), 1e-300)
    centres = unit[rng.choice(len(x), k, replace=False)]
    nearest = ((unit[:, None] - centres) ** 2).sum(axis=2).argmin(axis=1)
    start = rng.integers(k, size=len(x)) if seed % 2 else nearest
    model = sf.Mixture(sf.MultivariateNormal(structure=structure), k)
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        return sf.fit(model, x, random_state=0, start=start, accelerate=bool(seed // 2 % 2), max_iter=12)


@pytest.fixture(autouse=True)
def _strict(monkeypatch):
    monkeypatch.setenv("SUFFICE_STRICT", "1")


@pytest.mark.parametrize("kind", [outliers, discrete, repeated])
@pytest.mark.parametrize("structure", LETTERS)
def test_em_never_falls_and_never_warns(structure, kind):
    first = 3 * LETTERS.index(structure)
    for seed in [*range(9)] if structure == "VVV" and kind is outliers else [first, first + 1]:
        fit = run_em(kind, seed, structure)
        assert np.isfinite(fit.log_likelihood)
        assert STRUCTURES[structure].holds(np.asarray(fit.distribution.components.cov))


@pytest.mark.slow
def test_a_component_with_outliers_never_lowers_the_likelihood():
    for seed in range(2):
        rng = np.random.default_rng(seed)
        x = rng.normal(size=(30, 6))
        x[:, 1] = rng.choice([0.0, 1.0, 5.0], 30)
        x[rng.integers(30), 4] *= 1e4
        x[rng.integers(30), 5] *= 1e3
        fit = sf.fit(sf.Mixture(sf.MultivariateNormal(), 3), x, random_state=0)
        assert "fell" not in [code for code, _ in fit.alerts]


@pytest.mark.slow
def test_few_discrete_rows_have_common_axes():
    rng = np.random.default_rng(10)
    x = rng.choice([0.0, 1.0], size=(10, 3))
    x[:, 0] = rng.normal(size=10)
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        fit = sf.fit(sf.Mixture(sf.MultivariateNormal(structure="VVE"), 2), x, random_state=0, max_iter=30)
    assert np.isfinite(fit.log_likelihood)


@pytest.mark.parametrize("structure", ["VVV", "EEE"])
def test_the_m_step_above_a_floor_is_at_least_as_good_as_any_covariance_above_it(structure):
    form, rng = STRUCTURES[structure], np.random.default_rng(0)
    for _ in range(50):
        k, d = (1 if structure == "EEE" else int(rng.integers(1, 4))), int(rng.integers(1, 6))
        scale = 10.0 ** rng.integers(-3, 8, size=d)
        factor = rng.normal(size=(k, d, int(rng.integers(1, d + 1)))) * scale[:, None]
        scatter, weight = factor @ np.swapaxes(factor, 1, 2), rng.uniform(1, 9, k)
        floor = np.diag(1e-8 * rng.uniform(1, 3, d))
        found = form.m_step(scatter, weight, None, floor)
        spread = np.sqrt(np.einsum("kii->ki", found))
        least = np.linalg.eigvalsh(found / (spread[:, :, None] * spread[:, None, :]))[:, 0]
        assert (least >= 0.99 * RELATIVE_FLOOR * d * (least < 1e-8)).all()
        best = objectives(found, scatter, weight)
        for size in (1e-3, 1e-1, 1.0):  # everything that is found plus something is above the floor, too
            other = found + size * (found * rng.uniform(0, 1) + scatter / weight[:, None, None] + floor)
            assert (objectives(other, scatter, weight) <= best + 1e-3 * (1 + np.abs(best))).all()
        again = form.m_step(scatter, weight, found, floor)
        assert (objectives(again, scatter, weight) >= best - 1e-9 * (1 + np.abs(best))).all()


@pytest.mark.parametrize("structure", ["diag", "spherical", "EII", "EEI", "VEI", "EVI"])
def test_diagonal_covariances_are_scored_as_full_ones_without_a_factorisation(structure, monkeypatch):
    x = np.random.default_rng(0).normal(size=(40, 6)) * [1.0, 2.0, 3.0, 4.0, 5.0, 0.1]
    fit = sf.fit(sf.Mixture(sf.MultivariateNormal(structure=structure), 2), x, random_state=0)
    stack = fit.distribution.components
    stats = stack.suffstats(x, fit.predict_proba(x))
    full = sf.MultivariateNormal(stack.mean, stack.cov)
    expected = full.log_likelihood(full.suffstats(x, fit.predict_proba(x)))
    np.testing.assert_allclose(stack.log_likelihood(stats), expected, rtol=1e-12)
    np.testing.assert_allclose(stack.log_prob(x), full.log_prob(x), rtol=1e-12)

    def refuse(*_):
        msg = "a diagonal covariance needs no factorisation"
        raise AssertionError(msg)

    for name in ("eigh", "eigvalsh"):
        monkeypatch.setattr(np.linalg, name, refuse)
    stack.estimate(stats)
    stack.rounding(stats)
    fit.distribution.estimate(fit.statistics)


def test_axes_of_components_of_one_row_each_in_columns_of_very_different_spread():
    """Slopes there are beyond the range of numbers: no step is taken, and nothing is divided by it."""
    rows = np.array(
        [
            [-1.6498242e-03, 4.8563528e-01, 4.0471773, 2.2626107e-08, 3.7138515],
            [6.6016167e-02, 5.2997808, -1.0331723e04, 6.9823685e-09, 2.7893713],
        ],
        dtype=np.float32,
    )
    fit = sf.fit(
        sf.Mixture(sf.MultivariateNormal(structure="VVE"), 4), rows, weights=[1, 2], random_state=0, max_iter=100
    )
    assert np.isfinite(fit.log_likelihood)
    assert "few rows" in [alert.code for alert in fit.alerts]
