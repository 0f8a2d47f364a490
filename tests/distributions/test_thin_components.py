"""Components 10⁸ times as long as they are wide: how far they are from others, and that nothing warns."""

import warnings
from fractions import Fraction

import numpy as np
import pytest

import suffice as sf
from suffice.distributions.degeneracy import roots_along
from suffice.statistics.separation import of_roots

TURN = np.array([[0.6, 0.8], [-0.8, 0.6]])


def exact_divergence(one, other):
    """Kullback–Leibler of two normals of mean 0 whose covariances (2, 2) are exact fractions."""
    (a, b), (_, c) = other
    det = a * c - b * b
    inverse = [[c / det, -b / det], [-b / det, a / det]]
    trace = sum(inverse[i][j] * one[j][i] for i in range(2) for j in range(2))
    own = one[0][0] * one[1][1] - one[0][1] ** 2
    return 0.5 * (float(trace) - 2 + float(np.log(float(det / own))))


@pytest.mark.parametrize("thin", [1e-3, 1e-6, 1e-9, 1e-12])
def test_divergences_of_thin_components_have_their_digits(thin):
    """Along axes that turn the columns by 53°, where A Σ Aᵀ has no determinant left."""
    cov = np.array([[[1 / thin, 0.1], [0.1, thin]], [[1.0, 0.2], [0.2, 0.5]]])
    found = of_roots(np.zeros((2, 2)), roots_along(TURN, cov), np.ones((0, 2)))
    exact = [[[Fraction(float(x)) for x in row] for row in one] for one in cov]
    for i in range(2):
        for j in range(2):
            assert found.divergence[i, j] == pytest.approx(exact_divergence(exact[i], exact[j]), rel=1e-6, abs=1e-6)
    volume = [float(np.log(float(one[0][0] * one[1][1] - one[0][1] ** 2))) for one in exact]
    assert found.log_volume == pytest.approx(volume, abs=1e-6)


def test_roots_along_fewer_axes_than_columns():
    rng = np.random.default_rng(0)
    half = rng.normal(size=(3, 4, 4))
    cov, axes = half @ np.swapaxes(half, 1, 2), rng.normal(size=(2, 4))
    root = roots_along(axes, cov)
    assert root.shape == (3, 2, 2)
    assert root @ np.swapaxes(root, 1, 2) == pytest.approx(axes @ cov @ axes.T)


TWO_SCALES = np.array(
    [
        [4.2680849735055824e-07, 0.0],
        [7.4000567297320945e-08, 0.0],
        [-1.1183955094447342e-07, 4.0],
        [9.7993444211898406e-09, 1.0],
        [3.6904480426784641e-07, 5.0],
        [-2.9118765245232736e-08, 4.0],
        [3.8617455748372599e-07, 4.0],
        [-1.7009418778971403e-08, 0.0],
    ]
)


def with_three_values():
    """Forty rows whose second column takes three values: a component of one of them is thin."""
    rng = np.random.default_rng(0)
    return np.column_stack([rng.gamma(0.5, size=40) * 1e-5, rng.choice([0.0, 1.0, 5.0], 40)])


@pytest.mark.parametrize(("structure", "k", "rows"), [("EVV", 3, TWO_SCALES), ("EVE", 2, with_three_values())])
def test_components_of_one_volume_on_their_floor_do_not_warn(structure, k, rows):
    model = sf.Mixture(sf.MultivariateNormal(structure=structure), k)
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        found = sf.fit(model, rows, random_state=0, max_iter=200, start="k-means++")
    separation = found.distribution.components.separation(found.statistics.components, found.distribution.floors)
    assert np.isfinite(separation.divergence).all()
    assert separation.log_volume == pytest.approx(np.full(k, separation.log_volume[0]), abs=1e-6)  # of one volume
