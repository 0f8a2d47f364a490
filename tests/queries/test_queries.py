"""Questions to joint models: conditionals and marginals agree with integration, the chain rule and each other."""

import itertools

import numpy as np
import pandas as pd
import pytest
from scipy import integrate, stats
from tests.families import FAMILIES

import suffice as sf

COV = np.array([[2.0, 0.6, -0.3], [0.6, 1.0, 0.4], [-0.3, 0.4, 1.5]])
OTHER = np.array([[1.0, -0.5, 0.2], [-0.5, 1.2, 0.1], [0.2, 0.1, 0.8]])


def gaussian(mean=(0.5, -1.0, 2.0), cov=COV):
    return sf.MultivariateNormal(np.array(mean), cov)


def blocks(mean, cov, probs, rate=2.0):
    return sf.Product(
        {
            ("x", "y"): sf.MultivariateNormal(np.array(mean), np.array(cov)),
            "kind": sf.Categorical(("a", "b", "c"), probs),
            "z": sf.Normal(float(mean[0]) / 2, 0.8),
            "count": sf.Poisson(rate),
        }
    )


FIRST = blocks([0.0, 1.0], [[1.0, 0.5], [0.5, 2.0]], [0.2, 0.5, 0.3])
SECOND = blocks([2.0, -1.0], [[0.7, -0.4], [-0.4, 1.0]], [0.6, 0.1, 0.3], 5.0)
UNLIKE = sf.Product(  # the same columns in other parts and another order
    {
        "count": sf.Geometric(0.4),
        "kind": sf.Categorical(("c", "a", "b"), [0.5, 0.3, 0.2]),
        "z": sf.Laplace(1.0, 0.7),
        "x": sf.Normal(-1.0, 1.0),
        "y": sf.StudentT(4.0, 0.0, 1.0),
    }
)
MODELS = {
    "full": gaussian(),
    "t": sf.MultivariateStudentT(4.0, [0.5, -1.0, 2.0], COV),
    "product": FIRST,
    "places": sf.Product([sf.MultivariateNormal([0.0, 1.0], [[1.0, 0.5], [0.5, 2.0]]), sf.Gamma(2.0, 1.0)]),
    "mixture": sf.Mixture([gaussian(), gaussian((-1.0, 1.0, 0.0), OTHER)], weights=[0.3, 0.7]),
    "tied": sf.Mixture(sf.MultivariateNormal([[0.0, 1.0, 2.0], [2.0, 0.0, 1.0]], [COV, COV], structure="tied")),
    "spherical": sf.Mixture(
        sf.MultivariateNormal([[0.0, 1.0], [2.0, 0.0]], [np.eye(2), 3 * np.eye(2)], structure="spherical")
    ),
    "blocks": sf.Mixture([FIRST, SECOND], weights=[0.4, 0.6]),
    "unlike": sf.Mixture([FIRST, UNLIKE, SECOND], weights=[0.4, 0.3, 0.3]),
    "of mixtures": sf.Mixture([sf.Mixture([FIRST, SECOND], weights=[0.1, 0.9]), FIRST], weights=[0.5, 0.5]),
    "inside": sf.Product(
        {
            ("x", "y"): sf.Mixture(sf.MultivariateNormal([[0.0, 0.0], [2.0, 1.0]], [COV[:2, :2], OTHER[:2, :2]])),
            "z": sf.Mixture([sf.Normal(0, 1), sf.Laplace(3.0, 1.0)]),
        }
    ),
    "columns": sf.Mixture(sf.Normal([[0.0, 1.0, 2.0], [3.0, 1.0, -2.0]], [[1.0, 2.0, 0.5], [0.4, 1.0, 1.0]])),
}


def table(model, n, seed=0):
    """Rows of a model as columns by label."""
    drawn = model.sample(n, seed)
    if isinstance(drawn, dict):
        return {label: drawn[label] for label in model.column_labels}
    drawn = np.asarray(drawn)
    drawn = drawn[:, None] if drawn.ndim == 1 else drawn
    return {label: drawn[:, label] for label in model.column_labels}


def score(model, columns):
    """Log density of columns by label, of which a distribution of one column takes the values."""
    values = list(columns.values())
    if model.column_names is not None:
        return np.asarray(model.log_prob({name: columns[name] for name in model.column_names}))
    return np.asarray(model.log_prob(values[0] if len(values) == 1 else np.stack(values, axis=1)))


