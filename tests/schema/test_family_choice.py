"""Which family a column of numbers gets: the one that predicts it best, with the number of rows in the judgement."""

import numpy as np
import pytest

import suffice as sf
from suffice.schema import tally
from suffice.schema.tally import Tally

SEEDS = range(5)


def finding(values, **options):
    return sf.infer({"x": values, "other": np.random.default_rng(0).normal(size=len(values))}, **options)["x"]


def draws(rng, n):
    """Columns of each kind, and the families that may be chosen."""
    yield "scale 1-5, all alike", rng.integers(1, 6, n), {"Categorical"}
    yield "scale 1-5, at both ends", rng.choice(5, n, p=[0.4, 0.08, 0.04, 0.08, 0.4]) + 1, {"Categorical"}
    yield "scale 1-7", rng.integers(1, 8, n), {"Categorical"}
    yield "scale 1-6 about 4.4", np.clip(np.round(rng.normal(4.4, 1.3, n)), 1, 6), {"Categorical"}
    yield "marks 0-10", np.clip(np.round(rng.normal(6.5, 2.2, n)), 0, 10), {"Categorical"}
    yield "hours", rng.integers(0, 24, n), {"Categorical"}
    yield "0, 0.5, 1", rng.choice([0.0, 0.5, 1.0], n, p=[0.8, 0.1, 0.1]), {"Categorical"}
    yield "stars by halves", rng.integers(2, 11, n) / 2, {"Categorical"}
    yield "codes with a mean filled in", np.r_[rng.integers(1, 7, n - 1), 3.4161], {"Categorical"}
    yield "t(2)", rng.standard_t(2, n), {"StudentT"}
    yield "shares", rng.beta(2, 5, n), {"Beta"}
    yield "budgets", np.round(rng.lognormal(14, 2, n)), {"LogNormal"}
    yield "ages", np.clip(np.round(rng.normal(40, 18, n)), 0, 95), {"Normal", "HurdleNormal"}
    yield "counts", rng.poisson(3.0, n), {"Poisson"}
    yield "few counts", rng.poisson(0.3, n), {"Poisson"}
    yield "wild counts", rng.negative_binomial(1, 0.1, n), {"NegativeBinomial"}
    yield "temperatures", rng.normal(36.6, 0.4, n).round(1), {"Normal"}
    yield "normal", rng.normal(size=n), {"Normal"}
    yield "two bells", np.r_[rng.normal(-3, 1, n // 2), rng.normal(3, 1, n - n // 2)], {"Normal"}
    spent = np.where(rng.random(n) < 0.3, 0.0, rng.lognormal(3, 1, n))
    yield "spending", spent, {"HurdleLogNormal"}
    yield "spending in cents", spent.round(2), {"HurdleLogNormal"}
    yield "rain", np.where(rng.random(n) < 0.7, 0.0, rng.gamma(1.5, 4.0, n).round(1) + 0.1), {"HurdleGamma"}
    yield "balance", np.where(rng.random(n) < 0.4, 0.0, rng.normal(-20, 90, n).round(2)), {"HurdleNormal"}
    yield "catches", np.where(rng.random(n) < 0.5, 0, rng.poisson(4.0, n)), {"HurdlePoisson", "Categorical"}
    yield "panel", rng.integers(1, 601, 3 * n), {None}


@pytest.mark.parametrize("seed", SEEDS)
def test_the_family_that_made_the_numbers_is_found(seed):
    for name, values, allowed in draws(np.random.default_rng(seed), 1000):
        found = finding(values)
        assert (None if found.family is None else found.family.name) in allowed, (name, found.why)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("n", [2, 3, 5, 7, 9, 15, 20])
def test_few_rows_of_many_values_are_not_labels(seed, n):
    rng = np.random.default_rng(seed)
    values = rng.choice(np.arange(173, 251), n, replace=False)
    if n > 4:
        values[1] = values[0]  # and one that comes twice
    assert finding(values).family.name in {"Normal", "LogNormal", "Gamma"}


def test_labels_are_never_all_different():
    for n in range(2, 21):
        found = finding(np.arange(n)[::-1] * 3 + 5)
        assert found.family is None or found.family.name != "Categorical"


def test_the_classifier_of_a_small_table_knows_new_rows():
    pressure, age, weight = (
        [173, 250, 190, 199, 240, 182, 190],
        [21, 35, 30, 22, 41, 21, 50],
        [90, 130, 100, 99, 120, 91, 88],
    )
    table = {"pressure": pressure, "age": age, "weight": weight}
    model = sf.NaiveBayes().fit(np.column_stack(list(table.values())), [0, 1, 0, 0, 1, 0, 1])
    sure = model.predict_proba([[200, 20, 120], [185, 22, 92]])
    assert np.abs(sure - 0.5).max() > 0.1


def test_items_of_one_questionnaire_are_alike():
    rng = np.random.default_rng(3)
    centres = rng.uniform(2, 5, 25)
    items = {f"item {i}": np.clip(np.round(rng.normal(c, 1.4, 600)), 1, 6) for i, c in enumerate(centres)}
    assert {one.family.name for one in sf.infer(items).findings} == {"Categorical"}


def test_the_reason_names_the_runner_up_and_by_how_much():
    rng = np.random.default_rng(1)
    found = finding(rng.choice(5, 1000, p=[0.4, 0.08, 0.04, 0.08, 0.4]) + 1)
    assert found.why.startswith("5 whole numbers from 1 to 5; runner-up ")
    assert found.why.endswith(" nats a row worse")
    assert float(found.why.split()[-5]) > 0.5
    assert "; " in finding(rng.lognormal(size=100)).why
    assert "; " in finding(rng.poisson(3.0, 100)).why


def test_holes_and_weights_of_0_are_absent():
    rng = np.random.default_rng(2)
    for _, column, _ in draws(rng, 200):
        values = np.asarray(column, dtype=float)
        more = np.r_[values, np.full(50, np.nan), np.full(9, 1234.5)]
        weights = np.r_[np.ones(len(values) + 50), np.zeros(9)]
        alone, among = finding(values), finding(more, weights=weights)
        assert (alone.why, alone.levels, alone.unit) == (among.why, among.levels, among.unit)


def test_large_whole_numbers_that_hardly_repeat_are_amounts():
    rng = np.random.default_rng(4)
    budgets = np.round(rng.lognormal(14, 2, 500))
    budgets[:3] = 0, 1, 2e8
    assert finding(budgets).family.name not in {"Poisson", "NegativeBinomial"}


@pytest.mark.parametrize("rate", [8.0, 20.0, 40.0])
def test_counts_that_stay_away_from_0_are_counts(rate):
    chosen = [finding(np.random.default_rng(seed).poisson(rate, 500)).family.name for seed in range(10)]
    assert chosen.count("Poisson") >= 9


def test_wild_counts_above_ten_are_counts():
    chosen = [finding(np.random.default_rng(seed).negative_binomial(3, 0.2, 500)).family.name for seed in range(10)]
    assert chosen.count("NegativeBinomial") >= 9


def test_whole_measurements_are_amounts():
    for seed in SEEDS:
        rng = np.random.default_rng(seed)
        for n in (20, 60, 200, 500):
            assert finding(rng.normal(170, 10, n).round()).family.name == "Normal"
        assert finding(rng.gamma(5, 20, 500).round()).family.name == "Gamma"
        assert finding(18 + rng.gamma(3, 8, 500).round()).family.name == "LogNormal"


HINTS = {
    "12.3%": "% sign",
    "€1,234.50": "money",
    "1,234.50": "thousands",
    "31/12/2024": "dates",
    "2024-12-31": "dates",
    "13:00:00": "times of day",
    "3 days": "durations",
}


@pytest.mark.parametrize("repeats", [1, 20])
@pytest.mark.parametrize("text", HINTS)
def test_text_that_stands_for_numbers_says_so(text, repeats):
    cells = [text.replace("3", str(1 + i % 9), 1) for i in range(30)] * repeats
    assert HINTS[text] in finding(cells).why
    assert "?" not in finding(["red", "blue", *cells] * 3).why


def test_a_label_column_of_rare_levels_is_said_to_be_like_an_identifier():
    rng = np.random.default_rng(0)
    found = finding([f"town {i}" for i in rng.integers(0, 120, 500)])
    assert found.family.name == "Categorical"
    assert "much like an identifier" in found.why
    assert "identifier" not in finding([f"town {i}" for i in rng.integers(0, 20, 500)]).why


@pytest.mark.parametrize("most", [4096, 100])
@pytest.mark.parametrize("kind", ["normal", "whole", "few", "zeros", "far"])
@pytest.mark.parametrize("seed", [0, 1])
def test_tallies_of_any_cut_add_to_that_of_the_whole(monkeypatch, most, kind, seed):
    monkeypatch.setattr(tally, "MOST", most)
    rng = np.random.default_rng(seed)
    n = 3000
    values = {
        "normal": rng.normal(size=n),
        "whole": rng.integers(-500, 900, n),
        "few": rng.choice([0.0, 0.5, 1.0], n),
        "zeros": np.where(rng.random(n) < 0.5, -0.0, rng.lognormal(size=n)),
        "far": rng.choice(rng.integers(2**60, 2**61, 300), n),
    }[kind]
    groups, weights = rng.integers(-1, 3, n), rng.integers(1, 4, n).astype(float)
    whole = Tally.of(values, weights, groups)
    cuts = np.sort(rng.integers(1, n - 1, 4))
    total = None
    for rows in np.split(rng.permutation(n), cuts):
        if len(rows):
            one = Tally.of(values[rows], weights[rows], groups[rows], 0 if total is None else total.halvings)
            total = one if total is None else one + total
    assert total.halvings == whole.halvings
    for mine, theirs in zip(vars(total).values(), vars(whole).values(), strict=True):
        assert np.array_equal(mine, theirs)
    assert np.count_nonzero(whole.different) <= most
    assert whole.weights[whole.values == 0].sum() == weights[values == 0].sum()


def test_columns_of_few_values_and_of_many_zeros_do_not_make_components_collapse():
    rng = np.random.default_rng(6)
    z = rng.integers(0, 2, 150)
    table = {
        "edema": rng.choice([0.0, 0.5, 1.0], 150, p=[0.8, 0.1, 0.1]),
        "spent": np.where(rng.random(150) < 0.5, 0.0, rng.lognormal(2.0 + 3 * z, 0.5)),
        "size": rng.normal(6.0 * z, 1.0),
    }
    found = sf.select(sf.infer(table), table, n_components=[1, 2], random_state=0)
    assert found.best.distribution.n == 2
    assert not any(code in {"collapsed", "spurious"} for code, _ in found.best.alerts)
