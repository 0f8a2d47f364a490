"""Text of very many levels: rare ones are one level, or the column is like an identifier."""

import warnings

import numpy as np
import pandas as pd
import pytest

import suffice as sf
from suffice.errors import DataError, ParameterError
from suffice.io import dumps, loads

RNG = np.random.default_rng(5)
COMMON = np.repeat([f"town {i:02d}" for i in range(30)], 60)
ONCE = np.array([f"hamlet {i:03d}" for i in range(300)])
CITY = RNG.permutation(np.r_[COMMON, ONCE])
TABLE = pd.DataFrame({"city": CITY, "size": RNG.normal(size=len(CITY)) + 2 * (CITY < "town 20")})


def test_rare_levels_are_pooled_and_the_reason_says_how_many():
    found = sf.infer(TABLE)["city"]
    assert found.levels == (*sorted(set(COMMON)), "(other)")
    assert found.why == "text, 330 levels, 300 with fewer than 10 rows pooled as '(other)' (14 % of the rows)"
    fit = sf.fit(sf.infer(TABLE), TABLE)
    assert fit.distribution.blocks["city"].by_label["(other)"] == pytest.approx(300 / 2100)


def test_pooling_can_be_switched_off():
    assert len(sf.infer(TABLE, pool=False)["city"].levels) == 330
    given = sf.infer(TABLE, city=sf.Categorical())["city"]
    assert (given.why, len(given.levels)) == ("given", 330)
    assert len(sf.fit(sf.infer(TABLE, pool=False), TABLE).distribution.blocks["city"].levels) == 330


def test_text_of_rare_levels_only_is_like_an_identifier():
    codes = [f"{i:04d}x" for i in RNG.integers(0, 800, 2400)]  # three rows each
    found = sf.infer({"code": codes, "x": RNG.normal(size=2400)})["code"]
    assert found.family is None
    assert found.why.startswith("like an identifier: ")
    states = [f"state {i:02d}" for i in RNG.integers(0, 60, 300)]  # five rows each: few rows, but not an identifier
    assert sf.infer({"state": states})["state"].family == sf.Categorical()


@pytest.mark.parametrize("components", [1, 2])
def test_labels_that_no_row_had_are_scored_as_the_pool_without_a_warning(components, tmp_path):
    fit = sf.fit(sf.Mixture(sf.infer(TABLE), components), TABLE, random_state=0)
    sf.save(fit, tmp_path / "m.json")
    rows = pd.DataFrame({"city": ["Atlantis", "hamlet 007", "(other)", None], "size": [1.0] * 4})
    for model in (fit, sf.load(tmp_path / "m.json")):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            scores = model.log_prob(rows)
        assert scores[0] == scores[1] == scores[2] < scores[3]
    assert set(fit.sample(500, random_state=1)["city"]) <= {*COMMON, "(other)"}


def test_a_classifier_learns_and_predicts_with_the_pool():
    y = np.where(TABLE["city"].str.startswith("hamlet"), "small", "large")
    model = sf.NaiveBayes(sf.infer(TABLE)).fit(TABLE, y)
    new = pd.DataFrame({"city": ["hamlet 999", "town 01"], "size": [0.0, 0.0]})
    assert model.predict(new).tolist() == ["small", "large"]


def test_files_give_the_same_pool_as_rows_in_memory(tmp_path):
    TABLE.to_parquet(tmp_path / "t.parquet", row_group_size=250)
    scanned = sf.scan(tmp_path / "t.parquet")
    assert sf.infer(scanned)["city"] == sf.infer(TABLE)["city"]
    here, there = (sf.fit(sf.infer(x), x) for x in (TABLE, scanned))
    assert here.log_likelihood == there.log_likelihood


def test_weights_say_how_often_a_level_comes():
    light = TABLE.drop_duplicates("city")
    weights = np.where(light["city"].isin(set(COMMON)), 60.0, 1.0)
    assert sf.infer(light, weights=weights)["city"].levels == sf.infer(TABLE)["city"].levels


def test_a_pool_is_declared_among_the_levels():
    with pytest.raises(ParameterError, match="pool is one of the declared levels"):
        sf.Categorical(["a", "b"], pool="c")
    fit = sf.fit(sf.Categorical(["a", "rest"], pool="rest"), ["a", "b", "c", "rest"])
    assert fit.distribution.by_label == {"a": 0.25, "rest": 0.75}


def test_a_question_about_a_pooled_label_says_to_give_the_pool():
    fit = sf.fit(sf.Mixture(sf.infer(TABLE), 2), TABLE, random_state=0)
    with pytest.raises(DataError, match=r"pooled: give '\(other\)'"):
        fit.predict("size", given={"city": "hamlet 007"})


