"""What is told with an estimate that rests on rows without values, or under which some row cannot be."""

import numpy as np
import pytest

import suffice as sf

NAN = np.nan


def table(bare: int) -> np.ndarray:
    x = np.random.default_rng(0).normal(size=(40, 2))
    x[5, 0] = x[9, 1] = NAN
    x[20 : 20 + bare] = NAN
    return x


def codes(fit: object) -> dict[str, str]:
    return dict(fit.alerts)


@pytest.mark.parametrize(
    "prototype", [sf.MultivariateNormal(), sf.Normal(), sf.Product([sf.Normal(), sf.StudentT()])], ids=str
)
def test_rows_without_a_value_are_told(prototype: sf.Distribution) -> None:
    """They change neither the estimate nor the likelihood, and the fit says that they are there."""
    whole, some = sf.fit(prototype, table(0)), sf.fit(prototype, np.concatenate([table(0), np.full((3, 2), NAN)]))
    assert some.log_likelihood == pytest.approx(whole.log_likelihood, abs=1e-9)
    assert "blank" not in codes(whole)
    assert codes(some)["blank"].startswith("3 rows, of which row 40 is the first, have no value at all")


def test_a_single_row_without_a_value_among_labels_is_told() -> None:
    data = {"a": [1.0, 2.0, NAN, 4.0, NAN], "k": ["x", None, None, "y", "x"]}
    fit = sf.fit(sf.Product({"a": sf.Normal(), "k": sf.Categorical()}), data)
    assert codes(fit)["blank"].startswith("row 2 has no value at all")
    weighted = sf.fit(fit.distribution, data, weights=[1, 1, 0, 1, 1])
    assert "blank" not in codes(weighted)


def test_a_missing_number_of_one_column_is_no_missing_row() -> None:
    assert sf.fit(sf.Normal(), [1.0, NAN, 2.0, 4.0]).alerts == ()


def test_a_start_under_which_rows_cannot_be_is_told() -> None:
    start = sf.Mixture([sf.Uniform(0, 1), sf.Uniform(5, 6)])
    fit = sf.fit(sf.Mixture(sf.Uniform(), 2), [0.2, 0.4, 5.5, 5.6, 30.0], start=start)
    assert fit.log_likelihood == -np.inf
    assert codes(fit)["impossible"].startswith("row 4 has probability 0")


def test_what_lies_on_the_boundary_is_told_by_its_column():
    data = {"a": [0, 1, 1, 0, 1], "b": [1, 1, 1, 1, 1], "c": [0, 0, 1, 1, 0]}
    fit = sf.fit(sf.Product({("a", "b", "c"): sf.Bernoulli()}), data)
    ((code, text),) = fit.alerts
    assert code == "boundary"
    assert text.startswith("column 'b'") or "p = 1 in column 'b' lies on the boundary" in text
    assert "'a'" not in text