def splits(labels):
    """Every way to know some of the columns, but not all."""
    return [one for r in range(1, len(labels)) for one in itertools.combinations(labels, r)]


def families():
    rng = np.random.default_rng(3)
    for name, family in FAMILIES.items():
        yield pytest.param(family.example(rng) if family.row_vector else family.example(rng, (3,)), id=name)


# ---- the chain rule --------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("model", [*families(), *(pytest.param(model, id=name) for name, model in MODELS.items())])
def test_joint_is_marginal_times_conditional(model):
    labels = model.column_labels
    if type(model).__name__ == "NormalInverseWishart":
        pytest.skip("a belief about parameters, not about rows")
    rows = table(model, 4)
    whole = score(model, rows)
    for known in splits(labels):
        alone = score(model.marginal(*known), {label: rows[label] for label in known})
        for i in range(4):
            told = model.given({label: rows[label][i] for label in known})
            rest = {label: rows[label][i : i + 1] for label in labels if label not in known}
            assert alone[i] + score(told, rest)[0] == pytest.approx(whole[i], abs=1e-11, rel=1e-12), known


@pytest.mark.parametrize("name", ["full", "mixture", "blocks", "unlike", "of mixtures", "inside", "t"])
def test_marginal_of_given_is_given_of_marginal_and_order_does_not_matter(name):
    model = MODELS[name]
    labels = model.column_labels
    rows = table(model, 3, 5)
    first, second, wanted = labels[0], labels[1], labels[-1]
    if model.column_names is None:
        later, at_last = second - 1, wanted - 2  # places count what is left
    else:
        later, at_last = second, wanted
    for i in range(3):
        a, b = rows[first][i], rows[second][i]
        x = rows[wanted]
        at_once = score(model.given({first: a, second: b}).marginal(at_last), {0: x})
        stepwise = score(model.given({first: a}).given({later: b}).marginal(at_last), {0: x})
        backwards = score(model.given({second: b}).given({first: a}).marginal(at_last), {0: x})
        of_marginal = model.marginal(first, second, wanted)
        by_place = model.column_names is None
        inner = of_marginal.given({0: a, 1: b} if by_place else {first: a, second: b})
        for other in (stepwise, backwards, score(inner if by_place else inner.marginal(wanted), {0: x})):
            np.testing.assert_allclose(other, at_once, rtol=1e-11, atol=1e-11)


