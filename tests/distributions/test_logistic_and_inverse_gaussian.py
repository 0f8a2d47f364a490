"""Logistic and inverse Gaussian: tails to thirty digits, estimates of the literature, steps that never fall."""

import mpmath
import numpy as np
import pytest

import suffice as sf

# Active repair times in hours of an airborne transceiver (von Alven, 1964), as in Chhikara and Folks (1977), The
# inverse Gaussian distribution as a lifetime model, Technometrics 19, who give mean 3.607 and shape 1.659.
REPAIRS = [
    *(0.2, 0.3, 0.5, 0.5, 0.5, 0.5, 0.6, 0.6, 0.7, 0.7, 0.7, 0.8, 0.8, 1.0, 1.0, 1.0, 1.0, 1.1, 1.3, 1.5, 1.5, 1.5),
    *(1.5, 2.0, 2.0, 2.2, 2.5, 2.7, 3.0, 3.0, 3.3, 3.3, 4.0, 4.0, 4.5, 4.7, 5.0, 5.4, 5.4, 7.0, 7.5, 8.8, 9.0, 10.3),
    *(22.0, 24.5),
]
LEVELS = [1e-300, 1e-100, 1e-12, 1e-6, 0.01, 0.3, 0.5, 0.9, 0.999, 1 - 1e-9]
SHAPES = [(1.0, 1e-3), (5.0, 0.5), (1.0, 1.0), (0.5, 8.0), (2.0, 1e4), (1.0, 1e8)]


def exact_cdf(mean, shape, x):
    """Φ(a) + e^(2λ/m)·Φ(−b), as the textbook has it, with digits enough for its cancellation."""
    m, s, x = mpmath.mpf(mean), mpmath.mpf(shape), mpmath.mpf(x)
    root = mpmath.sqrt(s / x)
    return mpmath.ncdf(root * (x / m - 1)) + mpmath.exp(2 * s / m) * mpmath.ncdf(-root * (x / m + 1))


@pytest.mark.parametrize(("mean", "shape"), SHAPES)
def test_tails_of_the_inverse_gaussian_to_thirty_digits(mean, shape):
    ours = sf.InverseGaussian(mean, shape)
    x = ours.quantile(LEVELS)
    with mpmath.workdps(60):
        np.testing.assert_allclose(ours.cdf(x), [float(exact_cdf(mean, shape, one)) for one in x], rtol=3e-12)
    np.testing.assert_allclose(ours.cdf(x), LEVELS, rtol=1e-10)  # the last bit of x moves a sharp density's cdf


@pytest.mark.parametrize("x", [-700.0, -40.0, -1.0, 0.0, 1e-9, 3.0, 36.0])
def test_the_logistic_to_thirty_digits(x):
    ours = sf.Logistic(0.0, 1.0)
    with mpmath.workdps(400):
        e = mpmath.exp(-mpmath.mpf(x))
        assert ours.cdf(x) == pytest.approx(float(1 / (1 + e)), rel=1e-15)
        assert ours.log_prob(x) == pytest.approx(float(mpmath.log(e / (1 + e) ** 2)), rel=1e-15)


def test_repair_times():
    fit = sf.fit(sf.InverseGaussian(), REPAIRS)
    assert fit.params["mean"] == pytest.approx(3.607, abs=5e-4)
    assert fit.params["shape"] == pytest.approx(1.659, abs=5e-4)
    n, mean, shape = len(REPAIRS), fit.params["mean"], fit.params["shape"]
    # Tweedie (1957): Var of the mean is mean³/nλ; the information of λ is n/2λ².
    assert fit.standard_errors["mean"] == pytest.approx(np.sqrt(mean**3 / shape / n), rel=1e-7)
    assert fit.standard_errors["shape"] == pytest.approx(shape * np.sqrt(2 / n), rel=1e-7)


def test_the_estimate_of_a_logistic_solves_its_equations():
    x, w = np.array([1.0, 2.0, 3.0, 4.0, 9.0]), np.array([1.0, 2.0, 0.5, 1.0, 3.0])
    found = sf.fit(sf.Logistic(), x, weights=w).distribution
    r = (x - found.loc) / found.scale
    assert np.average(np.tanh(r / 2), weights=w) == pytest.approx(0.0, abs=1e-12)
    assert np.average(r * np.tanh(r / 2), weights=w) == pytest.approx(1.0, rel=1e-11)


@pytest.mark.parametrize("tied", [(), ("loc",), ("scale",)], ids=["free", "loc tied", "scale tied"])
def test_a_step_of_the_logistic_never_falls_from_anywhere(tied):
    """Newton's step is taken only where it is short: outliers, ties and far starts would show that it is too long."""
    rng = np.random.default_rng(7)
    for _ in range(150):
        n = int(rng.integers(3, 30))
        x = rng.choice([rng.normal(size=n), rng.standard_cauchy(n) ** 3, rng.choice([0.0, 1.0, 50.0], n)])
        if np.ptp(x) == 0:
            continue
        w = rng.uniform(0.01, 3.0, (n, 2)) ** 3
        away = rng.normal(size=(2, 1)) * np.std(x) * 10 ** rng.uniform(-2, 1, (2, 1))
        scale = np.std(x) * 10 ** rng.uniform(-3, 2, (2, 1))
        start = sf.Logistic(np.median(x) + away, scale).tie(*tied)
        shared = {name: np.broadcast_to(getattr(start, name)[:1], (2, 1)) for name in tied}
        model = type(start)(**{**start.params, **shared}, tied=tied)
        height = -np.inf
        for _ in range(8):
            stats = model.suffstats(x, w)
            reached = float(np.sum(model.log_likelihood(stats)))
            assert reached >= height - 1e-12 * abs(reached)
            height, model = reached, model.estimate(stats)


@pytest.mark.parametrize(("fixed", "tied"), [("mean", "shape"), ("shape", "mean")])
def test_shared_and_known_parameters_of_the_inverse_gaussian_maximise(fixed, tied):
    """Known values may differ between components that share the other: the estimate is a maximum all the same."""
    rng = np.random.default_rng(3)
    x, w = rng.wald(2.0, 3.0, 60), rng.uniform(0.1, 2.0, (60, 2)) ** 3
    model = sf.InverseGaussian([[1.0], [4.0]], [[2.0], [9.0]]).fix(fixed).tie(tied)
    found = model.estimate(model.suffstats(x, w))
    np.testing.assert_array_equal(getattr(found, fixed), getattr(model, fixed))
    value = getattr(found, tied)
    assert value[0] == value[1]

    def height(factor):
        moved = sf.InverseGaussian(**{**found.params, tied: factor * value})
        return float((w * moved.log_prob(x)).sum())

    assert all(height(1.0) > height(factor) for factor in (0.9, 0.999, 1.001, 1.1))


def test_values_that_are_all_alike_are_reported():
    assert "collapsed" in dict(sf.fit(sf.Logistic(), [2.0, 2.0, 2.0]).alerts)
    assert "collapsed" in dict(sf.fit(sf.InverseGaussian(), [2.0, 2.0, 2.0]).alerts)
