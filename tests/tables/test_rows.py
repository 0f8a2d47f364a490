"""Rows in every form that people keep them in: masks, iterators, records; and what is refused."""

import copy
import inspect
import pickle
import warnings

import numpy as np
import pytest

import suffice as sf
from suffice.errors import DataError

X = [1.0, 2.0, 4.0, 9.0]
MIXED = sf.Product({"a": sf.Normal(), "b": sf.Categorical()})


def same(left, right):
    assert left.distribution == right.distribution
    assert left.log_likelihood == pytest.approx(right.log_likelihood, rel=1e-14)
    assert left.missing == right.missing


# ---- masks -----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("kind", [float, np.float32, int, object])
def test_masked_numbers_are_missing(kind):
    masked = np.ma.array([1, 2, 777, 9], mask=[0, 0, 1, 0], dtype=kind)
    same(sf.fit(sf.Normal(), masked), sf.fit(sf.Normal(), [1.0, 2.0, np.nan, 9.0]))
    assert sf.Normal(0, 1).log_prob(masked)[2] == 0
    assert sf.Normal(0, 1).log_prob(np.ma.array([1, 2], dtype=kind)).shape == (2,)


def test_masked_cells_of_rows_are_missing():
    rows = np.ma.array([[1.0, 2.0], [777.0, 5.0], [3.0, 777.0]], mask=[[0, 0], [1, 0], [0, 1]])
    holes = [[1.0, 2.0], [np.nan, 5.0], [3.0, np.nan]]
    same(sf.fit(sf.Normal(), rows), sf.fit(sf.Normal(), holes))
    same(sf.fit(sf.Normal(), list(rows)), sf.fit(sf.Normal(), holes))
    same(
        sf.fit(sf.Product([sf.Normal(), sf.Exponential()]), rows),
        sf.fit(sf.Product([sf.Normal(), sf.Exponential()]), holes),
    )


@pytest.mark.parametrize("labels", [["a", "b", "z", "a"], [1, 2, 777, 1], [True, False, True, False]])
def test_masked_labels_are_missing(labels):
    hidden = [label if i != 2 else None for i, label in enumerate(labels)]
    same(sf.fit(sf.Categorical(), np.ma.array(labels, mask=[0, 0, 1, 0])), sf.fit(sf.Categorical(), hidden))


def test_masked_dates_are_missing():
    days = np.array(["2024-01-01", "2024-01-02", "1999-01-01"], dtype="datetime64[D]")
    fit = sf.fit(sf.Categorical(), np.ma.array(days, mask=[0, 0, 1]))
    assert list(fit.distribution.levels) == list(days[:2])


def test_masked_columns_of_a_product_are_missing():
    masked = {"a": np.ma.array(X, mask=[0, 1, 0, 0]), "b": np.ma.array(list("pqpz"), mask=[0, 0, 0, 1])}
    same(sf.fit(MIXED, masked), sf.fit(MIXED, {"a": [1.0, None, 4.0, 9.0], "b": ["p", "q", "p", None]}))
    pair = sf.Product({("u", "v"): sf.Normal()})
    hidden = {"u": np.ma.array(X, mask=[1, 0, 0, 0]), "v": X}
    same(sf.fit(pair, hidden), sf.fit(pair, {"u": [np.nan, *X[1:]], "v": X}))


# ---- iterators and records -------------------------------------------------------------------------------------------
def test_iterators_are_read_once():
    same(sf.fit(sf.Normal(), (x for x in X)), sf.fit(sf.Normal(), X))
    same(sf.fit(sf.Categorical(), iter("aab")), sf.fit(sf.Categorical(), list("aab")))
    same(sf.fit(sf.Normal(), dict(enumerate(X)).values()), sf.fit(sf.Normal(), X))
    np.testing.assert_array_equal(sf.Normal(0, 1).log_prob(x for x in X), sf.Normal(0, 1).log_prob(X))
    assert sf.Normal().suffstats(map(float, X)).weight == 4
    both = sf.Stack([sf.Normal(0, 1), sf.Laplace(0, 1)])
    np.testing.assert_array_equal(both.log_prob(x for x in X), both.log_prob(X))


