"""Choosing among the fourteen covariance models, against what mclust 6 finds in R.

    library(mclust)
    summary(Mclust(faithful)); summary(Mclust(iris[, -5]))
    mclustBIC(faithful); mclustBIC(iris[, -5])

There BIC is 2 log L − p log n and ICL likewise; here both are the negative. mclust stops a little before the maximum,
and has one start for each model, so that ours may be better, and must not be worse.
"""

from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_iris

import suffice as sf

FAITHFUL = """
EII  4024.721  3452.998  3377.701  3230.264  3149.394  3081.414  2990.367  2978.100  2953.359
VII  4024.721  3458.305  3336.598  3242.826  3129.080  3038.171  2973.374  2935.082  2919.415
EEI  3055.835  2354.601  2323.014  2323.673  2327.059  2338.205  2356.454  2364.140  2372.790
VEI  3055.835  2350.607  2332.687  2331.284  2350.230  2360.578  2368.513  2384.740  2398.223
EVI  3055.835  2352.618  2332.205  2334.749  2347.564  2357.660  2372.851  2389.064  2407.224
VVI  3055.835  2346.065  2342.366  2343.486  2351.017  2373.469  2394.696  2413.705  2432.708
EEE  2607.623  2325.220  2314.316  2331.223  2360.659  2347.352  2369.330  2376.104  2389.609
VEE  2607.623  2322.972  2322.103  2340.173  2347.337  2372.287  2371.175  2390.391  2406.732
EVE  2607.623  2324.273  2342.319  2361.821  2351.828  2366.482  2379.810  2403.934  2414.089
VVE  2607.623  2320.433  2336.271  2362.487  2368.937  2386.537  2402.220  2425.956  2448.208
EEV  2607.623  2329.115  2325.322  2351.523  2356.856  2366.087  2379.071  2392.988  2407.500
VEV  2607.623  2325.416  2329.648  2361.084  2368.101  2386.323  2401.270  2425.426  2446.726
EVV  2607.623  2327.598  2339.983  2344.686  2364.900  2384.117  2398.703  2414.962  2438.876
VVV  2607.623  2322.192  2349.696  2351.493  2379.388  2387.016  2412.440  2442.018  2460.398
"""
IRIS = """
EII 1804.0854 1123.4117  878.7650
VII 1804.0854 1012.2352  853.8144
EEI 1522.1202 1042.9679  813.0504
VEI 1522.1202  956.2823  779.1566
EVI 1522.1202 1007.3082  797.8342
VVI 1522.1202  857.5515  744.6382
EEE  829.9782  688.0972  632.9647
VEE  829.9782  656.3270  605.3982
EVV  829.9782  658.3306  656.0359
VVV  829.9782  574.0178  580.8396
"""


SIZES = [1, 2, 3, 5, 9]


def cells(text):
    """BIC by structure and number of components."""
    rows = [line.split() for line in text.strip().splitlines()]
    return {name: {k: float(bic) for k, bic in enumerate(values, 1)} for name, *values in rows}


def faithful():
    return np.loadtxt(Path(__file__).parent / "faithful.csv", delimiter=",", skiprows=1)


def spurious(fit):
    """Whether a member has fewer than d + 1 rows, or nearly no spread in some direction."""
    x = np.asarray(fit._data[0])
    unit = 1 / x.std(axis=0)
    cov = np.asarray(fit.params["cov"]) * (unit[:, None] * unit)
    return bool((fit.statistics.count < x.shape[1] + 1).any() or np.linalg.eigvalsh(cov)[:, 0].min() < 1e-6)


def test_the_data_are_those_of_r():
    x = faithful()
    np.testing.assert_allclose(x.mean(axis=0), [3.487783, 70.89706], rtol=1e-6)
    np.testing.assert_allclose(x.std(axis=0, ddof=1), [1.141371, 13.59497], rtol=1e-6)


@pytest.fixture(scope="module")
def grid():
    """All structures on the eruptions of Old Faithful, and sizes that stand for the others."""
    return sf.select(sf.MultivariateNormal(), faithful(), n_components=SIZES, structures="all", random_state=0)


def chosen(grid, n, structure):
    """The row and the fit of one candidate."""
    names = [(row["n_components"], row["structure"]) for row in grid.table]
    place = names.index((n, structure))
    return grid.table[place], grid.fits[place]


@pytest.mark.slow
def test_three_members_of_one_covariance(grid):
    row, best = chosen(grid, 3, "EEE")
    assert best.n_parameters == 11
    assert best.log_likelihood >= -1126.326236 - 1e-4
    assert best.log_likelihood == pytest.approx(-1126.326236, abs=0.02)  # mclust stops a little before
    assert best.bic <= 2314.316 + 1e-3
    assert row["icl"] == pytest.approx(2357.824, abs=0.6)  # at a point a little before the maximum


@pytest.mark.slow
def test_cells_of_faithful(grid):
    assert len(grid.table) == len(SIZES) * 14
    assert grid.best.bic <= 2314.316
    assert not spurious(grid.best)
    expected, heights = cells(FAITHFUL), grid.table.pivot("log_likelihood")
    worse = [
        (name, k, bic, expected[name][k])
        for name, row in grid.table.pivot("bic").items()
        for k, bic in row.items()
        if bic > expected[name][k] + 0.01 or (k < 3 and bic < expected[name][k] - 0.2)  # small ones have one maximum
    ]
    assert not worse
    for row in heights.values():
        assert (np.diff([row[k] for k in SIZES]) > -1e-5).all()
    ranks = [row["bic"] for row in grid.table if not row["spurious"]]
    assert ranks == sorted(ranks)


def test_iris():
    expected, names = cells(IRIS), ["VII", "EVI", "EEE", "VEV", "VVV"]
    found = sf.select(
        sf.MultivariateNormal(), load_iris().data, n_components=[1, 2, 3], structures=names, random_state=0
    )
    for name, row in found.table.pivot("bic").items():
        for k, bic in row.items() if name in expected else ():
            assert bic <= expected[name][k] + 0.01, (name, k)
            if k < 3:  # models that have one maximum worth the name
                assert bic == pytest.approx(expected[name][k], abs=0.2), (name, k)
    first = found.table[0]
    assert (first["structure"], first["n_components"], first["n_parameters"]) == ("VEV", 2, 26)
    assert first["bic"] <= 561.7286
    assert first["icl"] == pytest.approx(561.7289, abs=1e-3)
    assert first["log_likelihood"] == pytest.approx(-215.7259, abs=1e-3)
    assert not spurious(found.best)