# ---- the definition --------------------------------------------------------------------------------------------------
def test_gaussian_conditionals_are_the_textbook_formula():
    model = gaussian()
    mean, cov = np.asarray(model.mean), np.asarray(model.cov)
    for known in splits((0, 1, 2)):
        rest, seen = [c for c in range(3) if c not in known], list(known)
        values = np.array([0.3, -2.0, 5.0])[seen]
        gain = cov[np.ix_(rest, seen)] @ np.linalg.inv(cov[np.ix_(seen, seen)])
        told = model.given(dict(zip(seen, values, strict=True)))
        np.testing.assert_allclose(np.atleast_1d(told.mean), mean[rest] + gain @ (values - mean[seen]), rtol=1e-12)
        left = cov[np.ix_(rest, rest)] - gain @ cov[np.ix_(seen, rest)]
        found = told.cov if len(rest) > 1 else np.array([[told.var]])
        np.testing.assert_allclose(found, left, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("structure", ["full", "diag", "spherical", "identity", "tied", "EEE", "VVI", "EII", "VEE"])
def test_every_covariance_structure_is_conditioned(structure):
    rows = np.random.default_rng(1).multivariate_normal([0, 1, 2], COV, 300)
    fit = sf.fit(sf.Mixture(sf.MultivariateNormal(structure=structure), 2), rows, random_state=0)
    told = fit.given({1: 0.5})
    grid = np.linspace(-25, 25, 501)
    joint = np.exp(fit.log_prob(np.stack([grid, np.full(501, 0.5), np.full(501, 1.0)], axis=1)))
    density = np.exp(told.log_prob(np.stack([grid, np.full(501, 1.0)], axis=1)))
    np.testing.assert_allclose(density * joint.sum(), joint * density.sum(), rtol=1e-9, atol=1e-14)


def test_conditionals_are_ratios_of_integrals_in_two_dimensions():
    model = sf.Mixture(
        [
            sf.Product({("x", "y"): sf.MultivariateNormal([0.0, 1.0], [[1.0, 0.5], [0.5, 2.0]])}),
            sf.Product({"x": sf.Laplace(1.0, 0.5), "y": sf.Gamma(3.0, 2.0)}),
            sf.Product({("x", "y"): sf.MultivariateNormal([-2.0, 0.0], [[0.3, 0.2], [0.2, 0.5]])}),
        ],
        weights=[0.5, 0.3, 0.2],
    )

    def joint(y, x):
        return float(np.exp(model.log_prob({"x": x, "y": y})))

    for x in (-2.0, 0.3, 1.5):
        whole = sum(
            integrate.quad(joint, a, b, args=(x,), epsabs=1e-13, epsrel=1e-12, limit=400)[0]
            for a, b in ((-40, 0), (0, 2), (2, 60))
        )
        told = model.given(x=x)
        for y in (-1.0, 0.2, 0.9, 4.0):
            assert np.exp(told.log_prob({"y": y})) == pytest.approx(joint(y, x) / whole, abs=1e-8, rel=1e-8)
            below = sum(
                integrate.quad(joint, a, b, args=(x,), epsabs=1e-13, epsrel=1e-12, limit=400)[0]
                for a, b in itertools.pairwise(sorted({-40.0, min(0.0, y), y}))
            )
            assert told.cdf(y) == pytest.approx(below / whole, abs=1e-8)
        assert told.cdf(told.quantile(0.3)) == pytest.approx(0.3, abs=1e-12)
        low, high = told.interval(0.9)
        assert told.cdf(high) - told.cdf(low) == pytest.approx(0.9, abs=1e-12)


@pytest.mark.parametrize("name", ["mixture", "blocks", "of mixtures", "inside"])
def test_conditionals_are_ratios_of_sums_in_three_dimensions(name):
    """The trapezoid rule of smooth densities that fall to nothing is exact to rounding; labels are summed."""
    model = MODELS[name].marginal(*(label for label in MODELS[name].column_labels if label != "count"))
    grid = np.arange(-14.0, 16.0, 0.125)
    numbers = [label for label in model.column_labels if label != "kind"]
    known = numbers[0]
    across, up = (axis.ravel() for axis in np.meshgrid(grid, grid, indexing="ij"))
    for value in (-0.7, 1.8):
        columns = {known: np.full(across.size, value), numbers[1]: across, numbers[2]: up}
        kinds = ("a", "b", "c") if "kind" in model.column_labels else (None,)
        tables = []
        for kind in kinds:
            more = {} if kind is None else {"kind": np.full(across.size, kind, dtype=object)}
            rows = {label: {**columns, **more}[label] for label in model.column_labels}
            tables.append(np.exp(score(model, rows)))
        joint = np.stack(tables)
        if name == "inside":  # a Laplace part has a corner, where the rule is not exact: compare shapes only
            told = np.exp(score(model.given({known: value}), {label: columns[label] for label in numbers[1:]}))
            np.testing.assert_allclose(told / told.sum(), joint[0] / joint.sum(), rtol=1e-8, atol=1e-14)
            continue
        given = model.given({known: value})
        whole = joint.sum() * 0.125**2
        for k, kind in enumerate(kinds):
            more = {} if kind is None else {"kind": np.full(across.size, kind, dtype=object)}
            rest = {**{label: columns[label] for label in numbers[1:]}, **more}
            density = np.exp(score(given, {label: rest[label] for label in model.column_labels if label in rest}))
            np.testing.assert_allclose(density, joint[k] / whole, rtol=1e-8, atol=1e-10)
        if kinds[0] is not None:
            shares = joint.sum(axis=(1,)) * 0.125**2 / whole
            told = given.marginal("kind")
            np.testing.assert_allclose(np.exp(told.log_prob(list(kinds))), shares, atol=1e-8)
        first = given.marginal(given.column_labels[0] if model.column_names is None else numbers[1])
        alone = joint.sum(axis=0).reshape(len(grid), -1).sum(axis=1) * 0.125 / whole
        np.testing.assert_allclose(np.exp(first.log_prob(grid)), alone, atol=1e-8)


def test_the_conditional_t_is_that_of_integration():
    model = MODELS["t"]
    told = model.given({0: 3.0, 2: 1.0})
    whole = integrate.quad(lambda y: np.exp(model.log_prob([3.0, y, 1.0])), -np.inf, np.inf, epsabs=1e-14)[0]
    for y in (-8.0, 0.0, 2.0):
        assert np.exp(told.log_prob(y)) == pytest.approx(np.exp(model.log_prob([3.0, y, 1.0])) / whole, abs=1e-9)
    assert told.df == 6
    np.testing.assert_allclose(model.marginal(1).log_prob([0.3]), stats.t(4.0, -1.0, 1.0).logpdf([0.3]), rtol=1e-12)


def test_mixtures_are_reweighed_by_what_is_known():
    model = MODELS["blocks"]
    told = model.given(kind="a", count=3)
    expected = np.array([0.4 * 0.2 * stats.poisson.pmf(3, 2.0), 0.6 * 0.6 * stats.poisson.pmf(3, 5.0)])
    np.testing.assert_allclose(told.weights, expected / expected.sum(), rtol=1e-12)
    assert told.parts[0] == FIRST.marginal("x", "y", "z")
    assert told.column_names == ("x", "y", "z")


def test_a_nearly_singular_covariance_is_conditioned():
    x = np.random.default_rng(0).normal(size=200)
    fit = sf.fit(sf.MultivariateNormal(), np.stack([x, x, 1 + 2 * x], axis=1))
    told = fit.given({0: 0.7})
    np.testing.assert_allclose(told.mean, [0.7, 2.4], atol=1e-4)
    assert (np.linalg.eigvalsh(told.cov) > 0).all()


# ---- what is asked ---------------------------------------------------------------------------------------------------
def test_a_missing_value_is_not_given():
    model = MODELS["blocks"]
    assert model.given(x=None, kind=None, y=np.nan) is model
    assert model.given({"x": np.nan, "kind": "a"}).column_names == ("x", "y", "z", "count")


def test_of_one_column_left_the_name_stays_and_numbers_are_answered():
    told = MODELS["blocks"].given(kind="a", x=0.5, z=0.1, count=2)
    assert told.column_names == ("y",)
    assert set(told.sample(3, 0)) == {"y"}
    assert told.mean["y"] == pytest.approx(told.marginal("y").mean)
    assert told.quantile(0.5) == told.marginal("y").quantile(0.5)
    counts = MODELS["blocks"].given(kind="a", x=0.5, z=0.1, y=0.0)
    assert counts.quantile(0.5) == round(counts.quantile(0.5))


def test_samples_given_some_columns_follow_the_conditional():
    told = MODELS["unlike"].given(kind="b", y=0.5)
    drawn = told.sample(40_000, random_state=7)
    for name in ("x", "z", "count"):
        part = told.marginal(name)
        spread = part.std / np.sqrt(40_000)
        assert abs(drawn[name].mean() - part.mean) < 4 * spread
    assert np.array_equal(drawn["x"], told.sample(40_000, random_state=7)["x"])


@pytest.mark.parametrize(
    ("asked", "error", "text"),
    [
        ({"bill_lenght": 1.0}, sf.ParameterError, "Did you mean 'bill_length'"),
        ({"kind": "a", "bill_length": 1.0, "n": 2}, sf.ParameterError, "every column is given"),
        ({"n": 1.5}, sf.DataError, r"'n' = 1.5 cannot be: the probability is 0"),
        ({"n": "many"}, sf.DataError, "column 'n': Poisson needs numbers"),
        ({"n": [1, 2]}, sf.ParameterError, "one value of column 'n'"),
        ([("n", 1)], sf.ParameterError, "known values by column"),
    ],
)
def test_what_cannot_be_given_is_refused_with_a_reason(asked, error, text):
    one = sf.Product({"bill_length": sf.Normal(), "n": sf.Poisson(), "kind": sf.Categorical(("a", "b"), [0.5, 0.5])})
    for model in (one, sf.Mixture(one, 2)):
        with pytest.raises(error, match=text):
            model.given(asked)


def test_twice_both_impossible_and_stacks_are_refused():
    model = sf.Mixture(
        [
            sf.Product({"a": sf.Uniform(0, 1), "b": sf.Uniform(0, 1), "c": sf.Normal()}),
            sf.Product({"a": sf.Uniform(2, 3), "b": sf.Uniform(2, 3), "c": sf.Normal()}),
        ]
    )
    with pytest.raises(sf.ParameterError, match=r"'a' is given twice, as 0\.5 and 0\.7"):
        model.given({"a": 0.5}, a=0.7)
    with pytest.raises(sf.DataError, match=r"'a' = 0\.5, 'b' = 2\.5 cannot be at once"):
        model.given(a=0.5, b=2.5)
    with pytest.raises(sf.ParameterError, match="given twice"):
        gaussian().given({0: 1.0, -3: 2.0})
    with pytest.raises(sf.UnsupportedError, match=r"ask one of its \.unstacked"):
        sf.Normal([[0.0, 1.0], [2.0, 3.0]]).given({0: 1.0})
    with pytest.raises(sf.ParameterError, match="each once"):
        model.marginal("a", "a")
    with pytest.raises(sf.ParameterError, match="before it has values"):
        sf.MultivariateNormal().given({0: 1.0})


def test_a_label_that_is_not_there_is_refused_with_the_nearest_one():
    data = {"kind": ["a", "a", "b", "b", "b"], "x": [0.0, 0.1, 5.0, 5.1, 5.2]}
    model = sf.Mixture(sf.Product({"kind": sf.Categorical(), "x": sf.Normal()}), 2)
    fit = sf.fit(model, data, start=[0, 0, 1, 1, 1])
    believed = sf.fit(model, data, start=[0, 0, 1, 1, 1], prior={"components": {"kind": sf.Dirichlet([2.0])}})
    for one in (fit, believed, fit.distribution):  # also where a prior has a probability for labels never seen
        with pytest.raises(sf.DataError, match=r"column 'kind' has no level 'B'\. Did you mean 'b'\? It has 'a', 'b'"):
            one.given(kind="B")
        with pytest.raises(sf.DataError, match="column 'kind' has no level 'c'"):
            one.predict("x", given={"kind": "c"})
    with pytest.warns(sf.SufficeWarning, match="'c', which is none of the levels"):
        fit.predict("x", given={"kind": ["a", "c"]})  # among many rows it tells nothing
    assert fit.given(kind=None).weights.tolist() == fit.weights.tolist()


def test_vectors_in_one_cell_are_given_as_a_whole():
    model = sf.Product({"shares": sf.Dirichlet([1.0, 2.0, 3.0]), "point": gaussian(), "n": sf.Poisson(2.0)})
    assert model.given(shares=[0.2, 0.3, 0.5], point=[0.0, 0.0, 0.0]).column_names == ("n",)
    assert model.marginal("point") == gaussian()
    with pytest.raises(sf.UnsupportedError, match="vector"):
        model.predict("shares", given={"n": 1})


HOSTILE = ["mapping", "self", "weights", "columns", "", "given", "a b", "naïve", "column 0", "x, y"]


def test_hostile_names_are_names():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(80, len(HOSTILE))), columns=HOSTILE)
    for model in (sf.MultivariateNormal(), sf.Mixture(sf.MultivariateNormal(structure="diag"), 2)):
        fit = sf.fit(model, frame, random_state=0, max_iter=5)
        assert fit.names == tuple(HOSTILE)
        told = fit.given({name: 0.1 for name in HOSTILE if name != "mapping"})
        assert told.column_names == ("mapping",)
        assert fit.given(mapping=1.0, self=2.0).column_names == tuple(HOSTILE[2:])
        assert set(fit.sample(3, random_state=0)) == set(HOSTILE)
        assert fit.surprisal(frame).names == tuple(HOSTILE)
        shuffled = frame[HOSTILE[::-1]]
        expected = fit.distribution.log_prob(frame.to_numpy())
        np.testing.assert_allclose(fit.log_prob(shuffled), expected, rtol=1e-14)


