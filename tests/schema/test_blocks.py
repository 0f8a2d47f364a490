"""Like columns are one block: nothing changes but the time it takes."""

import numpy as np
import pytest

import suffice as sf

RNG = np.random.default_rng(5)
N = 80
NAMES = ("a", "b", "c")
FAMILIES = {
    "Normal": (sf.Normal(), RNG.normal(3, 2, (N, 3)), sf.NormalInverseGamma(0, 1, 2, 2)),
    "Bernoulli": (sf.Bernoulli(), RNG.integers(0, 2, (N, 3)).astype(float), sf.Beta(2, 3)),
    "Poisson": (sf.Poisson(), RNG.poisson(3, (N, 3)).astype(float), sf.Gamma(2, 1)),
    "Gamma": (sf.Gamma(), RNG.gamma(2, 1, (N, 3)), None),
    "StudentT": (sf.StudentT(df=4.0).fix("df"), RNG.standard_t(4, (N, 3)), None),
    "Categorical": (sf.Categorical(), None, sf.Dirichlet([2.0])),
}


def columns(kind):
    rows = FAMILIES[kind][1]
    if kind == "Categorical":
        rows = np.column_stack([RNG.choice(list(levels), N) for levels in ("abcde", "xy", "pqr")]).astype(object)
        rows[4, 1] = None
    else:
        rows = rows.copy()
        rows[4, 1] = np.nan
    return dict(zip(NAMES, rows.T, strict=True))


@pytest.mark.parametrize("kind", FAMILIES)
def test_a_block_is_its_columns(kind):
    family, _, prior = FAMILIES[kind]
    data = columns(kind)
    block, each = sf.Product({NAMES: family}), sf.Product(dict.fromkeys(NAMES, family))
    for given in (None, *([] if prior is None else [dict.fromkeys(NAMES, prior)])):
        one, three = sf.fit(block, data, prior=given), sf.fit(each, data, prior=given)
        assert one.log_likelihood == pytest.approx(three.log_likelihood, rel=1e-9)
        assert one.log_posterior == pytest.approx(three.log_posterior, rel=1e-9)
        assert (one.n_parameters, one.missing) == (three.n_parameters, three.missing)
        np.testing.assert_allclose(one.log_prob(data), three.log_prob(data), rtol=1e-6, atol=1e-9)
        for column in NAMES:
            assert set(one.params[column]) == set(three.params[column])
            for name, value in three.params[column].items():
                wide = np.asarray(one.params[column][name])
                np.testing.assert_allclose(wide[: np.size(value)] if wide.ndim else wide, value, rtol=1e-5)
            for name, error in three.standard_errors[column].items():
                wide = np.asarray(one.standard_errors[column][name])
                np.testing.assert_allclose(wide[: np.size(error)] if wide.ndim else wide, error, rtol=1e-3, atol=1e-12)
            assert one.distribution.marginal(column).log_prob(data[column]).sum() == pytest.approx(
                three.distribution.marginal(column).log_prob(data[column]).sum(), rel=1e-6
            )
        assert set(one.sample(3, random_state=0)) == set(NAMES)


@pytest.mark.parametrize("kind", FAMILIES)
def test_a_mixture_of_blocks_is_one_of_columns(kind):
    family, data = FAMILIES[kind][0], columns(kind)
    codes = sf.OneHot(np.arange(N) % 3, 3)
    block, each = sf.Product({NAMES: family}), sf.Product(dict.fromkeys(NAMES, family))
    if not block.exact:
        return
    one, three = (p.estimate(p.suffstats(data, codes)) for p in (block, each))
    np.testing.assert_allclose(one.log_prob(data), three.log_prob(data), rtol=1e-9)
    log_weights = np.log([0.5, 0.3, 0.2])
    first, second = (model.e_step(model.preprocess(model.read(data)), log_weights) for model in (one, three))
    assert first.log_likelihood == pytest.approx(second.log_likelihood, rel=1e-10)
    assert first.entropy == pytest.approx(second.entropy, rel=1e-8)
    np.testing.assert_allclose(
        block.estimate(first.statistics).log_prob(data), each.estimate(second.statistics).log_prob(data), rtol=1e-8
    )


