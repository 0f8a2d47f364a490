"""Products and stacks: what they add to their parts, which is nothing but the book-keeping."""

import numpy as np
import pytest

import suffice as sf
from suffice.statistics.sums import component_statistics

RNG = np.random.default_rng(2)
N = 90
DATA = {
    "age": RNG.normal(40, 5, N),
    "x": RNG.normal(size=N),
    "y": RNG.normal(size=N),
    "smokes": RNG.integers(0, 2, N).astype(float),
    "visits": RNG.poisson(3, N).astype(float),
}
DATA["age"][3] = DATA["visits"][5] = DATA["visits"][6] = np.nan
DATA["x"][9] = DATA["y"][9] = np.nan
ARRAY = np.column_stack(list(DATA.values()))
PARTS = {
    "age": sf.Normal(),
    ("x", "y"): sf.MultivariateNormal(),
    "smokes": sf.Bernoulli(),
    "visits": sf.Poisson(),
}
PLANE = np.column_stack([DATA["x"], DATA["y"]])
ROWS = {"age": DATA["age"], ("x", "y"): PLANE, "smokes": DATA["smokes"], "visits": DATA["visits"]}
PRIORS = {
    "age": sf.NormalInverseGamma(40, 1, 2, 3),
    ("x", "y"): sf.NormalInverseWishart([0, 0], 1, 4, np.eye(2)),
    "smokes": sf.Beta(2, 3),
    "visits": sf.Gamma(2, 1),
}


@pytest.mark.parametrize("prior", [None, PRIORS, "weak"], ids=["ml", "map", "weak"])
def test_a_product_is_the_sum_of_its_parts(prior):
    whole = sf.fit(sf.Product(PARTS), DATA, prior=prior)
    chosen = prior if isinstance(prior, dict) else dict.fromkeys(PARTS, prior)
    alone = {key: sf.fit(part, ROWS[key], prior=chosen[key]) for key, part in PARTS.items()}
    for key, fit in alone.items():
        assert whole.distribution.blocks[key] == fit.distribution
        for name, error in fit.standard_errors.items():
            np.testing.assert_array_equal(whole.standard_errors[key][name], error)
            np.testing.assert_array_equal(whole.interval()[key][name], fit.interval()[name])
    for name in ("log_likelihood", "log_posterior", "n_parameters"):
        assert getattr(whole, name) == pytest.approx(sum(getattr(fit, name) for fit in alone.values()), rel=1e-12)
    scores = sum(fit.log_prob(ROWS[key]) for key, fit in alone.items())
    np.testing.assert_allclose(whole.log_prob(DATA), scores, rtol=1e-12)
    assert whole.distribution.entropy() == pytest.approx(sum(f.distribution.entropy() for f in alone.values()))


def test_missing_cells_are_left_out_column_by_column():
    fit = sf.fit(sf.Product(PARTS), DATA)
    assert fit.missing == 5
    assert fit.params["age"]["mean"] == pytest.approx(np.nanmean(DATA["age"]), rel=1e-14)
    assert fit.params["visits"]["rate"] == pytest.approx(np.nanmean(DATA["visits"]), rel=1e-14)
    empty = dict.fromkeys(DATA, np.full(1, np.nan))
    assert fit.log_prob(empty).tolist() == [0.0]


def test_columns_by_name_by_order_and_by_position_are_one():
    named, placed = sf.Product(PARTS), sf.Product(list(PARTS.values()))
    by_name, by_order, by_position = (sf.fit(named, DATA), sf.fit(named, ARRAY), sf.fit(placed, ARRAY))
    assert by_name.distribution == by_order.distribution
    assert list(by_name.distribution.blocks.values()) == list(by_position.distribution.blocks.values())
    records = np.rec.fromarrays(list(DATA.values()), names=list(DATA))
    assert sf.fit(named, {name: records[name] for name in DATA}).distribution == by_name.distribution
    row = {name: values[0] for name, values in DATA.items()}
    one = by_name.distribution.log_prob(DATA)[0]
    assert by_name.distribution.log_prob(row) == by_position.distribution.log_prob(ARRAY[0]) == one
    assert isinstance(by_name.distribution.log_prob(row), float)


def test_labels_and_numbers_in_one_table():
    rows = [[1.0, "a"], [2.0, "b"], [3.0, "b"]]
    fit = sf.fit(sf.Product([sf.Normal(), sf.Categorical()]), rows)
    assert fit.params[0]["mean"] == 2.0
    assert fit.params[1]["probs"] == pytest.approx([1 / 3, 2 / 3])
    drawn = fit.sample(50, random_state=0)
    assert (drawn.shape, set(drawn[:, 1])) == ((50, 2), {"a", "b"})
    assert np.isfinite(fit.log_prob(drawn)).all()