# ---- one column, foretold --------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", ["full", "t", "mixture", "blocks", "unlike", "of mixtures", "inside", "columns"])
def test_predictions_are_those_of_the_conditional(name):
    model = MODELS[name]
    labels = model.column_labels
    rows = table(model, 6, 2)
    rows[labels[1]] = np.where([True, False] * 3, rows[labels[1]], np.nan)
    for column in labels:
        given = {label: rows[label] for label in labels if label != column}
        found = model.predict(column, given, level=0.8)
        for i in range(6):
            told = model.given({label: given[label][i] for label in given})
            left = [label for label in labels if label == column or _missing(given[label][i])]
            one = told.marginal(left.index(column) if model.column_names is None else column)
            if column == "kind":
                expected = np.exp(one.log_prob(["a", "b", "c"]))
                np.testing.assert_allclose([found.probabilities[k][i] for k in "abc"], expected, rtol=1e-9)
                assert found.value[i] == "abc"[int(expected.argmax())]
                continue
            assert found.std[i] == pytest.approx(one.std, rel=1e-9)
            assert found.value[i] == pytest.approx(one.quantile(0.5) if column == "count" else one.mean, rel=1e-9)
            np.testing.assert_allclose([end[i] for end in found.interval], one.interval(0.8), rtol=1e-8, atol=1e-9)


