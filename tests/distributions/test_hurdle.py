"""Families with many zeros: what no law of the registry says of them."""

import numpy as np
import pytest
from scipy import optimize, stats

import suffice as sf

RNG = np.random.default_rng(2)
BASES = [sf.Normal(), sf.LogNormal(), sf.Gamma(), sf.Poisson(), sf.NegativeBinomial()]


def drawn(base, n=300):
    others = {
        "Normal": RNG.normal(2, 3, n),
        "LogNormal": RNG.lognormal(1, 0.5, n),
        "Gamma": RNG.gamma(2, 3, n),
        "Poisson": 1.0 + RNG.poisson(2.0, n),
        "NegativeBinomial": 1.0 + RNG.negative_binomial(2.0, 0.3, n),
    }
    return np.where(RNG.random(n) < 0.4, 0.0, others[base.name])


@pytest.mark.parametrize("base", BASES, ids=lambda one: one.name)
def test_zeros_and_the_others_are_estimated_apart(base):
    x = drawn(base)
    fit = sf.fit(sf.Hurdle(base), x)
    assert fit.distribution.zero == pytest.approx(np.mean(x == 0), rel=1e-12)
    if not base.discrete:
        alone = sf.fit(base, x[x != 0])
        shares = stats.bernoulli(fit.distribution.zero).logpmf(x == 0).sum()
        assert fit.log_likelihood == pytest.approx(alone.log_likelihood + shares, rel=1e-12)
        for ours, theirs in zip(
            fit.distribution.nonzero.params.values(), alone.distribution.params.values(), strict=True
        ):
            assert ours == pytest.approx(theirs, rel=1e-14)  # sums of the same numbers, in another order


def test_the_zero_inflated_poisson_is_found():
    """Where zeros are in excess, the estimates are those of scipy's maximum of the zero-inflated likelihood."""
    x = np.where(RNG.random(500) < 0.3, 0, RNG.poisson(2.5, 500))

    def loss(theta):
        extra, rate = 1 / (1 + np.exp(-theta[0])), np.exp(theta[1])
        p = (1 - extra) * stats.poisson(rate).pmf(x) + extra * (x == 0)
        return -np.log(p).sum()

    best = optimize.minimize(loss, [0.0, 0.0], method="Nelder-Mead", options={"xatol": 1e-10, "fatol": 1e-10})
    fit = sf.fit(sf.Hurdle(sf.Poisson()), x)
    assert fit.log_likelihood == pytest.approx(-best.fun, abs=1e-6)
    assert fit.distribution.rate == pytest.approx(np.exp(best.x[1]), rel=1e-5)


# ---- counts that vary more than those of a Poisson -------------------------------------------------------------------
def log_pmf_of_scipy(x, zero, size, p):
    """Log probabilities of a hurdle over a NegativeBinomial that is not zero."""
    with np.errstate(divide="ignore"):
        others = np.log1p(-zero) + stats.nbinom(size, p).logpmf(x) - np.log(-np.expm1(size * np.log(p)))
        return np.where(x == 0, np.log(zero), others)


@pytest.mark.parametrize(
    ("zero", "size", "p"), [(0.3, 2.5, 0.2), (0.9, 0.05, 0.1), (0.01, 40.0, 0.9), (0.5, 3.0, 1e-3)]
)
def test_counts_are_those_of_scipy(zero, size, p):
    model, x = sf.HurdleNegativeBinomial(zero, size, p), np.arange(0.0, 400.0)
    expected = log_pmf_of_scipy(x, zero, size, p)
    np.testing.assert_allclose(model.log_prob(x), expected, rtol=1e-10)
    np.testing.assert_allclose(model.cdf(x), np.cumsum(np.exp(expected)), rtol=1e-9)
    far = np.arange(60_000.0)
    weights = np.exp(log_pmf_of_scipy(far, zero, size, p))
    assert model.mean == pytest.approx(weights @ far, rel=1e-9)
    assert model.var == pytest.approx(weights @ np.square(far - model.mean), rel=1e-9)
    assert model.entropy() == pytest.approx(-weights @ log_pmf_of_scipy(far, zero, size, p), rel=1e-8)


@pytest.mark.parametrize(("size", "p"), [(3.0, 0.3), (0.5, 0.2), (0.08, 0.1), (5.0, 1e-3)])
def test_size_and_p_are_those_of_scipys_maximum(size, p):
    rng = np.random.default_rng(0)
    x = np.where(rng.random(1500) < 0.3, 0, rng.negative_binomial(size, p, 1500))
    zero = np.mean(x == 0)

    def loss(theta):
        return -log_pmf_of_scipy(x, zero, np.exp(theta[0]), 1 / (1 + np.exp(-theta[1]))).sum()

    begin = [np.log(size), np.log(p / (1 - p))]
    best = optimize.minimize(loss, begin, method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-9})
    fit = sf.fit(sf.Hurdle(sf.NegativeBinomial()), x)
    assert fit.converged
    assert fit.log_likelihood == pytest.approx(-best.fun, abs=1e-6)
    assert fit.distribution.size == pytest.approx(np.exp(best.x[0]), rel=1e-4)
    assert fit.distribution.p == pytest.approx(1 / (1 + np.exp(-best.x[1])), rel=1e-4)