def test_draws_come_back_as_columns_and_score_alike():
    p = sf.fit(sf.Product(PARTS), DATA).distribution
    drawn = p.sample(4000, random_state=1)
    assert list(drawn) == list(DATA)
    assert -p.log_prob(drawn).mean() == pytest.approx(p.entropy(), abs=0.1)
    np.testing.assert_array_equal(drawn["y"], p.sample(4000, random_state=1)["y"])
    q = sf.Product(list(p.blocks.values()))
    np.testing.assert_array_equal(np.column_stack(list(drawn.values())), q.sample(4000, random_state=1))


def test_components_together_are_components_alone():
    weights = RNG.random((N, 3))
    prototype = sf.Product(PARTS)
    gathered = prototype.suffstats(DATA, weights)
    together = prototype.estimate(gathered)
    assert (together.n_components, together.n_parameters) == (3, 27)
    for j, one in enumerate(together.unstacked):
        alone = prototype.estimate(prototype.suffstats(DATA, weights[:, j]))
        np.testing.assert_allclose(one.log_prob(DATA), alone.log_prob(DATA), rtol=1e-12)
        np.testing.assert_allclose(together.log_prob(DATA)[:, j], alone.log_prob(DATA), rtol=1e-12)
        part = component_statistics(gathered, j)
        assert alone.log_likelihood(part) == pytest.approx(together.log_likelihood(gathered)[j], rel=1e-12)
    halves = [prototype.suffstats({k: v[s] for k, v in DATA.items()}) for s in (slice(0, 40), slice(40, None))]
    whole = prototype.suffstats(DATA)
    merged = prototype.estimate(halves[0] + halves[1]).log_prob(DATA)
    np.testing.assert_allclose(merged, prototype.estimate(whole).log_prob(DATA), rtol=1e-12)
    left = prototype.estimate(whole - halves[0]).log_prob(DATA)
    np.testing.assert_allclose(left, prototype.estimate(halves[1]).log_prob(DATA), rtol=1e-9)


def test_parts_that_iterate_make_the_product_iterate():
    prototype = sf.Product({"age": sf.StudentT(), "visits": sf.Poisson()})
    heavy = {"age": RNG.standard_t(3, 400), "visits": RNG.poisson(2, 400)}
    whole, alone = sf.fit(prototype, heavy), sf.fit(sf.StudentT(), heavy["age"])
    assert (prototype.exact, whole.converged, sf.Product(PARTS).exact) == (False, True, True)
    assert whole.n_iter > 1
    for name, value in alone.params.items():
        assert whole.params["age"][name] == pytest.approx(value, rel=1e-7)
    assert np.diff(whole.trace.log_likelihood).min() > -1e-8


def test_beliefs_go_column_by_column_and_evidence_adds():
    post = sf.posterior(sf.Product(PARTS), DATA, prior=PRIORS)
    alone = {key: sf.posterior(part, ROWS[key], prior=PRIORS[key]) for key, part in PARTS.items()}
    assert post.log_evidence == pytest.approx(sum(one.log_evidence for one in alone.values()), rel=1e-12)
    assert post["smokes"].mean == post.mean["smokes"] == alone["smokes"].mean
    assert post.interval(0.8)["visits"] == alone["visits"].interval(0.8)
    row = {name: values[:1] for name, values in DATA.items()}
    more = sf.posterior(sf.Product(PARTS), row, prior=post)
    assert post.predictive().log_prob(row)[0] == pytest.approx(more.log_evidence, rel=1e-10)
    assert post.estimate() == sf.fit(sf.Product(PARTS), DATA, prior=PRIORS).distribution


def test_a_prior_of_some_columns_leaves_the_others_to_likelihood():
    fit = sf.fit(sf.Product(PARTS), DATA, prior={"smokes": sf.Beta(2, 3)})
    assert fit.params["smokes"]["p"] == pytest.approx((DATA["smokes"].sum() + 1) / (N + 3), rel=1e-12)
    assert fit.params["age"]["mean"] == pytest.approx(np.nanmean(DATA["age"]), rel=1e-14)
    with pytest.raises(sf.UnsupportedError, match="says nothing of column 'age'"):
        sf.posterior(sf.Product(PARTS), DATA, prior={"smokes": sf.Beta(2, 3)})
    with pytest.raises(sf.ParameterError, match="speaks of 'sex'"):
        sf.fit(sf.Product(PARTS), DATA, prior={"sex": sf.Beta(1, 1)})


