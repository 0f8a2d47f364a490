"""Any distribution as a density of scikit-learn."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import load_iris
from sklearn.model_selection import cross_val_score

import suffice as sf

X, _ = load_iris(return_X_y=True)


@pytest.mark.parametrize("prototype", [None, sf.Normal(), sf.StudentT(), sf.Mixture(sf.Normal(), 3)])
def test_it_is_the_fit(prototype):
    model = sf.Density(prototype, random_state=0).fit(X)
    fit = model.fit_
    assert_allclose(model.score_samples(X).sum(), fit.log_likelihood, rtol=1e-9)
    assert_allclose([model.bic(X), model.aic(X)], [fit.bic, fit.aic], rtol=1e-9)
    assert_allclose(model.score(X), fit.log_likelihood / len(X), rtol=1e-9)
    assert np.shape(model.sample(7)) == (7, 4)


def test_parts_add_up_to_the_whole():
    whole = sf.Density().fit(X, sample_weight=np.arange(150.0))
    parts = sf.Density()
    for rows in np.array_split(np.arange(150), 4):
        parts.partial_fit(X[rows], sample_weight=np.arange(150.0)[rows])
    assert_allclose(parts.distribution_.cov, whole.distribution_.cov, rtol=1e-12)
    assert not hasattr(sf.Density(sf.StudentT()), "partial_fit")


def test_a_better_family_scores_better_on_fresh_rows():
    rng = np.random.default_rng(0)
    heavy = rng.standard_t(2, size=(2000, 1))
    normal, student = (cross_val_score(sf.Density(one), heavy).mean() for one in (sf.Normal(), sf.StudentT()))
    assert student > normal + 0.1


def test_columns_by_name():
    rows = {"size": [1.0, 2.0, 4.0], "colour": ["red", "red", "blue"]}
    prototype = sf.Product({"size": sf.Normal(), "colour": sf.Categorical()})
    model = sf.Density(prototype).fit(rows)
    assert_allclose(model.score_samples(rows), sf.fit(prototype, rows).log_prob(rows))
    assert set(model.sample(3)) == {"size", "colour"}
