"""What is told with an estimate that rests on rows without values, or under which some row cannot be."""

import json
from typing import Any

import numpy as np
import pandas as pd
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
def test_rows_without_a_value_are_reported(prototype: sf.Distribution) -> None:
    """They change neither the estimate nor the likelihood, and the fit says that they are there."""
    whole, some = sf.fit(prototype, table(0)), sf.fit(prototype, np.concatenate([table(0), np.full((3, 2), NAN)]))
    assert some.log_likelihood == pytest.approx(whole.log_likelihood, abs=1e-9)
    assert "blank" not in codes(whole)
    assert codes(some)["blank"].startswith("3 rows, of which row 40 is the first, have no value at all")


def test_a_single_row_without_a_value_among_labels_is_reported() -> None:
    data = {"a": [1.0, 2.0, NAN, 4.0, NAN], "k": ["x", None, None, "y", "x"]}
    fit = sf.fit(sf.Product({"a": sf.Normal(), "k": sf.Categorical()}), data)
    assert codes(fit)["blank"].startswith("row 2 has no value at all")
    weighted = sf.fit(fit.distribution, data, weights=[1, 1, 0, 1, 1])
    assert "blank" not in codes(weighted)


def test_a_missing_number_of_one_column_is_no_missing_row() -> None:
    assert sf.fit(sf.Normal(), [1.0, NAN, 2.0, 4.0]).alerts == ()


def test_a_start_under_which_rows_cannot_be_is_reported() -> None:
    start = sf.Mixture([sf.Uniform(0, 1), sf.Uniform(5, 6)])
    fit = sf.fit(sf.Mixture(sf.Uniform(), 2), [0.2, 0.4, 5.5, 5.6, 30.0], start=start)
    assert fit.log_likelihood == -np.inf
    assert codes(fit)["impossible"].startswith("row 4 has probability 0")


def test_what_lies_on_the_boundary_is_named_by_its_column():
    data = {"a": [0, 1, 1, 0, 1], "b": [1, 1, 1, 1, 1], "c": [0, 0, 1, 1, 0]}
    fit = sf.fit(sf.Product({("a", "b", "c"): sf.Bernoulli()}), data)
    ((code, text),) = fit.alerts
    assert code == "boundary"
    assert text.startswith("column 'b'") or "p = 1 in column 'b' lies on the boundary" in text
    assert "'a'" not in text


# ---- fields ----------------------------------------------------------------------------------------------------------
def test_an_alert_is_a_pair_with_fields() -> None:
    (alert,) = sf.fit(sf.Normal(), np.array([[1.0, 3.0], [2.0, 3.0]])).alerts
    code, text = alert
    assert (alert[0], alert[1], len(alert)) == (code, text, 2) == ("collapsed", alert.text, 2)
    assert alert == (code, text)
    assert hash(alert) == hash((code, text))
    assert alert != (code, "another text")
    assert (alert.columns, alert.value) == ((1,), 3.0)


def test_an_alert_says_the_name_once_it_is_known() -> None:
    rows = np.array([[1.0, 3.0], [2.0, 3.0]])
    (named,) = sf.fit(sf.Normal(), pd.DataFrame(rows, columns=["a", "column 0"])).alerts
    assert named.columns == ("column 0",)
    assert "every value in column 'column 0' equals 3" in named.text


@pytest.mark.parametrize("wide", [False, True])
def test_columns_of_a_product_by_position_are_those_of_the_table(*, wide: bool) -> None:
    first = sf.MultivariateNormal() if wide else sf.Product([sf.Normal(), sf.Normal()])
    rows = np.column_stack([np.random.default_rng(0).normal(size=(20, 2)), np.zeros(20)])
    (alert,) = sf.fit(sf.Product([first, sf.Normal()]), rows).alerts
    assert alert.columns == (2,)
    (named,) = sf.fit(sf.Product([first, sf.Normal()]), pd.DataFrame(rows, columns=list("abc"))).alerts
    assert named.columns == ("c",)
    assert named.text.startswith("column 'c': ")


def test_pairs_of_columns_are_both_named() -> None:
    x = np.random.default_rng(0).normal(size=(40, 3))
    x[::2, 0] = x[1::2, 1] = NAN
    told = codes(sf.fit(sf.MultivariateNormal(), pd.DataFrame(x, columns=list("abc"))))
    assert told["unidentified"].startswith("columns 'a' and 'b' are never seen in one row")


def test_an_alert_of_a_component_knows_which() -> None:
    x = np.concatenate([np.random.default_rng(0).normal(size=50), np.full(6, 40.0)])
    fit = sf.fit(sf.Mixture(sf.Normal(), 2), x, random_state=0)
    (alert,) = [one for one in fit.alerts if one.code == "collapsed"]
    assert alert.text.startswith(f"component {alert.component} (6 rows)")
    again = sf.io.loads(sf.io.dumps(fit))
    assert [one.component for one in again.alerts] == [one.component for one in fit.alerts]


def test_a_file_of_pairs_becomes_alerts() -> None:
    fit = sf.fit(sf.Bernoulli(), [0, 0, 0])
    tree = json.loads(sf.io.dumps(fit))
    tree["alerts"] = [list(alert) for alert in fit.alerts]
    again = sf.io.loads(json.dumps(tree))
    assert again.alerts == fit.alerts
    assert again.alerts[0].code == "boundary"


def test_what_the_user_stopped_is_known_by_a_field() -> None:
    def stop(seen: Any) -> None:
        if seen.number > 1:
            raise KeyboardInterrupt

    x = np.random.default_rng(0).normal(size=(60, 2))
    fit = sf.fit(sf.Mixture(sf.MultivariateNormal(), 2), x, random_state=0, callback=stop)
    assert [alert.interrupted for alert in fit.alerts if alert.code == "not converged"] == [True]
    short = sf.fit(sf.Mixture(sf.MultivariateNormal(), 2), x, random_state=0, max_iter=1)
    assert [alert.interrupted for alert in short.alerts if alert.code == "not converged"] == [False]