def test_marginals_are_parts_and_parts_of_parts():
    p = sf.fit(sf.Product(PARTS), DATA).distribution
    assert p.marginal("age") == p.blocks["age"]
    assert p.marginal("age", "visits") == sf.Product({"age": p.blocks["age"], "visits": p.blocks["visits"]})
    plane = p.blocks["x", "y"]
    assert p.marginal("y") == sf.Normal(plane.mean[1], plane.std[1])
    with pytest.raises(sf.ParameterError, match="has the columns"):
        p.marginal("sex")


def test_kl_adds_and_refuses_other_columns():
    p = sf.Product({"a": sf.Normal(0, 1), "b": sf.Poisson(2)})
    q = sf.Product({"a": sf.Normal(1, 2), "b": sf.Poisson(3)})
    assert p.kl(q) == pytest.approx(sf.Normal(0, 1).kl(sf.Normal(1, 2)) + sf.Poisson(2).kl(sf.Poisson(3)), rel=1e-12)
    with pytest.raises(sf.UnsupportedError, match="same columns"):
        p.kl(sf.Product({"a": sf.Normal(0, 1)}))


def test_ddof_reaches_the_parts_that_have_a_variance():
    fit = sf.fit(sf.Product(PARTS), DATA, ddof=1)
    assert fit.params["age"]["std"] == pytest.approx(np.nanstd(DATA["age"], ddof=1), rel=1e-12)
    np.testing.assert_allclose(fit.params["x", "y"]["cov"], np.cov(PLANE[~np.isnan(PLANE[:, 0])].T), rtol=1e-12)
    with pytest.raises(sf.UnsupportedError, match="ddof"):
        sf.fit(sf.Product({"smokes": sf.Bernoulli()}), DATA, ddof=1)


def test_alerts_and_the_page_name_the_column():
    fit = sf.fit(sf.Product({"a": sf.Normal(), "b": sf.Bernoulli()}), {"a": [1.0, 2.0], "b": [0, 0]})
    assert [(code, text.split(":")[0]) for code, text in fit.alerts] == [("boundary", "column 'b'")]
    assert "\n  a  Normal     mean 1.50 ± 0.35, std 0.50 ± 0.25\n" in str(fit)
    unseen = sf.fit(sf.Product({"a": sf.Normal(), "b": sf.Bernoulli()}), {"a": [1.0, 2.0], "b": [np.nan, np.nan]})
    assert "column b has no value" in dict(unseen.alerts)["unseen"]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ({"age": DATA["age"]}, "the data lack the columns 'x', 'y', 'smokes', 'visits', which the model asks for"),
        (DATA | {"visits": DATA["visits"][:3]}, "different lengths"),
        (DATA | {"visits": np.full(N, -1.0)}, "column 'visits': Poisson takes .* row 0 has -1"),
        (DATA | {"age": np.full(N, "old")}, "column 'age': Normal needs numbers"),
        (DATA | {"age": np.ones((N, 2))}, "column 'age' has 2 columns of its own"),
        (ARRAY[:, :3], r"describes 5 columns, but the data have shape \(90, 3\)"),
    ],
)
def test_rows_that_do_not_fit_are_named(rows, message):
    with pytest.raises(sf.DataError, match=message):
        sf.fit(sf.Product(PARTS), rows)


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({}, "at least one part"),
        ({"a": 3}, "must be a distribution"),
        ({"a": sf.Normal(), ("a", "b"): sf.MultivariateNormal()}, "stands in two parts"),
        ([sf.Normal([[0.0], [1.0]], 1.0), sf.Normal()], "all single or all stacks"),
    ],
)
def test_parts_that_do_not_fit_are_refused(parts, message):
    with pytest.raises(sf.ParameterError, match=message):
        sf.Product(parts)


def test_a_product_is_a_value():
    p = sf.fit(sf.Product(PARTS), DATA).distribution
    q = sf.fit(sf.Product(PARTS), DATA).distribution
    assert p == q
    assert hash(p) == hash(q)
    assert p != sf.Product(PARTS)
    assert repr(sf.Product({"a": sf.Normal(0, 1)})) == "Product({'a': Normal(mean=0, std=1)})"
    assert repr(sf.Product([sf.Poisson(2)])) == "Product([Poisson(rate=2)])"
    with pytest.raises(sf.UnsupportedError, match="fix those of a part"):
        p.fix("mean")


