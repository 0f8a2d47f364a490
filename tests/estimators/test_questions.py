"""Estimators answer questions through the distribution that they learned."""

import numpy as np
import pandas as pd
import pytest
from palmerpenguins import load_penguins
from sklearn.base import clone

import suffice as sf

COMPLETE = load_penguins().dropna().reset_index(drop=True)
NUMBERS = ["bill_length_mm", "bill_depth_mm", "flipper_length_mm", "body_mass_g"]
X, Y = COMPLETE[NUMBERS], COMPLETE["species"]


def with_holes(frame, seed=0):
    holes = np.random.default_rng(seed).random(frame.shape) < 0.2
    return frame.mask(holes)


@pytest.mark.parametrize("model", [sf.Density(), sf.MixtureModel(n_components=3, random_state=0)])
def test_densities_and_mixtures_answer_by_the_names_of_the_frame(model):
    fitted = clone(model).fit(X)
    assert fitted.fit_.names == tuple(NUMBERS)
    holed = with_holes(X)
    pd.testing.assert_frame_equal(fitted.impute(holed), fitted.fit_.impute(holed))
    assert fitted.given(bill_length_mm=40.0).column_names == tuple(NUMBERS[1:])
    np.testing.assert_array_equal(fitted.surprisal(holed).rows, fitted.fit_.surprisal(holed).rows)
    by_place = clone(model).fit(X.to_numpy())
    np.testing.assert_allclose(by_place.impute(holed.to_numpy()), fitted.impute(holed).to_numpy(), rtol=1e-12)


def test_classifiers_condition_on_columns_and_classes():
    for model in (sf.NaiveBayes(), sf.NaiveBayes(joint=True), sf.BayesClassifier(sf.MultivariateNormal())):
        fitted = model.fit(X, Y)
        told = fitted.given(bill_length_mm=45.0, bill_depth_mm=15.0, flipper_length_mm=210.0)
        row = pd.DataFrame([[45.0, 15.0, 210.0, np.nan]], columns=NUMBERS)
        shares = fitted.distribution_.predict_proba(row if fitted.distribution_.column_names else row.to_numpy())
        np.testing.assert_allclose(told.weights, shares[0], rtol=1e-9, atol=1e-300)
        filled = fitted.impute(row)
        assert filled["body_mass_g"][0] == pytest.approx(told.marginal("body_mass_g").mean, rel=1e-12)
        whole = fitted.with_class_column("species")
        assert whole.column_names[-1] == "species"
        expected = fitted.predict_proba(X)
        found = whole.predict("species", given=X)
        np.testing.assert_array_equal(found.value, fitted.predict(X))
        for j, label in enumerate(fitted.classes_):
            np.testing.assert_allclose(found.probabilities[label], expected[:, j], rtol=1e-8, atol=1e-12)
        only = whole.given(species="Gentoo").marginal("body_mass_g")
        gentoo = COMPLETE["body_mass_g"][Y == "Gentoo"]
        assert only.mean == pytest.approx(gentoo.mean(), rel=1e-6)
        with pytest.raises(sf.ParameterError, match="another name"):
            fitted.with_class_column("body_mass_g")


def test_a_classifier_of_mixtures_and_rows_without_names_is_asked_too():
    rows = X.to_numpy()[:, :2]
    fitted = sf.BayesClassifier(sf.Mixture(sf.MultivariateNormal(), 2), random_state=0).fit(rows, Y)
    whole = fitted.with_class_column()
    assert whole.column_names == (0, 1, "class")
    drawn = whole.sample(50, random_state=0)
    assert set(drawn["class"]) <= set(fitted.classes_)
    found = whole.predict("class", given={0: 40.0, 1: 18.0})
    assert found.probabilities["Adelie"] == pytest.approx(fitted.predict_proba([[40.0, 18.0]])[0, 0], rel=1e-9)
    named = sf.NaiveBayes().fit(rows, Y)
    holed = rows.copy()
    holed[0, 1] = np.nan
    assert named.impute(holed).shape == rows.shape
    assert not np.isnan(named.impute(holed)).any()