def test_rows_with_names():
    table = {"a": X, "b": ["p", "q", "p", "p"]}
    records = [{"a": a, "b": b, "other": 0} for a, b in zip(*table.values(), strict=True)]
    expected = sf.fit(MIXED, table)
    same(sf.fit(MIXED, records), expected)
    same(sf.fit(MIXED, iter(records)), expected)
    structured = np.array([(b, a) for a, b in zip(*table.values(), strict=True)], dtype=[("b", "U1"), ("a", float)])
    same(sf.fit(MIXED, structured), expected)
    for rows in (records, structured):
        np.testing.assert_array_equal(expected.log_prob(rows), expected.log_prob(table))
    assert expected.log_prob(records[0]) == expected.log_prob(structured[0]) == expected.log_prob(table)[0]


def test_columns_of_a_frame_may_have_any_name():
    class Frame:
        """An array whose columns are attributes."""

        weight = exact = statistics = distribution = None

        def __init__(self):
            self.log_prob = self.likelihood = X

        def __array__(self, dtype=None, copy=None):
            return np.array(X, dtype=dtype, copy=copy)

    same(sf.fit(sf.Normal(), Frame()), sf.fit(sf.Normal(), X))


def test_a_name_that_a_row_leaves_out_is_missing():
    same(sf.fit(MIXED, [{"a": 1.0, "b": "p"}, {"b": "q"}]), sf.fit(MIXED, {"a": [1.0, None], "b": ["p", "q"]}))


@pytest.mark.parametrize(
    ("prototype", "rows"),
    [
        (sf.Normal(), X),
        (sf.StudentT(), [1.0, 2.0, 4.0, 9.0, -3.0]),
        (sf.Categorical(), list("aab")),
        (sf.MultivariateNormal(), [[1.0, 2.0], [3.0, 1.0], [0.0, 5.0]]),
        (MIXED, {"a": X, "b": list("abba")}),
    ],
    ids=lambda one: getattr(one, "name", ""),
)
def test_fits_travel(prototype, rows):
    fit = sf.fit(prototype, rows)
    for other in (copy.deepcopy(fit), pickle.loads(pickle.dumps(fit))):  # noqa: S301 (our own)
        assert other == fit
        assert hash(other) == hash(fit)
        assert str(other) == str(fit)
        np.testing.assert_array_equal(other.log_prob(rows), fit.log_prob(rows))
    assert sf.fit(prototype, rows) == fit
    assert sf.fit(prototype, rows, weights=np.full(len(fit.log_prob(rows)), 2.0)) != fit


def test_beliefs_travel():
    post = sf.posterior(sf.Bernoulli(), [1, 0, 1], prior=sf.Beta(1, 1))
    for other in (copy.deepcopy(post), pickle.loads(pickle.dumps(post))):  # noqa: S301 (our own)
        assert other.belief == post.belief
        assert other.predictive() == post.predictive()


def test_signatures_name_the_parameters():
    assert list(inspect.signature(sf.Normal).parameters) == ["mean", "std", "fixed", "tied"]

    class Shifted(sf.Normal):
        """A user's family with an ``__init__`` of its own."""

        def __init__(self, offset, **others):
            super().__init__(mean=offset, **others)

    assert Shifted(offset=2.0, std=3.0).mean == 2.0


