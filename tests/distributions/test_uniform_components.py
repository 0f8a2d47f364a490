"""Components that learn their bounds: a share of a row moves them as far as the whole row."""

import numpy as np
import pytest

import suffice as sf

RNG = np.random.default_rng(0)


@pytest.mark.parametrize("n", [300, 20000])
def test_two_uniforms_apart_are_found(n: int) -> None:
    """Also where a start is found on a small part of the rows, which lacks their ends."""
    x = np.concatenate([RNG.uniform(0, 1, n), RNG.uniform(5, 9, 2 * n)])
    fit = sf.fit(sf.Mixture(sf.Uniform(), 2), x, random_state=0)
    low, high = fit.distribution.parts
    assert (low.low, low.high) == (x[:n].min(), x[:n].max())
    assert (high.low, high.high) == (x[n:].min(), x[n:].max())
    assert np.allclose(fit.distribution.weights, [1 / 3, 2 / 3], atol=1e-12)
    assert fit.alerts == ()


def test_rows_beyond_the_picture_belong_to_the_nearest_bounds() -> None:
    """Two rows far out, which no sketch has: the fit covers them, and its likelihood is finite."""
    x = np.concatenate([RNG.uniform(0, 1, 20000), RNG.uniform(5, 9, 20000), [-0.5, 11.0]])
    fit = sf.fit(sf.Mixture(sf.Uniform(), 2), x, random_state=0)
    assert np.isfinite(fit.log_likelihood)
    assert [one.low for one in fit.distribution.parts] == [-0.5, pytest.approx(5, abs=1e-2)]
    assert [one.high for one in fit.distribution.parts] == [pytest.approx(1, abs=1e-2), 11.0]


def test_a_background_under_a_peak_is_still_found() -> None:
    x = np.concatenate([RNG.normal(5, 0.1, 3000), RNG.uniform(0, 10, 3000)])
    fit = sf.fit(sf.Mixture([sf.Normal(), sf.Uniform()]), x, random_state=0)
    peak, ground = fit.distribution.parts
    assert peak.std == pytest.approx(0.1, rel=0.1)
    assert (ground.low, ground.high) == (x.min(), x.max())


def test_a_selection_covers_all_rows() -> None:
    x = np.concatenate([RNG.uniform(0, 1, 8000), RNG.uniform(5, 9, 8000)])
    found = sf.select(sf.Uniform(), x, n_components=[1, 2], random_state=0)
    assert found.best.distribution.n == 2
    assert np.isfinite(found.best.log_likelihood)