def test_products_nest():
    inner = sf.Product([sf.Normal(), sf.Poisson()])
    nested = sf.fit(sf.Product([inner, sf.Bernoulli()]), ARRAY[:, [0, 4, 3]])
    flat = sf.fit(sf.Product([sf.Normal(), sf.Poisson(), sf.Bernoulli()]), ARRAY[:, [0, 4, 3]])
    assert nested.log_likelihood == pytest.approx(flat.log_likelihood, rel=1e-13)
    np.testing.assert_allclose(nested.log_prob(ARRAY[:, [0, 4, 3]]), flat.log_prob(ARRAY[:, [0, 4, 3]]), rtol=1e-13)


# ---- stacks ----------------------------------------------------------------------------------------------------------
def test_a_stack_gives_column_j_to_component_j():
    components, x, w = [sf.Normal(), sf.Exponential(), sf.Gamma()], RNG.gamma(2.0, 1.0, 70), RNG.random((70, 3))
    stack = sf.Stack(components)
    gathered = stack.suffstats(x, w)
    fitted = stack.estimate(gathered)
    for j, one in enumerate(components):
        alone = one.estimate(one.suffstats(x, w[:, j]))
        np.testing.assert_array_equal(fitted.log_prob(x)[:, j], fitted.unstacked[j].log_prob(x))
        np.testing.assert_allclose(fitted.log_prob(x)[:, j], alone.log_prob(x), rtol=1e-12, atol=1e-13)
        assert fitted.log_likelihood(gathered)[j] == pytest.approx((w[:, j] * alone.log_prob(x)).sum(), rel=1e-11)
        assert stack.estimate(gathered * 2.0).unstacked[j].log_prob(1.0) == pytest.approx(
            alone.log_prob(1.0), rel=1e-12
        )
        assert component_statistics(gathered, j).weight.tolist() == [[pytest.approx(w[:, j].sum())]]
    merged = stack.suffstats(x[:30], w[:30]) + stack.suffstats(x[30:], w[30:])
    np.testing.assert_allclose(stack.estimate(merged).log_prob(x), fitted.log_prob(x), rtol=1e-9)
    assert fitted.entropy() == pytest.approx([one.entropy() for one in fitted.unstacked])
    assert fitted.sample(5, random_state=0).shape == (5, 3, 1)
    coded = stack.suffstats(x, sf.OneHot(np.arange(70) % 3, 3))
    assert stack.estimate(coded).unstacked[1].rate == pytest.approx(1 / x[1::3].mean(), rel=1e-12)


def test_a_stack_of_one_kind_is_that_kinds_own_stack():
    x, w = RNG.normal(size=(50, 2)), RNG.random((50, 2))
    own, pair = sf.Normal(), sf.Stack([sf.Normal(), sf.Normal()])
    np.testing.assert_allclose(
        pair.estimate(pair.suffstats(x, w)).log_prob(x), own.estimate(own.suffstats(x, w)).log_prob(x), rtol=1e-12
    )


def test_stacks_say_what_they_cannot_do():
    with pytest.raises(sf.ParameterError, match="at least one component"):
        sf.Stack([])
    with pytest.raises(sf.ParameterError, match="component 1 must be a single distribution"):
        sf.Stack([sf.Normal(), sf.Normal([[0.0], [1.0]], 1.0)])
    with pytest.raises(sf.DataError, match=r"component 1: .*row 2 has -1"):
        sf.Stack([sf.Normal(), sf.Exponential()]).suffstats([1.0, 2.0, -1.0])
    stack = sf.Stack([sf.Normal(), sf.Exponential()])
    stats = stack.suffstats([1.0, 2.0])
    with pytest.raises(sf.ParameterError, match="3 priors for 2 components"):
        stack.posterior(stats, ["weak"] * 3)


def test_the_posterior_of_a_stack_is_that_of_each_component():
    stack, x, w = (
        sf.Stack([sf.Normal(), sf.Exponential()]),
        np.array([1.0, 2.0, 5.0]),
        np.array([[1, 2], [3, 1], [0, 4]]),
    )
    priors = [sf.NormalInverseGamma(0, 1, 1, 1), sf.Gamma(2, 1)]
    post = stack.posterior(stack.suffstats(x, w), priors)
    for j, prior in enumerate(priors):
        alone = sf.posterior(stack.unstacked[j], x, weights=w[:, j], prior=prior)
        assert post[j].belief == alone.belief
        assert post.log_evidence[j] == pytest.approx(alone.log_evidence, rel=1e-12)
    assert [one.name for one in post.predictive().unstacked] == ["StudentT", "Lomax"]


def test_a_column_that_is_given_twice_is_refused():
    with pytest.raises(sf.ParameterError, match="column 'a' stands in two parts"):
        sf.Product([("a", sf.Normal()), ("a", sf.Poisson())])