# id: (what is called, fragments of the message)
REFUSED = {
    "a set": (lambda: sf.fit(sf.Normal(), {1.0, 2.0}), ["Normal", "set", "order", "list"]),
    "a set of labels": (lambda: sf.fit(sf.Categorical(), {"a"}), ["Categorical", "set", "list"]),
    "columns for one": (lambda: sf.fit(sf.Normal(), {"a": X}), ["Normal", "'a'", "Product"]),
    "columns for labels": (lambda: sf.fit(sf.Categorical(), {"a": X}), ["Categorical", "'a'", "Product"]),
    "statistics": (
        lambda: sf.fit(sf.Normal(), sf.Normal().suffstats(X)),
        ["Normal", "statistics", "prototype.estimate(statistics)"],
    ),
    "statistics of a product": (lambda: sf.fit(MIXED, MIXED.suffstats({"a": X, "b": X})), ["Product", "statistics"]),
    "a fit": (lambda: sf.fit(sf.Normal(), sf.fit(sf.Normal(), X)), ["Normal", "a Fit", "fit.statistics"]),
    "a distribution": (lambda: sf.fit(sf.Normal(), sf.Normal(0, 1)), ["Normal", "distribution", "sample"]),
    "uneven rows": (
        lambda: sf.fit(sf.Normal(), [[1, 2], [3, 4], [5]]),
        ["Normal", "row 2 has 1 values", "row 0 has 2 values"],
    ),
    "a row among numbers": (
        lambda: sf.fit(sf.Normal(), [1.0, [2.0, 3.0]]),
        ["Normal", "row 1 has 2 values", "one value"],
    ),
    "uneven labels": (lambda: sf.fit(sf.Categorical(), [["a", "b"], ["c"]]), ["Categorical", "row 1 has 1"]),
    "rows of two kinds": (lambda: sf.fit(MIXED, [{"a": 1.0, "b": "p"}, [1.0, "p"]]), ["Product", "row 1", "alike"]),
    "records without a name": (
        lambda: sf.fit(MIXED, [{"a": 1.0}, {"a": 2.0}]),
        ["lack the column 'b'", "Rename or add"],
    ),
    "fields without a name": (
        lambda: sf.fit(MIXED, np.zeros(2, [("a", float)])),
        ["lack the column 'b'", "Rename or add"],
    ),
}


@pytest.mark.parametrize("case", REFUSED, ids=lambda case: case.replace(" ", "_"))
def test_what_is_no_data_is_refused_with_a_remedy(case):
    call, fragments = REFUSED[case]
    with pytest.raises(DataError) as caught:
        call()
    missing = [fragment for fragment in fragments if fragment not in str(caught.value)]
    assert not missing, f"{missing} not in: {caught.value}"


# ---- labels ---------------------------------------------------------------------------------------------------------
def test_an_unseen_label_is_reported():
    coin = sf.Categorical(["a", "b"], [0.25, 0.75])
    with pytest.warns(sf.SufficeWarning, match=r"row 1 has 'z'.*\('a', 'b'\).*left out.*levels=.*prior") as caught:
        scores = coin.log_prob(["b", "z", None, "y"])
    assert caught[0].filename == __file__
    np.testing.assert_array_equal(scores, [np.log(0.75), 0, 0, 0])
    with pytest.warns(sf.SufficeWarning, match="row 0, column 1 has 3"):
        sf.fit(sf.Categorical(), [[1, 2], [1, 2]]).log_prob([[1, 3]])


def test_an_unseen_label_is_reported_with_its_column():
    fit = sf.fit(MIXED, {"a": X, "b": list("pqpp")})
    with pytest.warns(sf.SufficeWarning, match="column 'b': row 0 has 'z'"):
        fit.log_prob({"a": [1.0], "b": ["z"]})
    with pytest.warns(sf.SufficeWarning, match="component 1: row 1 has 'c'"):
        sf.Stack([sf.Categorical(list("abc")), sf.Categorical(list("ab"))]).log_prob(["a", "c"])


def test_known_and_missing_labels_are_no_reason_to_warn():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sf.Categorical(["a", "b"]).log_prob(["a", None, "b"])
        sf.Categorical(range(5)).log_prob([0, 4])
        sf.fit(sf.Categorical(), ["a", "b"], prior=sf.Dirichlet([1.0])).log_prob(["a", "b"])


@pytest.mark.parametrize(
    "labels",
    [["a", 1, None, True, "c"], [1, True, 2], [0.5, False], np.array([1, True], dtype=object), ["a", 2, np.True_]],
)
def test_booleans_among_numbers_are_refused(labels):
    with pytest.raises(DataError, match=r"boolean (np\.)?(True|False).* number .*text"):
        sf.fit(sf.Categorical(), labels)


def test_booleans_among_numbers_are_refused_in_columns():
    with pytest.raises(DataError, match="row 1, column 1 holds the boolean True"):
        sf.fit(sf.Categorical(), [[1, 2], [3, True]])
    assert sf.fit(sf.Categorical(), [["a", True], ["b", False]]).distribution.levels == (("a", "b"), (False, True))
