"""Names and options that are mistyped, or come from another library, are answered with the ones that may be meant."""

import subprocess
import sys

import numpy as np
import pytest

import suffice as sf

X = np.random.default_rng(0).normal(size=(30, 2))


@pytest.mark.parametrize(
    ("ask", "meant"),
    [
        (lambda: sf.MultivariateNormal(structure="vvv"), "got 'vvv'. Did you mean 'VVV'?"),
        (lambda: sf.select(sf.Normal(), X, n_components=2, criterion="bicc"), "got 'bicc'. Did you mean 'bic'?"),
        (
            lambda: sf.fit(sf.Mixture(sf.Normal(), 2), X, start="kmeans"),
            "'kmeans' is not known. Did you mean 'k-means++'?",
        ),
        (lambda: sf.fit(sf.Normal(), X, weigths=np.ones(30)), "no option 'weigths'. Did you mean 'weights'?"),
    ],
)
def test_a_mistyped_name_is_answered_with_the_nearest(ask, meant):
    with pytest.raises(sf.ParameterError) as raised:
        ask()
    assert meant in str(raised.value)


def test_a_mistyped_public_name_is_answered_with_the_nearest():
    with pytest.raises(AttributeError, match=r"no 'Mixtur'. Did you mean 'Mixture'\?"):
        _ = sf.Mixtur
    with pytest.raises(AttributeError, match=r"no 'quux'. dir\(suffice\) lists"):
        _ = sf.quux


@pytest.mark.parametrize("learn", [sf.fit, sf.posterior])
def test_an_option_of_other_libraries_is_translated(learn):
    with pytest.raises(TypeError, match=r"no option 'sample_weight'. Its name here is 'weights'"):
        learn(sf.Normal(), X, prior="weak", sample_weight=np.ones(30))
    with pytest.raises(sf.ArgumentError, match=r"no option 'seed'. Its name here is 'random_state'"):
        learn(sf.Normal(), X, prior="weak", seed=3)


def test_options_are_listed_in_their_order():
    code = "import suffice as sf; sf.GaussianMixture(covariance_type='ful').fit([[0.0], [1.0]])"
    for salt in ("1", "2"):
        done = subprocess.run(  # noqa: S603
            [sys.executable, "-c", code], env={"PYTHONHASHSEED": salt, "PYTHONPATH": ":".join(sys.path)},
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert "{'full', 'tied', 'diag', 'spherical', 'EII'," in done.stderr


@pytest.mark.parametrize("names", [["std"], ("std",), {"std"}, "std", iter(["std"])])
def test_fixed_and_tied_take_names_in_any_form(names):
    tied = sf.Normal(tied=names)
    assert tied.tied == frozenset({"std"})
    assert tied.tie("mean").tied == frozenset({"std", "mean"})
    assert tied == sf.Normal().tie("std")


def test_fixed_and_tied_refuse_what_is_no_name():
    with pytest.raises(sf.ParameterError, match=r"tied are names of parameters, as in Normal\(…\).tie\('…'\); got 3"):
        sf.Normal(tied=3)
    with pytest.raises(sf.ParameterError, match="fixed are names"):
        sf.Mixture(sf.Normal(), 2, fixed=[1])
    assert sf.Mixture(sf.Normal(), 2, fixed=["weights"]).fixed == frozenset({"weights"})


# ---- grammar ---------------------------------------------------------------------------------------------------------
def test_one_is_singular_and_several_are_plural():
    few = sf.fit(sf.Mixture(sf.Normal(), 5), np.ones(3), random_state=0)
    assert "only 1 distinct row:" in dict(few.alerts)["few rows"]
    lonely = sf.fit(sf.Mixture(sf.Normal(), 3), [1.0, 2, 3, 4, 5, 6, 60], random_state=0)
    assert "(1 row) shrank" in dict(lonely.alerts)["collapsed"]
    wide = sf.fit(sf.Mixture(sf.MultivariateNormal(structure="diag"), 2), np.c_[X, np.ones((30, 2))], random_state=0)
    assert dict(wide.alerts)["constant"] == "columns 2, 3 are constant: they tell no component from another. Drop them."
    flat = sf.fit(sf.Mixture(sf.MultivariateNormal(structure="diag"), 2), np.c_[X, np.ones(30)], random_state=0)
    assert dict(flat.alerts)["constant"] == "column 2 is constant: it tells no component from another. Drop it."
    one = sf.fit(sf.MultivariateNormal(), X).predict(1, given={0: [0.5]})
    assert repr(one).startswith("Prediction(1, 1 row: ")