def _missing(value):
    return isinstance(value, float) and np.isnan(value)


def test_predict_of_one_row_has_numbers_and_of_rows_components():
    model = MODELS["blocks"]
    one = model.predict("z", given={"x": 1.0, "kind": "a"})
    assert isinstance(one.value, float)
    assert one.interval[0] < one.value < one.interval[1]
    assert "95 % interval" in repr(one)
    label = model.predict("kind", given={"x": 1.0})
    assert sum(label.probabilities.values()) == pytest.approx(1.0)
    rows = model.sample(5, 0)
    np.testing.assert_array_equal(model.predict(rows), model.predict_proba(rows).argmax(axis=1))
    with pytest.raises(sf.DataError, match="Did you mean 'kind'"):
        model.predict("z", given={"kimd": "a"})
    with pytest.raises(sf.ParameterError, match="has no column 'w'"):
        model.predict("w", given={"x": 1.0})


# ---- what columns tell of each other ---------------------------------------------------------------------------------
def test_information_between_gaussians_is_closed():
    model = gaussian()
    rho = COV[0, 1] / np.sqrt(COV[0, 0] * COV[1, 1])
    assert model.mutual_information(0, 1) == pytest.approx(-0.5 * np.log(1 - rho**2), rel=1e-12)
    dets = np.linalg.det(COV[:2, :2]) * COV[2, 2] / np.linalg.det(COV)
    assert model.mutual_information([0, 1], 2) == pytest.approx(0.5 * np.log(dets), rel=1e-11)
    assert FIRST.mutual_information("x", "y") == pytest.approx(-0.5 * np.log(1 - 0.125), rel=1e-12)
    assert FIRST.mutual_information(["x", "y"], ["kind", "z"]) == 0.0
    assert sf.Normal([0.0, 1.0], [1.0, 2.0]).mutual_information(0, 1) == 0.0