def test_standard_errors_of_size_and_p_are_those_of_the_curvature():
    x = drawn(sf.NegativeBinomial(), 800)
    fit = sf.fit(sf.Hurdle(sf.NegativeBinomial()), x)
    at, h = np.array(list(fit.params.values())), 1e-4

    def value(i, j, a, b):
        moved = at.copy()
        moved[i] += a * h
        moved[j] += b * h
        return log_pmf_of_scipy(x, *moved).sum()

    signs = [(a, b) for a in (1, -1) for b in (1, -1)]
    bend = (
        np.array([[sum(a * b * value(i, j, a, b) for a, b in signs) for j in range(3)] for i in range(3)])
        / (2 * h) ** 2
    )
    errors = np.sqrt(np.diag(np.linalg.inv(-bend)))
    np.testing.assert_allclose(list(fit.standard_errors.values()), errors, rtol=1e-3)


@pytest.mark.parametrize(
    ("x", "words"),
    [
        ([0, 0, 5, 5, 4, 6, 5], "towards a Poisson"),
        ([0, *np.repeat([1, 2, 3, 40], [60, 9, 4, 3])], "logarithmic series"),
        ([0, 1, 1, 1], "tell nothing of size"),
    ],
)
def test_a_size_at_its_limit_is_reported(x, words):
    fit = sf.fit(sf.Hurdle(sf.NegativeBinomial()), x)
    assert fit.converged
    assert any(code == "boundary" and words in text for code, text in fit.alerts)
    if words == "towards a Poisson":
        poisson = sf.fit(sf.Hurdle(sf.Poisson()), x)
        assert fit.log_likelihood == pytest.approx(poisson.log_likelihood, abs=1e-4)
        assert fit.distribution.mean == pytest.approx(poisson.distribution.mean, rel=1e-6)


def test_with_p_of_1_all_counts_but_zeros_are_1():
    model = sf.HurdleNegativeBinomial(0.25, size=3.0, p=1.0)
    np.testing.assert_allclose(np.exp(model.log_prob([0, 1, 2])), [0.25, 0.75, 0.0], atol=1e-12)
    assert model.mean == pytest.approx(0.75)
    assert set(model.sample(50, random_state=0)) == {0.0, 1.0}
    assert sf.fit(model.fix("p"), [0, 1, 1, 1]).distribution.p == 1.0


def test_a_class_of_zeros_alone_has_the_counts_of_the_largest_class():
    x = np.r_[RNG.negative_binomial(4, 0.2, 60), 1 + RNG.poisson(2.0, 20), np.zeros(9)]
    label = np.repeat(["many", "few", "never"], [60, 20, 9])
    model = sf.NaiveBayes({"calls": sf.Hurdle(sf.NegativeBinomial())}).fit({"calls": x}, label)
    sure = model.predict_proba({"calls": np.array([0.0, 16.0])})
    assert np.isfinite(sure).all()
    assert list(model.classes_[sure.argmax(axis=1)]) == ["never", "many"]
    weights = (label[:, None] == ["many", "few", "never"]).astype(float)
    begun = sf.Hurdle(sf.NegativeBinomial()).start(x, weights)
    stack = begun.estimate(begun.suffstats(x, weights))
    assert stack.size[2] == stack.size[0] != begun.size[2]
    assert stack.p[2] == stack.p[0] != begun.p[2]


@pytest.mark.parametrize("base", BASES, ids=lambda one: one.name)
def test_components_of_a_mixture_with_holes(base):
    rows = np.column_stack([drawn(base, 400), drawn(base, 400)])
    rows[RNG.random(rows.shape) < 0.2] = np.nan
    far = RNG.integers(0, 2, 400)
    rows = np.where(rows == 0, 0.0, rows * (1 + 9 * far[:, None]))
    rows = np.round(rows) if base.discrete else rows
    for prior in (None, "weak"):
        fit = sf.fit(sf.Mixture(sf.Hurdle(base), 2), rows, random_state=0, prior=prior)
        assert fit.converged
        assert (np.diff(fit.trace.log_likelihood) > -1e-6).all() or prior
        assert fit.distribution.components.zero.shape == (2, 2)
        assert fit.log_likelihood == pytest.approx(fit.log_prob(rows).sum(), rel=1e-9)


def test_a_class_without_zeros_can_have_one():
    """The weak prior is about the probability of zero, too; what a class has not seen it shares with the others."""
    spent = np.r_[RNG.lognormal(3, 1, 40), np.zeros(30), RNG.lognormal(3, 1, 30), np.zeros(9)]
    label = np.repeat(["pays", "sometimes", "never"], [40, 60, 9])
    model = sf.NaiveBayes({"spent": sf.Hurdle(sf.LogNormal())}).fit({"spent": spent}, label)
    sure = model.predict_proba({"spent": np.array([0.0, 20.0])})
    assert np.isfinite(sure).all()
    assert (sure > 0).all()
    assert list(model.classes_[sure.argmax(axis=1)]) == ["sometimes", "pays"]


