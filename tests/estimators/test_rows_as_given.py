"""Rows as people give them: a table with its target in it, a list of cells, strings, files."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import suffice as sf

pandas = pytest.importorskip("pandas")
polars = pytest.importorskip("polars")
RNG = np.random.default_rng(0)
TABLE = {
    "size": RNG.normal(size=60),
    "colour": RNG.choice(["red", "blue", "green"], 60),
    "many": RNG.integers(1, 4, 60).astype(float),
    "kind": RNG.choice(["u", "v"], 60),
}
REST = ("size", "colour", "many")


@pytest.mark.parametrize("make", [pandas.DataFrame, polars.DataFrame, dict], ids=["pandas", "polars", "mapping"])
def test_y_may_name_a_column_of_the_table(make):
    table = make(TABLE)
    rest = {name: TABLE[name] for name in REST}
    apart = sf.NaiveBayes().fit(make(rest), TABLE["kind"])
    within = sf.NaiveBayes().fit(table, "kind")
    assert_allclose(within.predict_proba(make(rest)), apart.predict_proba(make(rest)), rtol=1e-12)
    weighted = sf.NaiveBayes().fit(table, "kind", sample_weight="many")
    others = {name: TABLE[name] for name in REST[:2]}
    wanted = sf.NaiveBayes().fit(make(others), TABLE["kind"], TABLE["many"])
    assert_allclose(weighted.predict_proba(make(others)), wanted.predict_proba(make(others)), rtol=1e-12)
    numbers = sf.GaussianNB().fit(pandas.DataFrame(TABLE)[["size", "many", "kind"]], "kind")
    assert numbers.feature_names_in_.tolist() == ["size", "many"]
    with pytest.raises(sf.DataError, match=r"no column 'nope'; there are 'size', 'colour'"):
        sf.NaiveBayes().fit(table, "nope")
    with pytest.raises(sf.DataError, match="rows have no columns by name"):
        sf.NaiveBayes().fit([[1.0], [2.0]], "kind")


def test_a_list_of_cells_is_one_column():
    numbers, y = [1 + 0.01 * i + i % 2 for i in range(20)], [0, 1] * 10
    for model in (sf.NaiveBayes(), sf.BayesClassifier(sf.Normal())):
        assert model.fit(numbers, y).predict([1.1, 2.2]).tolist() == [0, 1]
        assert model.n_features_in_ == 1
    sizes, y = [*numbers, None], [*y, 1]
    assert sf.NaiveBayes().fit(sizes, y).predict([1.1, 2.2]).tolist() == [0, 1]
    words = ["red", "blue", "red", "green"] * 5
    for model in (sf.NaiveBayes(), sf.BayesClassifier(sf.Categorical())):
        assert model.fit(words, ["a", "b"] * 10).predict(["red", "blue"]).tolist() == ["a", "b"]
    column = pandas.Series(words, name="colour")
    assert sf.NaiveBayes().fit(column, ["a", "b"] * 10).feature_names_in_.tolist() == ["colour"]


def test_strings_of_one_length_are_symbols_for_naive_bayes_and_labels_for_a_table_of_all():
    strings, y = ["0010", "1101", "0011", "1111"] * 5, [0, 1, 0, 1] * 5
    letters = sf.NaiveBayes().fit(strings, y)
    wanted = sf.NaiveBayes().fit([list(one) for one in strings], y)
    assert_allclose(letters.predict_proba(["0110"]), wanted.predict_proba([list("0110")]), rtol=1e-12)
    assert letters.n_features_in_ == 4
    with pytest.raises(sf.DataError, match=r"strings of 4 symbols; row 1 has 3, '001'"):
        letters.predict(["0000", "001"])
    whole = sf.BayesClassifier(sf.Categorical(), prior=sf.Dirichlet([2.0])).fit(strings, y)
    assert whole.n_features_in_ == 1
    assert_array_equal(whole.predict(strings), y)


def test_one_row_of_several_columns_is_still_no_column():
    model = sf.NaiveBayes().fit([[1.0, 5.0], [2.0, 7.0], [1.1, 5.2], [2.2, 7.1]] * 4, [0, 1, 0, 1] * 4)
    with pytest.raises(ValueError, match="2D"):
        model.predict([1.0, 5.0])


def test_files_are_refused_where_rows_in_memory_are_wanted(tmp_path):
    pandas.DataFrame(TABLE).to_csv(tmp_path / "table.csv", index=False)
    files = sf.scan(tmp_path / "table.csv")
    for model in (sf.NaiveBayes(), sf.BayesClassifier(sf.Normal())):
        with pytest.raises(sf.UnsupportedError, match=r"partial_fit takes rows in memory.*fit\(scan, name"):
            model.partial_fit(files, "kind", classes=["u", "v"])
    with pytest.raises(sf.UnsupportedError, match=r"sf\.fit\(sf\.Mixture"):
        sf.MixtureModel().fit(files)


@pytest.mark.parametrize("make", [pandas.DataFrame, polars.DataFrame, dict], ids=["pandas", "polars", "mapping"])
def test_a_mixture_model_chooses_families_for_a_mixed_table(make, tmp_path):
    table = make(TABLE)
    model = sf.MixtureModel(random_state=0).fit(table)
    wanted = sf.MixtureModel(sf.infer(table), random_state=0).fit(table)
    assert_allclose(model.score(table), wanted.score(table), rtol=1e-12)
    sf.save(model, tmp_path / "model.json")
    assert_array_equal(sf.load(tmp_path / "model.json").predict(table), model.predict(table))
    numbers = sf.MixtureModel(random_state=0).fit(pandas.DataFrame(TABLE)[["size", "many"]])
    assert type(numbers.distribution_.components).__name__ == "MultivariateNormal"


def test_labels_that_are_text_are_arrays_of_text():
    rows, y = RNG.normal(size=(30, 2)), np.array(["a", "bb", "c"] * 10, dtype=object)
    for given in (y, pandas.Series(y), pandas.Series(y, dtype="category"), [None, *y[1:]]):
        with np.testing.suppress_warnings() as quiet:
            quiet.filter(sf.SufficeWarning)
            model = sf.GaussianNB().fit(rows, given)
        assert model.classes_.dtype == model.predict(rows).dtype == np.dtype("<U2")