def test_information_in_a_mixture_of_labels_is_the_sum_over_their_table():
    model = MODELS["blocks"]
    probs = np.array([[0.2, 0.5, 0.3], [0.6, 0.1, 0.3]])
    counts = np.stack([stats.poisson.pmf(np.arange(80), rate) for rate in (2.0, 5.0)])
    joint = np.einsum("k,ka,kb->ab", [0.4, 0.6], probs, counts)
    product = joint.sum(axis=1, keepdims=True) * joint.sum(axis=0)
    with np.errstate(all="ignore"):
        expected = np.nansum(joint * np.log(joint / product))
    assert model.mutual_information("kind", "count") == pytest.approx(expected, rel=1e-11)
    assert model.mutual_information("count", "kind") == pytest.approx(expected, rel=1e-11)


def test_information_of_a_number_and_a_label_is_integrated():
    model = MODELS["blocks"]
    x = np.arange(-12.0, 14.0, 0.01)
    densities = np.stack([stats.norm.pdf(x, 0, 1), stats.norm.pdf(x, 2, np.sqrt(0.7))])
    joint = np.einsum("k,ka,kx->ax", [0.4, 0.6], [[0.2, 0.5, 0.3], [0.6, 0.1, 0.3]], densities)
    shares, alone = joint.sum(axis=1, keepdims=True) * 0.01, joint.sum(axis=0)
    expected = (joint * np.log(joint / (shares * alone))).sum() * 0.01
    assert model.mutual_information("kind", "x") == pytest.approx(expected, abs=1e-8)


def test_information_from_draws_says_how_far_it_may_be_off():
    model = MODELS["blocks"]
    found = model.mutual_information("x", "z")
    grid = np.arange(-10.0, 12.0, 0.05)
    pairs = [
        np.outer(stats.norm.pdf(grid, m, s), stats.norm.pdf(grid, m / 2, 0.8)) for m, s in ((0, 1), (2, np.sqrt(0.7)))
    ]
    joint = 0.4 * pairs[0] + 0.6 * pairs[1]
    product = np.outer(joint.sum(axis=1), joint.sum(axis=0)) * 0.05**2
    expected = (joint * np.log(joint / product)).sum() * 0.05**2
    assert 0 < found.error < 0.01
    assert abs(found - expected) < 4 * found.error
    with pytest.raises(sf.ParameterError, match="on both sides"):
        model.mutual_information(["x", "y"], "y")