def test_what_hurdle_takes():
    made = sf.Hurdle(sf.Normal(1.0, 2.0).fix("std"), zero=0.2)
    assert made == sf.HurdleNormal(0.2, 1.0, 2.0).fix("scale")
    assert sf.fit(made, [0.0, 3.0, 5.0]).distribution.scale == 2.0
    counts = sf.Hurdle(sf.NegativeBinomial(3.0, 0.2).fix("size"), zero=0.2)
    assert counts == sf.HurdleNegativeBinomial(0.2, 3.0, 0.2).fix("size")
    with pytest.raises(sf.ParameterError, match=r"Normal, LogNormal, Gamma, Poisson, NegativeBinomial.*Bernoulli"):
        sf.Hurdle(sf.Bernoulli())
    with pytest.raises(sf.DataError, match="at least 0, but row 1 has -1"):
        sf.fit(sf.Hurdle(sf.Gamma()), [1.0, -1.0])


def test_only_zeros_and_no_zeros_at_all():
    none = sf.fit(sf.Hurdle(sf.Gamma()), [1.0, 2.0, 3.0])
    assert none.distribution.zero == 0
    assert np.isneginf(none.distribution.log_prob(0.0))
    assert any(code == "boundary" for code, _ in none.alerts)
    only = sf.fit(sf.Hurdle(sf.Gamma()), [0.0, 0.0])
    assert only.log_likelihood == 0
    assert only.distribution.mean == 0


# ---- the weak prior --------------------------------------------------------------------------------------------------
BASES = [sf.Normal(), sf.LogNormal(), sf.Gamma(), sf.Poisson(), sf.NegativeBinomial()]


def amounts(base, n, rng):
    """Values of the base without zeros, and about 30 zeros in 100."""
    values = sf.Hurdle(base, 0.3).sample(n, random_state=rng)
    return np.where((values == 0) & (rng.random(n) < 0.2), 0.0, values)


@pytest.mark.parametrize("base", BASES, ids=repr)
def test_the_weak_prior_of_a_hurdle_moves_ordinary_estimates_by_a_part_of_their_error(base):
    rng = np.random.default_rng(8)
    truth = {"Normal": sf.Normal(4.0, 1.5), "LogNormal": sf.LogNormal(1.0, 0.7), "Gamma": sf.Gamma(3.0, 0.5)}
    truth["NegativeBinomial"] = sf.NegativeBinomial(3.0, 0.3)
    x = amounts(truth.get(base.name, sf.Poisson(2.5)), 600, rng)
    plain, weak = (sf.fit(sf.Hurdle(base), x, prior=prior) for prior in (None, "weak"))
    for name, value in plain.params.items():
        assert abs(weak.params[name] - value) <= 0.1 * plain.standard_errors[name], name
    assert set(weak.prior) == {"zero", "others"}


@pytest.mark.parametrize("base", BASES, ids=repr)
def test_the_estimate_under_the_weak_prior_is_the_mode(base):
    truth = {"Gamma": sf.Gamma(3.0, 0.5), "NegativeBinomial": sf.NegativeBinomial(2.0, 0.2)}
    x = amounts(truth.get(base.name, sf.Poisson(2.5)), 12, np.random.default_rng(3))
    x = np.abs(x) + 0.25 * (x != 0) if base.name in {"LogNormal", "Gamma"} else x
    fit = sf.fit(sf.Hurdle(base), x, prior="weak")

    def objective(params):
        one = type(fit.distribution)(**params)
        return float(one.log_prob(x).sum() + np.sum(one.log_prior(fit.prior)))

    best = objective(fit.params)
    assert best == pytest.approx(fit.log_posterior, abs=1e-6)
    for name, value in fit.params.items():
        for factor in (0.98, 1.02):
            assert objective({**fit.params, name: value * factor}) < best


@pytest.mark.parametrize("base", [sf.LogNormal(), sf.Gamma()], ids=repr)
def test_under_the_weak_prior_amounts_that_repeat_are_no_component_of_width_zero(base):
    rng = np.random.default_rng(1)
    x = np.r_[np.zeros(40), rng.lognormal(2, 0.6, 100), np.full(25, 9.0)]
    bare = sf.fit(sf.Mixture(sf.Hurdle(base), 2), x, random_state=0)
    held = sf.fit(sf.Mixture(sf.Hurdle(base), 2), x, random_state=0, prior="weak")
    assert "collapsed" in dict(bare.alerts)
    assert "collapsed" not in dict(held.alerts)
    assert (np.diff(held.trace.objective) >= -1e-9 * abs(held.trace.objective[-1])).all()


def test_fits_under_the_weak_prior_come_back_from_a_file(tmp_path):
    x = amounts(sf.Gamma(3.0, 0.5), 60, np.random.default_rng(3))
    fit = sf.fit(sf.Mixture(sf.Hurdle(sf.Gamma()), 2), x, random_state=0, prior="weak")
    sf.save(fit, tmp_path / "m.json")
    again = sf.load(tmp_path / "m.json")
    assert again.distribution == fit.distribution
    assert again.log_posterior == fit.log_posterior
