"""What can be learned from a messy table can be saved, and comes back equal."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest

import suffice as sf
from suffice.io import dumps, loads

N = 40
COLUMNS = {
    "code": lambda _: [f"C{i}" for i in range(N)],  # like an identifier
    "number": lambda rng: rng.permutation(N) + 10_000,
    "constant": lambda _: np.full(N, 7),
    "nothing": lambda _: [None] * N,
    "day": lambda _: pd.date_range("2020-01-01", periods=N),
    "span": lambda _: pd.to_timedelta(np.arange(N), unit="h"),
    "size": lambda rng: rng.normal(size=N),
    "weight": lambda rng: np.where(rng.random(N) < 0.2, np.nan, rng.lognormal(size=N).round(1)),
    "visits": lambda rng: rng.binomial(8, 0.3, N),
    "kind": lambda rng: rng.choice(np.array(["a", "b", None], dtype=object), N),
    "smokes": lambda rng: pd.array(rng.choice(np.array([True, False, None], dtype=object), N), dtype="boolean"),
    "grade": lambda rng: pd.array(rng.integers(7, 10, N), dtype="Int8"),
}
LEFT_OUT = ("code", "number", "constant", "nothing", "day", "span")


def table(seed):
    """Some columns of every kind in a random order, one that is left out and one that is described among them."""
    rng = np.random.default_rng(seed)
    others = [name for name in COLUMNS if name not in LEFT_OUT]
    sure = {LEFT_OUT[seed % len(LEFT_OUT)], others[seed % len(others)], "size"}
    names = [name for name in rng.permutation(list(COLUMNS)) if name in sure or rng.random() < 0.5]
    return pd.DataFrame({name: COLUMNS[name](rng) for name in names})


def models(data, seed):
    """Everything that is fitted to a table."""
    classes = np.random.default_rng(seed).choice(["x", "y", "z"], N)
    given = {name: None for name in data.columns[:1] if name != "size"}
    yield sf.infer(data, given)
    yield sf.infer(data, joint=True)
    yield sf.fit(sf.infer(data), data)
    yield sf.MixtureModel(sf.infer(data), 2, prior="weak", random_state=0, max_iter=3).fit(data)
    yield sf.Density(sf.infer(data)).fit(data)
    yield sf.NaiveBayes(given).fit(data, classes)
    yield sf.NaiveBayes(joint=True).fit(pl.from_pandas(data), classes)


@pytest.mark.parametrize("seed", range(6))
def test_what_is_learned_from_a_messy_table_is_saved_and_comes_back_equal(seed):
    data = table(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = list(models(data, seed))
        for model in found:
            text = dumps(model)
            back = loads(text)
            assert dumps(back) == text
            assert type(back) is type(model)
            for name in ("findings", "prototype_", "distribution", "distribution_", "statistics_"):
                if name in dir(model):
                    assert getattr(back, name) == getattr(model, name), name
            for verb in ("log_prob", "score_samples", "predict_proba"):
                if verb in dir(model) and not isinstance(model, type(found[0])):
                    rows = pl.from_pandas(data) if model is found[-1] else data
                    np.testing.assert_array_equal(getattr(back, verb)(rows), getattr(model, verb)(rows))
    assert any(one.family is None for one in found[0].findings)


def test_a_loaded_mixture_lists_its_estimates_without_errors():
    data = np.concatenate([np.linspace(-1, 1, 30), np.linspace(4, 6, 30)])
    fit = sf.fit(sf.Mixture(sf.Normal(), 2), data, random_state=0)
    listed = loads(dumps(fit)).estimates()  # before anybody asked for the errors
    full = fit.estimates()
    assert listed["estimate"] == full["estimate"]
    assert np.isnan(listed["std_error"]).all()
    assert "without standard errors" in repr(listed)
    assert "without" not in repr(full)
    assert repr(loads(dumps(fit)).estimates()) == repr(full)  # which was asked for, and is saved with it