def test_columns_whose_names_are_tuples_are_asked_for_by_them():
    """As a table with two levels of names has them; a tuple that is a name is one column, not several."""
    first, second, third = ("size", "x"), ("size", "y"), ("kind", "")
    model = sf.Product(
        {(first, second): sf.MultivariateNormal([0.0, 1.0], [[1.0, 0.5], [0.5, 1.0]]), (third,): sf.Normal(5.0, 2.0)}
    )
    assert model.column_labels == (first, second, third)
    known = model.given({first: 2.0})
    assert known.column_labels == (second, third)
    assert known.marginal(second).mean == pytest.approx(2.0)
    assert model.marginal(first, third).column_labels == (first, third)
    assert model.predict(second, given={first: 2.0}).value == pytest.approx(2.0)
    assert model.mutual_information(first, second) == pytest.approx(-0.5 * np.log(0.75))
    both = sf.Mixture([model, model], weights=[0.5, 0.5])
    assert both.given({third: 1.0, first: 2.0}).marginal(second).mean == pytest.approx(2.0)
    table = {first: [2.0, np.nan], second: [np.nan, 1.0], third: [5.0, np.nan]}
    assert [list(values) for values in model.impute(table).values()] == [[2.0, 0.0], [2.0, 1.0], [5.0, 5.0]]


# ---- who made a row, and columns by name alone ----------------------------------------------------------------------
PEOPLE = sf.Mixture(
    [
        sf.Product({"age": sf.Normal(30.0, 5.0), "smokes": sf.Categorical(("no", "yes"), [0.8, 0.2])}),
        sf.Product({"age": sf.Normal(60.0, 9.0), "smokes": sf.Categorical(("no", "yes"), [0.3, 0.7])}),
    ],
    weights=[0.4, 0.6],
)


def test_what_is_left_after_given_predicts_by_name():
    known = PEOPLE.given(age=44.0)
    told, asked = known.predict("smokes"), PEOPLE.predict("smokes", given={"age": 44.0})
    assert told.value == asked.value
    assert told.probabilities == pytest.approx(asked.probabilities)
    assert PEOPLE.predict("smokes").probabilities["yes"] == pytest.approx(0.4 * 0.2 + 0.6 * 0.7)
    with pytest.raises(sf.ParameterError, match="Did you mean 'smokes'"):
        known.predict("smoke")


def test_the_component_is_predicted_from_what_is_known():
    likely = np.array([0.4 * 0.2, 0.6 * 0.7])
    one = PEOPLE.predict("component", given={"smokes": "yes"})
    assert one.value == 1
    assert one.probabilities == pytest.approx(dict(enumerate(likely / likely.sum())))
    assert PEOPLE.predict("component").probabilities == pytest.approx({0: 0.4, 1: 0.6})
    assert PEOPLE.given(smokes="yes").predict("component").probabilities == pytest.approx(one.probabilities)
    rows = PEOPLE.sample(30, random_state=0)
    many = PEOPLE.predict("component", given=rows)
    np.testing.assert_array_equal(many.value, PEOPLE.predict(rows))
    np.testing.assert_allclose(np.stack(list(many.probabilities.values()), axis=1), PEOPLE.predict_proba(rows))
    fit = sf.fit(sf.Mixture(sf.MultivariateNormal(), 2), pd.DataFrame({"age": rows["age"], "more": rows["age"] ** 2}))
    assert (
        fit.predict("component", given={"age": 28.0}).value == fit.predict("component", given={"more": 28.0**2}).value
    )
    assert fit.predict("more").value == pytest.approx(np.mean(rows["age"] ** 2))


def test_a_column_that_is_called_component_is_that_column():
    table = {"component": ["old", "old", "new", "new"], "level": ["x", "x", "y", "y"]}
    fit = sf.fit(
        sf.Mixture(sf.Product({("component", "level"): sf.Categorical()}), 2), table, prior="weak", random_state=0
    )
    assert fit.predict("component", given={"level": "x"}).value == "old"


def test_a_bare_label_is_a_row_where_columns_have_no_names():
    mixture = sf.Mixture([sf.Categorical(("a", "b"), [0.9, 0.1]), sf.Categorical(("a", "b"), [0.2, 0.8])])
    assert [mixture.predict("a"), mixture.predict("b")] == [0, 1]
