"""Variational Bayes: the bound never falls, is a bound, is exact for one component; superfluous components empty."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import pytest
from scipy import special

import suffice as sf
from suffice.errors import ParameterError, UnsupportedError

N = 120


def _made() -> dict[str, Any]:
    rng = np.random.default_rng(5)
    half = np.arange(N) < N // 2
    normal = np.where(half, rng.normal(-2, 1, N), rng.normal(3, 2, N))
    pairs = np.where(half[:, None], rng.normal(0, 1, (N, 2)), rng.normal(4, 1.5, (N, 2)))
    totals = rng.integers(1, 9, N)
    multinomial = np.array(
        [rng.multinomial(t, [0.7, 0.2, 0.1] if h else [0.1, 0.3, 0.6]) for t, h in zip(totals, half, strict=True)]
    )
    labels = np.array(["a", "b", "c"], dtype=object)
    shown = labels[np.where(half[:, None], rng.choice(3, (N, 4), p=[0.8, 0.1, 0.1]), rng.integers(0, 3, (N, 4)))]
    return {
        "normal": normal,
        "pairs": pairs,
        "multinomial": multinomial,
        "labels": shown,
        "yes": (rng.random((N, 5)) < np.where(half, 0.2, 0.8)[:, None]).astype(float),
        "successes": rng.binomial(10, np.where(half, 0.2, 0.7)),
        "trials": rng.geometric(np.where(half, 0.7, 0.1)),
        "counts": rng.poisson(np.where(half, 2.0, 15.0)).astype(float),
        "times": rng.exponential(np.where(half, 1.0, 20.0)),
    }


DATA = _made()


@dataclass(frozen=True)
class Case:
    """A conjugate pair with rows."""

    prototype: Any
    prior: Any
    rows: Any


CASES = {
    "normal": Case(sf.Normal(), sf.NormalInverseGamma(0.5, 0.3, 1.2, 2.0), DATA["normal"]),
    "normal columns": Case(sf.Normal(), sf.NormalInverseGamma(0.5, 0.3, 1.2, 2.0), DATA["pairs"]),
    "normal known std": Case(sf.Normal(std=1.5).fix("std"), sf.NormalPrior(0.3, 4.0), DATA["normal"]),
    "bernoulli": Case(sf.Bernoulli(), sf.Beta(0.7, 1.3), DATA["yes"]),
    "binomial": Case(sf.Binomial(10), sf.Beta(0.7, 1.3), DATA["successes"]),
    "geometric": Case(sf.Geometric(), sf.Beta(0.7, 1.3), DATA["trials"]),
    "poisson": Case(sf.Poisson(), sf.Gamma(0.8, 0.4), DATA["counts"]),
    "exponential": Case(sf.Exponential(), sf.Gamma(0.8, 0.4), DATA["times"]),
    "categorical": Case(sf.Categorical(), sf.Dirichlet([0.6]), DATA["labels"]),
    "multinomial": Case(sf.Multinomial(), sf.Dirichlet([0.6, 1.0, 1.4]), DATA["multinomial"]),
    "multivariate": Case(
        sf.MultivariateNormal(), sf.NormalInverseWishart([0.5, 0.1], 0.3, 3.5, [[2.0, 0.4], [0.4, 1.0]]), DATA["pairs"]
    ),
    "product": Case(
        sf.Product({"x": sf.Normal(), "n": sf.Poisson(), ("u", "v"): sf.MultivariateNormal(), "c": sf.Categorical()}),
        {
            "x": sf.NormalInverseGamma(0.5, 0.3, 1.2, 2.0),
            "n": sf.Gamma(0.8, 0.4),
            ("u", "v"): sf.NormalInverseWishart([0.5, 0.1], 0.3, 3.5, np.eye(2)),
            "c": sf.Dirichlet([0.6]),
        },
        {
            "x": DATA["normal"],
            "n": DATA["counts"],
            "u": DATA["pairs"][:, 0],
            "v": DATA["pairs"][:, 1],
            "c": DATA["labels"][:, 0],
        },
    ),
}
WITH_HOLES = ("normal", "normal columns", "bernoulli", "poisson", "categorical", "product")


def _with_holes(rows: Any, seed: int = 1) -> Any:
    """The rows with a fifth of their cells missing."""
    if isinstance(rows, dict):
        return {name: _with_holes(rows[name], i) if name not in "uv" else rows[name] for i, name in enumerate(rows)}
    rows = np.array(rows, dtype=object if np.asarray(rows).dtype == object else float)
    rows[np.random.default_rng(seed).random(rows.shape) < 0.2] = None if rows.dtype == object else np.nan
    return rows


def _runs(objective: Any) -> None:
    steps = np.diff(objective)
    assert len(steps) > 2
    assert steps.max() > 0
    assert (steps >= -1e-9 * (1 + np.abs(objective[1:]))).all()


@pytest.mark.parametrize("accelerate", [False, True])
@pytest.mark.parametrize("name", CASES)
def test_the_bound_never_falls(name: str, accelerate: Any, monkeypatch: Any) -> None:
    monkeypatch.setenv("SUFFICE_STRICT", "1")
    case = CASES[name]
    weights = np.random.default_rng(2).random(N)
    for rows in [case.rows] + [_with_holes(case.rows)] * (name in (*WITH_HOLES, "multivariate")):
        post = sf.posterior(
            sf.Mixture(case.prototype, 3),
            rows,
            prior={"weights": sf.Dirichlet([0.5]), "components": case.prior},
            weights=weights,
            start=np.random.default_rng(3).dirichlet(np.ones(3), N),
            accelerate=accelerate,
            max_iter=60,
        )
        _runs(post.trace.objective)
        np.testing.assert_allclose(post.trace.bound, post.trace.objective, rtol=1e-11)
        assert post.log_evidence == post.trace.objective[-1]


@pytest.mark.parametrize("name", CASES)
def test_one_component_has_the_exact_evidence_and_belief(name: str) -> None:
    case = CASES[name]
    weights = np.random.default_rng(2).random(N)
    for rows in [case.rows] + [_with_holes(case.rows)] * (name in WITH_HOLES):
        exact = sf.posterior(case.prototype, rows, prior=case.prior, weights=weights)
        post = sf.posterior(sf.Mixture(case.prototype, 1), rows, prior={"components": case.prior}, weights=weights)
        assert post.log_evidence == pytest.approx(exact.log_evidence, rel=1e-10)
        assert post.weights == pytest.approx([1.0])
        scored = post.predictive().log_prob(case.rows)
        np.testing.assert_allclose(scored, exact.predictive().log_prob(case.rows), rtol=1e-9)


BELIEFS = {
    "normal": (sf.Normal(), sf.NormalInverseGamma(0.5, 0.7, 2.2, 2.0), [-1.0, 0.3, 4.0]),
    "known std": (sf.Normal(std=1.5).fix("std"), sf.NormalPrior(0.3, 0.8), [-1.0, 0.3, 4.0]),
    "bernoulli": (sf.Bernoulli(), sf.Beta(1.7, 1.3), [0.0, 1.0]),
    "binomial": (sf.Binomial(7), sf.Beta(1.7, 1.3), [0.0, 3.0, 7.0]),
    "geometric": (sf.Geometric(), sf.Beta(1.7, 1.3), [1.0, 2.0, 9.0]),
    "poisson": (sf.Poisson(), sf.Gamma(1.8, 0.4), [0.0, 3.0, 11.0]),
    "exponential": (sf.Exponential(), sf.Gamma(1.8, 0.4), [0.1, 3.0, 11.0]),
    "multinomial": (sf.Multinomial(probs=[0.3, 0.3, 0.4]), sf.Dirichlet([0.9, 1.5, 2.0]), [[[1, 0, 0]], [[2, 1, 4]]]),
    "multivariate": (
        sf.MultivariateNormal([0.0, 0.0]),
        sf.NormalInverseWishart([0.5, 0.1], 0.6, 5.5, [[2.0, 0.4], [0.4, 1.0]]),
        [[0.0, 1.0], [3.0, -2.0]],
    ),
}


@pytest.mark.parametrize("name", BELIEFS)
def test_components_and_offsets_are_the_expected_log_density(name: str) -> None:
    """Against the mean over parameters drawn from the belief."""
    prototype, belief, x = BELIEFS[name]
    draws = 40_000
    drawn = belief.sample(draws, 0)
    values = drawn if isinstance(drawn, dict) else {prototype.belief_about: drawn}
    component, offset = prototype.stacked.expected_component(belief.stacked)
    assert (offset <= 1e-12).all()
    rows = np.array(x, dtype=float)
    rows = rows.reshape(len(rows), -1) if rows.ndim < 3 else rows
    exposure = component.exposure(rows)
    told = component.log_density(rows) + (offset.sum(axis=1) if exposure is None else exposure @ offset.T)
    if prototype.row_vector:
        scores = type(prototype)(values["mean"], values["cov"]).log_prob(rows)
    else:
        wide = {key: np.asarray(value).reshape(draws, 1, *np.shape(value)[1:]) for key, value in values.items()}
        scores = type(prototype)(**_known(prototype, draws), **wide).log_prob(rows)
    allowed = 6 * scores.std(axis=1) / np.sqrt(draws) + 1e-12
    assert (np.abs(told[:, 0] - scores.mean(axis=1)) <= allowed).all()


def _known(prototype: Any, draws: int) -> dict[str, Any]:
    if "std" in prototype.fixed:
        return {"std": np.full((draws, 1), prototype.std)}
    return {"trials": np.full((draws, 1), prototype.trials)} if isinstance(prototype, sf.Binomial) else {}


@pytest.mark.parametrize(
    ("belief", "other"),
    [
        (sf.NormalInverseGamma(1.0, 2.0, 3.0, 2.0), sf.NormalInverseGamma(0.0, 1.0, 2.5, 1.0)),
        (
            sf.NormalInverseWishart([1.0, 0.0], 2.0, 7.0, [[2.0, 0.5], [0.5, 1.0]]),
            sf.NormalInverseWishart([0.0, 0.0], 1.0, 6.0, 1.5 * np.eye(2)),
        ),
    ],
)
def test_divergence_of_beliefs_is_the_mean_log_ratio(belief: Any, other: Any) -> None:
    x = belief.sample(40_000, 0)
    ratio = belief.log_prob(x) - other.log_prob(x)
    assert belief.kl(other) == pytest.approx(ratio.mean(), abs=5 * ratio.std() / 200)
    assert belief.kl(belief) == pytest.approx(0.0, abs=1e-12)


def test_levels_that_a_column_does_not_have_do_not_count_in_a_divergence() -> None:
    mine, theirs = sf.Dirichlet([[2.0, 3.0, 0.0]]), sf.Dirichlet([[1.0, 0.5, 0.0]])
    assert mine.kl(theirs) == pytest.approx(sf.Beta(2.0, 3.0).kl(sf.Beta(1.0, 0.5)), rel=1e-12)


@pytest.mark.parametrize("alpha", [[0.4, 0.4], [1.0, 2.0]])
@pytest.mark.parametrize("name", ["poisson", "normal", "multivariate"])
def test_the_bound_is_below_the_evidence(name: str, alpha: list[float]) -> None:
    """The evidence of a few rows is a sum over who made each of them."""
    case, n = CASES[name], 7
    rows = np.concatenate([case.rows[:3], case.rows[-4:]])
    terms = []
    for owners in product((0, 1), repeat=n):
        who = np.array(owners)
        counts = np.bincount(who, minlength=2)
        term = special.gammaln(sum(alpha)) - special.gammaln(sum(alpha) + n)
        term += (special.gammaln(alpha + counts) - special.gammaln(alpha)).sum()
        for j in range(2):
            if counts[j]:
                term += sf.posterior(case.prototype, rows[who == j], prior=case.prior).log_evidence
        terms.append(term)
    evidence = special.logsumexp(terms)
    prior = {"weights": sf.Dirichlet(alpha), "components": case.prior}
    post = sf.posterior(sf.Mixture(case.prototype, 2), rows, prior=prior, random_state=0)
    assert evidence - 3.0 < post.log_evidence < evidence


@pytest.mark.parametrize("weights", [sf.Dirichlet([0.01]), sf.StickBreaking(0.01)])
def test_superfluous_components_empty_themselves(weights: Any) -> None:
    rng = np.random.default_rng(0)
    x = np.concatenate([rng.poisson(2, 400), rng.poisson(30, 200)])
    prior = {"weights": weights, "components": sf.Gamma(1, 0.1)}
    post = sf.posterior(sf.Mixture(sf.Poisson(), 8), x, prior=prior, random_state=0)
    assert np.sort(post.count)[:-2] == pytest.approx(0.0, abs=0.5)
    assert np.sort(post.weights)[-2:] == pytest.approx([1 / 3, 2 / 3], abs=0.01)
    kept = post.weights > 0.1
    assert np.sort(post.components.rate[kept, 0]) == pytest.approx([2.0, 30.0], rel=0.1)
    assert np.exp(post.predictive().log_prob(np.arange(300))).sum() == pytest.approx(1.0, abs=1e-6)


def test_weak_prior_finds_the_number_of_clusters() -> None:
    post = sf.posterior(sf.Mixture(sf.Normal(), 6), DATA["pairs"], prior="weak", random_state=0)
    assert (post.count > 1).sum() == 2
    assert post.prior["weights"] == sf.Dirichlet(np.full(6, 1 / 6))
    assert post.converged
    assert post.alerts == ()


def test_intervals_that_are_too_narrow_say_so() -> None:
    rng = np.random.default_rng(0)
    x = np.where(rng.random(1000) < 0.3, rng.normal(4, 0.8, 1000), rng.normal(8, 2, 1000))
    post = sf.posterior(sf.Mixture(sf.Normal(), 2), x, prior="weak", random_state=0)
    errors = sf.fit(sf.Mixture(sf.Normal(), 2), x, random_state=0).standard_errors
    assert (post.std["components"]["std"].ravel() < 0.8 * np.ravel(errors["std"])).all()
    assert "too narrow" in dict(post.alerts)["narrow"]
    assert "intervals are too narrow" in " ".join(str(post).split())
    apart = sf.posterior(sf.Mixture(sf.Normal(), 2), np.where(x < 5, x, x + 60), prior="weak", random_state=0)
    assert "narrow" not in dict(apart.alerts)


def test_weak_speaks_of_the_mean_alone_where_the_std_is_known() -> None:
    rng = np.random.default_rng(0)
    x = np.concatenate([rng.normal(0, 1, 200), rng.normal(900, 1, 100)])
    known = sf.Normal(std=1).fix("std")
    post = sf.posterior(sf.Mixture(known, 6), x, prior="weak", random_state=0)
    assert (post.count > 1).sum() == 2
    assert (np.diff(post.trace.objective) > -1e-9).all()
    fit = sf.fit(sf.Mixture(known, 2), x, prior="weak", random_state=0)
    assert fit.alerts == ()
    assert np.ravel(fit.distribution.components.mean) == pytest.approx(
        [x[:200].mean(), x[200:].mean()], rel=1e-6, abs=1e-3
    )
    weak = sf.fit(known, x, prior="weak").prior
    assert (weak.mean, weak.std) == pytest.approx((x.mean(), 10 * x.std()), rel=1e-12)


def test_a_weak_block_has_one_prior_in_all_passes() -> None:
    case = CASES["product"]
    weak = sf.posterior(sf.Mixture(case.prototype, 2), case.rows, prior="weak", random_state=0)
    prior = {**weak.prior["components"], "n": "weak"}
    named = sf.posterior(sf.Mixture(case.prototype, 2), case.rows, prior={"components": prior}, random_state=0)
    assert named.log_evidence == pytest.approx(weak.log_evidence, rel=1e-12)
    assert named.prior["components"]["n"] == weak.prior["components"]["n"]


def test_weight_two_is_the_row_twice() -> None:
    case = CASES["product"]
    start = np.random.default_rng(3).dirichlet(np.ones(2), N)
    times = np.arange(N) % 3
    again = np.repeat(np.arange(N), times)
    options = {"prior": {"components": case.prior}, "max_iter": 20, "accelerate": False}
    mixture = sf.Mixture(case.prototype, 2)
    weighed = sf.posterior(mixture, case.rows, weights=times, start=start, **options)
    rows = {name: np.asarray(column)[again] for name, column in case.rows.items()}
    repeated = sf.posterior(mixture, rows, start=start[again], **options)
    assert weighed.log_evidence == pytest.approx(repeated.log_evidence, rel=1e-12)
    np.testing.assert_allclose(weighed.count, repeated.count, rtol=1e-10)


def test_the_order_of_rows_does_not_matter() -> None:
    rows = DATA["pairs"]
    other = np.random.default_rng(8).permutation(N)
    one, two = (
        sf.posterior(sf.Mixture(sf.MultivariateNormal(), 4), x, prior="weak", random_state=1)
        for x in (rows, rows[other])
    )
    assert one.log_evidence == pytest.approx(two.log_evidence, rel=1e-9)
    np.testing.assert_allclose(one.weights, two.weights, atol=1e-6)


def test_a_posterior_is_the_prior_of_more_rows() -> None:
    x = np.random.default_rng(4).permutation(DATA["normal"])
    mixture = sf.Mixture(sf.Normal(), 2)
    first = sf.posterior(mixture, x[:60], prior="weak", random_state=0)
    second = sf.posterior(mixture, x[60:], prior=first)
    np.testing.assert_allclose(second.belief["weights"].alpha, first.belief["weights"].alpha + second.count)
    both = sf.posterior(mixture, x, prior=first.prior, random_state=0)
    np.testing.assert_allclose(second.components.mean, both.components.mean, atol=0.3)
    assert first.log_evidence + second.log_evidence < both.log_evidence + 1.0


@pytest.mark.parametrize("accelerate", [False, True])
def test_components_of_different_kinds(accelerate: Any, monkeypatch: Any) -> None:
    monkeypatch.setenv("SUFFICE_STRICT", "1")
    rng = np.random.default_rng(0)
    x = np.concatenate([rng.normal(20.0, 1.0, 150), rng.exponential(3.0, 100), [np.nan]])
    mixture = sf.Mixture([sf.Normal(), sf.Exponential()])
    prior = {"components": [sf.NormalInverseGamma(10.0, 0.1, 1.0, 1.0), sf.Gamma(1.0, 1.0)]}
    post = sf.posterior(mixture, x, prior=prior, weights=rng.random(len(x)), random_state=0, accelerate=accelerate)
    _runs(post.trace.objective)
    np.testing.assert_allclose(post.trace.bound, post.trace.objective, rtol=1e-11)
    assert post.weights == pytest.approx([0.6, 0.4], abs=0.05)
    assert post.mean["components"][0]["mean"] == pytest.approx(20.0, abs=0.3)
    assert [one.name for one in post.predictive().components.unstacked] == ["StudentT", "Lomax"]
    told = post.belief["components"].divergence()
    alone = [sf.NormalInverseGamma(10.0, 0.1, 1.0, 1.0), sf.Gamma(1.0, 1.0)]
    beliefs = [one.belief for one in post.belief["components"]]
    np.testing.assert_allclose(told, [b.kl(p) for b, p in zip(beliefs, alone, strict=True)], rtol=1e-10)
    more = sf.posterior(mixture, x[:100], prior=post)
    assert more.belief["components"][0].count > post.belief["components"][0].count


def test_fixed_weights_stay() -> None:
    mixture = sf.Mixture([sf.Poisson(1.0), sf.Poisson(9.0)], weights=[0.3, 0.7]).fix("weights")
    post = sf.posterior(mixture, DATA["counts"], prior=sf.Gamma(1, 0.1), random_state=0)
    assert sorted(post.weights) == [0.3, 0.7]
    _runs(post.trace.objective)


def test_what_is_drawn_of_a_posterior() -> None:
    post = sf.posterior(sf.Mixture(sf.Poisson(), 2), DATA["counts"], prior=sf.Gamma(1, 0.1), random_state=0)
    drawn = post.sample(4000, 0)
    np.testing.assert_allclose(drawn["weights"].mean(axis=0), post.weights, atol=0.01)
    np.testing.assert_allclose(drawn["components"].mean(axis=0)[:, 0], post.mean["components"][:, 0], rtol=0.02)
    shares = post.predict_proba(DATA["counts"])
    np.testing.assert_allclose(shares.sum(axis=0), post.count, rtol=1e-9)
    assert (post.predict(DATA["counts"]) == shares.argmax(axis=1)).all()
    x = post.predictive().sample(20_000, 1)
    assert x.mean() == pytest.approx(DATA["counts"].mean(), rel=0.05)


def test_stick_breaking_breaks_a_stick() -> None:
    belief = sf.StickBreaking(2.0).of(4).after(np.array([5.0, 0.0, 2.0, 1.0]))
    a, b = belief.concentrations
    np.testing.assert_allclose(a, [6.0, 1.0, 3.0, 2.0])
    np.testing.assert_allclose(b, [5.0, 5.0, 3.0, 2.0])
    drawn = sf.Beta(a, b).sample(200_000, 0)
    logs = np.log(drawn) + np.concatenate([np.zeros((200_000, 1)), np.cumsum(np.log1p(-drawn), axis=1)[:, :-1]], axis=1)
    np.testing.assert_allclose(belief.log, logs.mean(axis=0), atol=0.02)
    assert belief.divergence(sf.StickBreaking(2.0).of(4)) == pytest.approx(
        sf.Beta(a, b).kl(sf.Beta(np.ones(4), np.full(4, 2.0))), rel=1e-12
    )


@pytest.mark.parametrize(
    ("mixture", "prior", "error", "words"),
    [
        (sf.Mixture(sf.Poisson(), 2), {"weights": sf.Dirichlet([1.0])}, UnsupportedError, "says nothing of the comp"),
        (sf.Mixture(sf.Poisson(), 2), "strong", UnsupportedError, "priors by name are"),
        (sf.Mixture(sf.Poisson(), 2), sf.Beta(1, 1), UnsupportedError, "Poisson has Gamma"),
        (sf.Mixture(sf.Poisson(), 1), lambda rate: np.exp(-rate), UnsupportedError, "conjugate"),
        (sf.Mixture(sf.Poisson(), 2, hard=True), sf.Gamma(1, 1), UnsupportedError, "hard=True"),
        (sf.Mixture([sf.Poisson(), sf.Geometric()]), [sf.Gamma(1, 1)], ParameterError, "1 priors for 2 components"),
        (sf.Mixture([sf.Poisson(), sf.Geometric()]), sf.Gamma(1, 1), UnsupportedError, "Geometric has Beta"),
        (sf.Mixture(sf.Laplace(), 2), sf.Gamma(1, 1), UnsupportedError, "Laplace has none"),
        (sf.Mixture(sf.Poisson(), 2), {"weights": sf.Beta(1, 1), "components": "weak"}, ParameterError, "Dirichlet"),
    ],
)
def test_what_cannot_be_believed_is_refused(mixture: Any, prior: Any, error: Any, words: str) -> None:
    with pytest.raises(error, match=words):
        sf.posterior(mixture, DATA["counts"], prior=prior, random_state=0)


def test_a_concentration_is_above_zero() -> None:
    with pytest.raises(ParameterError, match="above 0"):
        sf.StickBreaking(0.0)


def test_too_few_passes_are_reported() -> None:
    post = sf.posterior(sf.Mixture(sf.Poisson(), 3), DATA["counts"], prior="weak", random_state=0, max_iter=2)
    assert "not converged" in dict(post.alerts)
    assert not post.converged
    assert post.n_iter == 2


def test_an_interrupt_ends_the_starts_and_is_reported() -> None:
    passes: list[Any] = []

    def impatient(one: Any) -> None:
        passes.append(one)
        if one.number == 3:
            raise KeyboardInterrupt

    mixture = sf.Mixture(sf.Normal(), 3)
    post = sf.posterior(mixture, DATA["normal"], prior="weak", n_init=4, callback=impatient, random_state=0)
    assert len(passes) == 3
    assert "1 of 4 starts" in dict(post.alerts)["interrupted"]
    assert "interrupted after 3 passes" in dict(post.alerts)["not converged"]