def test_answers_by_column():
    data = {name: RNG.normal(i, 1, 50) for i, name in enumerate(NAMES)}
    fit = sf.fit(sf.Mixture(sf.Product({NAMES: sf.Normal()}), 2), data, random_state=0)
    np.testing.assert_array_equal(fit.params["b"]["mean"], fit.params[NAMES]["mean"][:, 1])
    np.testing.assert_array_equal(fit.standard_errors["c"]["std"], fit.standard_errors[NAMES]["std"][:, 2])
    assert fit.params["weights"].shape == (2,)
    low, high = sf.fit(sf.Product({NAMES: sf.Normal()}), data).interval()["b"]["mean"]
    assert low < 1 < high
    assert "b: mean" in fit.summary(errors=True)
    assert fit.distribution.components.blocks["b"].batch == (2, 1)
    post = sf.posterior(sf.Product({NAMES: sf.Normal()}), data, prior="weak")
    assert post.mean["b"]["mean"] == pytest.approx(post.mean[NAMES]["mean"][1])
    with pytest.raises(KeyError):
        fit.params["d"]
    pair = sf.fit(sf.Product({("a", "b"): sf.MultivariateNormal()}), data)
    with pytest.raises(KeyError, match="together"):
        pair.params["a"]
    assert pair.distribution.blocks["a"] == pair.distribution.marginal("a")


def test_priors_by_column():
    data = {name: RNG.integers(0, 2, 30) for name in NAMES}
    block = sf.Product({NAMES: sf.Bernoulli()})
    priors = {"a": sf.Beta(2, 2), "b": sf.Beta(3, 1), "c": sf.Beta(1, 5)}
    fit = sf.fit(block, data, prior=priors)
    for name, prior in priors.items():
        assert fit.params[name]["p"] == pytest.approx(sf.fit(sf.Bernoulli(), data[name], prior=prior).distribution.p)
    with pytest.raises(sf.ParameterError, match=r"'a', 'b', 'c' are one block.*got Beta.*, none, none"):
        sf.fit(block, data, prior={"a": sf.Beta(2, 2)})
    with pytest.raises(sf.ParameterError, match="speaks of 'd'"):
        sf.fit(block, data, prior={"d": sf.Beta(2, 2)})
    labels = {"u": list("aabc"), "v": list("xyxy")}
    words = sf.Product({("u", "v"): sf.Categorical()})
    given = {"u": sf.Dirichlet([2.0, 3.0, 4.0]), "v": sf.Dirichlet([5.0, 2.0])}
    learned = sf.fit(words, labels, prior=given).params["v"]["probs"]
    assert learned[:2] == pytest.approx(sf.fit(sf.Categorical(), labels["v"], prior=given["v"]).distribution.probs)
    assert learned[2] == 0  # padding


def test_labels_of_different_kinds_share_a_block():
    data = {"u": ["a", "b", None, "a"], "v": [True, False, True, None], "w": [1, 2, 3, 3]}
    fit = sf.fit(sf.Product({("u", "v", "w"): sf.Categorical()}), data)
    assert fit.distribution.blocks["u"].levels == (
        "a",
        "b",
    )
    assert fit.distribution.blocks["v"].levels == (False, True)
    assert fit.distribution.blocks["w"].levels == (1, 2, 3)
    assert fit.n_parameters == 4
    (line,) = (line for line in str(fit).splitlines() if line.startswith("  v "))
    error = fit.standard_errors["v"]["probs"][1]
    assert f"True {2 / 3:.2f} ± {error:.2f}" in line
    assert "probs[" not in str(fit)


def test_a_column_that_nobody_filled_is_named():
    fit = sf.fit(sf.Product({("a", "b"): sf.Normal()}), {"a": [1.0, 2.0], "b": [np.nan, np.nan]})
    assert "column b has no value" in dict(fit.alerts)["unseen"]