def test_fits_of_different_pools_do_not_merge():
    left, right = (sf.fit(sf.Categorical([one, "rest"], pool="rest"), ["a", "b", "c"]) for one in "ab")
    with pytest.raises(DataError, match="levels of Categorical differs"):
        sf.merge(left, right)


def test_a_level_that_is_called_like_the_pool_stays_a_level():
    words = np.where(np.arange(len(CITY)) % 20 == 0, "(other)", CITY)
    found = sf.infer({"city": words})["city"]
    assert found.levels[-1] == "((other))"
    learned = sf.fit(sf.infer({"city": words}), {"city": words}).distribution.blocks["city"].by_label
    assert learned["(other)"] == pytest.approx(np.mean(words == "(other)"))


def test_a_classifier_pools_nothing_so_that_batches_and_parts_add_up():
    classes = np.where(TABLE["size"] > 1, "large", "small")
    whole = sf.NaiveBayes().fit(TABLE[["city"]], classes)
    batches = sf.NaiveBayes()
    for begin in range(0, len(TABLE), 700):
        some = slice(begin, begin + 700)
        batches.partial_fit(TABLE[["city"]][some], classes[some], classes=["large", "small"])
    merged = sf.merge(
        sf.NaiveBayes().fit(TABLE[["city"]][:1000], classes[:1000]),
        sf.NaiveBayes().fit(TABLE[["city"]][1000:], classes[1000:]),
    )
    expected = whole.predict_proba(TABLE[["city"]][:300])
    for one in (batches, merged):
        np.testing.assert_allclose(one.predict_proba(TABLE[["city"]][:300]), expected, rtol=1e-10)


def pooled(levels, rows, weights=None):
    return sf.Categorical(levels, pool="rest").suffstats(rows, weights)


def test_statistics_of_different_pools_do_not_add():
    """In one of them "b" is counted as itself, in the other as "rest"."""
    left, right = pooled(["a", "rest"], ["a", "b", "c"]), pooled(["b", "rest"], ["a", "b", "c"])
    with pytest.raises(DataError, match=r"levels \['a', 'rest'\] and with levels \['b', 'rest'\].*same prototype"):
        _ = left + right
    with pytest.raises(DataError, match="pool='rest' and with pool=None"):
        _ = left + sf.Categorical(["a", "rest"]).suffstats(["a", "rest"])
    with pytest.raises(DataError, match="same prototype"):
        _ = left - right
    tables = [sf.Product({"x": sf.Categorical([one, "rest"], pool="rest")}) for one in "ab"]
    parts = [table.suffstats({"x": ["a", "b", "c"]}) for table in tables]
    with pytest.raises(DataError, match="same prototype"):
        _ = parts[0] + parts[1]


def test_statistics_of_one_pool_add_and_come_back_when_rows_go():
    whole, some = pooled(["a", "b", "rest"], ["a", "b", "c", "a"]), pooled(["a", "b", "rest"], ["b", "c"])
    left = whole - some
    assert left.levels == (("a", "b", "rest"),)
    assert left.count.tolist() == [[[2.0, 0.0, 0.0]]]
    assert (left + some).count.tolist() == whole.count.tolist()
    turned = pooled(["rest", "b", "a"], ["c", "a"])
    assert (whole + turned).count.tolist() == [[[3.0, 1.0, 2.0]]]


def test_the_pool_of_statistics_is_in_their_file():
    fit = sf.fit(sf.Categorical(["a", "rest"], pool="rest"), ["a", "b", "c"])
    again = loads(dumps(fit))
    assert again.statistics.pool == "rest"
    assert (again.statistics + fit.statistics).count.tolist() == [[[2.0, 4.0]]]


def test_statistics_of_another_pool_are_neither_added_nor_estimated_from():
    mine, theirs = sf.Categorical(("A", "rest"), pool="rest"), sf.Categorical(("B", "rest"), pool="rest")
    here, there = sf.fit(mine, list("AAAB")), sf.fit(theirs, list("BBBA"))
    unpooled = sf.fit(sf.Categorical(), list("BBBA")).statistics
    for other in (there.statistics, unpooled):
        for combine in (here.statistics.__add__, mine.estimate, here.distribution.log_likelihood):
            with pytest.raises(DataError, match="the same label is counted in different places"):
                combine(other)
    with pytest.raises(DataError, match="pool=None and with pool='rest'"):
        sf.Categorical().estimate(here.statistics)
    assert mine.estimate(here.statistics + here.statistics) == here.distribution
