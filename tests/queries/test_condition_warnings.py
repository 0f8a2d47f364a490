"""Questions about values that the model hardly ever expects are answered with a warning."""

import warnings

import numpy as np
import pytest

import suffice as sf
from suffice.errors import SufficeWarning

rng = np.random.default_rng(0)
TEMP = rng.normal(78.0, 9.0, 150)
DATA = {"Temp": TEMP, "Ozone": 2.0 * TEMP - 100 + rng.normal(size=150), "Wind": rng.gamma(9.0, 1.1, 150)}


@pytest.fixture(scope="module")
def fit():
    return sf.fit(sf.Product({("Temp", "Ozone"): sf.MultivariateNormal(), "Wind": sf.Gamma()}), DATA)


def test_a_value_far_out_is_named_with_the_ordinary_range(fit):
    with pytest.warns(SufficeWarning, match=r"Temp = 900 is far .* 99.9 % of its values lie between 50.18 and 107"):
        fit.given(Temp=900)
    with pytest.warns(SufficeWarning, match="Temp = −50 is far"):
        fit.given(Temp=-50)


def test_predictions_of_one_row_and_of_many_say_it_too(fit):
    with pytest.warns(SufficeWarning, match="Temp = 900"):
        fit.predict("Ozone", given={"Temp": 900.0})
    with pytest.warns(SufficeWarning, match="Temp = 900"):
        fit.predict("Ozone", given={"Temp": [70.0, 900.0, 80.0]})


def test_a_mixture_asked_for_its_component_says_it():
    found = sf.fit(sf.Mixture(sf.Normal(), 2), np.r_[TEMP, TEMP + 100], random_state=0)
    mixture = found.distribution
    with pytest.warns(SufficeWarning, match="9000"):
        mixture.predict("component", given={0: 9000.0})


def test_ordinary_values_are_taken_without_a_word(fit):
    angle = sf.Product({"angle": sf.VonMises(0.0, 50.0), "wait": sf.Exponential(2.0), "n": sf.Poisson(3.0)})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fit.given(Temp=100)
        fit.given(Temp=None, Wind=9.0)
        angle.given(angle=2 * np.pi, n=0)  # the same angle as 0
        angle.given(wait=1e-9)  # where the density is highest
    with pytest.warns(SufficeWarning, match="n = 40"):
        angle.given(n=40)
