"""Holes are filled by the conditional of what a row has; strange rows and cells are found."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from palmerpenguins import load_penguins

import suffice as sf

PENGUINS = load_penguins()
NUMBERS = ["bill_length_mm", "bill_depth_mm", "flipper_length_mm", "body_mass_g"]
COV = np.array([[2.0, 0.6, -0.3], [0.6, 1.0, 0.4], [-0.3, 0.4, 1.5]])
MIXED = sf.Mixture(
    [
        sf.Product(
            {
                ("x", "y"): sf.MultivariateNormal([0.0, 1.0], [[1.0, 0.5], [0.5, 2.0]]),
                "kind": sf.Categorical(("a", "b"), [0.2, 0.8]),
                "yes": sf.Bernoulli(0.9),
                "count": sf.Poisson(2.0),
            }
        ),
        sf.Product(
            {
                ("x", "y"): sf.MultivariateNormal([4.0, -1.0], [[1.0, -0.5], [-0.5, 2.0]]),
                "kind": sf.Categorical(("a", "b"), [0.7, 0.3]),
                "yes": sf.Bernoulli(0.2),
                "count": sf.Poisson(7.0),
            }
        ),
    ],
    weights=[0.4, 0.6],
)
GAUSSIANS = sf.Mixture(sf.MultivariateNormal([[0.0, 1.0, 2.0], [3.0, 0.0, -1.0]], [COV, np.eye(3)]), weights=[0.3, 0.7])


@pytest.fixture(scope="module", params=["independent", "joint"])
def penguins(request):
    """Mixtures of what is inferred from complete rows."""
    complete = PENGUINS.dropna()
    schema = sf.infer(complete, joint=request.param == "joint")
    return sf.fit(sf.Mixture(schema, 3), complete, random_state=0)


def holed(n, seed=0, share=0.25):
    """Rows of the mixed mixture with holes, as a frame, and which cells are holes."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(MIXED.sample(n, rng))
    holes = pd.DataFrame(rng.random(frame.shape) < share, columns=frame.columns)
    return frame.mask(holes), holes


# ---- filling ---------------------------------------------------------------------------------------------------------
def test_penguins_are_completed_alike_from_every_kind_of_frame(penguins):
    found = penguins.impute(PENGUINS)
    assert type(found) is pd.DataFrame
    assert found.notna().all().all()
    seen = PENGUINS.notna()
    assert found.where(seen).equals(PENGUINS.where(seen))
    assert (found.dtypes == PENGUINS.dtypes).all()
    records = PENGUINS.to_dict("records")
    for frame in (pl.from_pandas(PENGUINS), pa.Table.from_pandas(PENGUINS, preserve_index=False)):
        other = penguins.impute(frame)
        assert type(other) is type(frame)
        for name in PENGUINS:
            left, right = found[name].tolist(), pl.DataFrame(other)[name].to_list()
            assert left == right, name
    assert penguins.impute(records)[3]["sex"] == found["sex"][3]
    shifted = PENGUINS.set_index(PENGUINS.index + 1000)
    assert (penguins.impute(shifted).index == shifted.index).all()
    np.testing.assert_array_equal(penguins.impute(shifted)["bill_length_mm"], found["bill_length_mm"])


def test_a_hole_gets_the_conditional_mean_median_or_mode(penguins):
    row = dict(PENGUINS.iloc[3])
    found = penguins.distribution.impute(PENGUINS.iloc[3:4])
    in_units = penguins.impute(PENGUINS.iloc[3:4])
    told = penguins.given({name: value for name, value in row.items() if pd.notna(value)})
    for name in NUMBERS:
        assert found[name].iloc[0] == pytest.approx(told.marginal(name).mean, rel=1e-12)
        decimals = 1 if name.startswith("bill") else 0  # a fit knows the units of its columns
        assert in_units[name].iloc[0] == round(found[name].iloc[0], decimals)
    best = max(("female", "male"), key=lambda level: told.marginal("sex").log_prob([level])[0])
    assert found["sex"].iloc[0] == best
    frame, holes = holed(40)
    filled, sure = MIXED.impute(frame, uncertainty=True)
    for i in range(40):
        given = {name: frame[name][i] for name in frame if not holes[name][i]}
        told = MIXED.given(given) if len(given) < 5 else None
        for name in frame:
            if not holes[name][i]:
                assert filled[name][i] == frame[name][i]
                assert sure[name][i] == (1.0 if name == "kind" else 0.0)
                continue
            one = told.marginal(name)
            if name == "kind":
                probs = np.exp(one.log_prob(["a", "b"]))
                assert filled[name][i] == "ab"[probs.argmax()]
                assert sure[name][i] == pytest.approx(probs.max(), rel=1e-10)
                continue
            expected = one.mean if name in "xy" else one.quantile(0.5)
            assert filled[name][i] == pytest.approx(expected, rel=1e-10, abs=1e-12)
            assert sure[name][i] == pytest.approx(one.std, rel=1e-10)


def test_types_of_columns_stay():
    frame = pl.DataFrame(
        {
            "x": [1.0, None, 3.5],
            "y": [None, 0.0, 1.0],
            "kind": pl.Series(["a", None, "b"], dtype=pl.Categorical),
            "yes": [True, None, False],
            "count": pl.Series([1, None, 9], dtype=pl.Int16),
            "more": ["kept", "as", None],
        }
    )
    found = MIXED.impute(frame)
    assert found.schema == frame.schema
    assert found["more"].to_list() == ["kept", "as", None]
    assert found["yes"].null_count() == found["count"].null_count() == 0


def test_arrays_mappings_and_single_rows_come_back_as_they_came():
    rows = np.array([[1.0, np.nan, 2.0], [0.0, 1.0, 2.0]])
    found = GAUSSIANS.impute(rows)
    assert found.shape == (2, 3)
    assert np.isnan(rows[0, 1])
    assert found[0, 1] == pytest.approx(GAUSSIANS.given({0: 1.0, 2: 2.0}).mean, rel=1e-12)
    np.testing.assert_allclose(GAUSSIANS.impute([1.0, None, 2.0]), found[0])
    one = MIXED.impute({"x": 1.0, "y": None, "kind": "a", "yes": 1, "count": 2})
    assert set(one) == {"x", "y", "kind", "yes", "count"}
    assert isinstance(one["y"], float)
    many = MIXED.impute({"x": [1.0], "y": [None], "kind": ["a"], "yes": [1], "count": [2]})
    assert many["y"][0] == one["y"]
    np.testing.assert_array_equal(sf.Normal(2.0, 1.0).impute([1.0, np.nan]), [1.0, 2.0])
    row = pd.Series({"x": 1.0, "y": None, "kind": "a", "yes": 1, "count": 2})
    assert MIXED.impute(row)["y"] == one["y"]
    column = pd.Series([1.0, None], name="a")
    np.testing.assert_array_equal(sf.Normal(2.0, 1.0).impute(column), [1.0, 2.0])
    with pytest.raises(sf.DataError, match="different lengths"):
        GAUSSIANS.impute([[1.0, 2.0, 3.0], [1.0]])
    whole = np.zeros((2, 3))
    np.testing.assert_array_equal(GAUSSIANS.impute(whole), whole)


def test_a_row_without_any_cell_gets_what_all_rows_have():
    found = GAUSSIANS.impute([[np.nan] * 3])
    np.testing.assert_allclose(found[0], GAUSSIANS.mean, rtol=1e-12)


# ---- draws -----------------------------------------------------------------------------------------------------------
def test_draws_have_the_joint_conditional_distribution():
    n = 20_000
    rows = np.tile([0.5, np.nan, np.nan], (n, 1))
    drawn = GAUSSIANS.impute(rows, draw=True, random_state=1)[:, 1:]
    told = GAUSSIANS.given({0: 0.5})
    error = np.sqrt(np.diag(told.cov) / n)
    assert (np.abs(drawn.mean(axis=0) - told.mean) < 4 * error).all()
    away = drawn - told.mean
    for i, j in ((0, 0), (0, 1), (1, 1)):
        products = away[:, i] * away[:, j]
        assert abs(products.mean() - told.cov[i, j]) < 4 * products.std() / np.sqrt(n)


def test_draws_of_mixed_columns_keep_what_goes_together():
    n = 20_000
    frame = pd.DataFrame({"x": 2.0, "y": np.nan, "kind": None, "yes": np.nan, "count": np.nan}, index=range(n))
    drawn = MIXED.impute(frame, draw=True, random_state=2)
    told = MIXED.given(x=2.0)
    joint = np.exp(told.marginal("kind", "yes").log_prob({"kind": ["a", "a", "b", "b"], "yes": [0, 1, 0, 1]}))
    for p, (kind, yes) in zip(joint, (("a", 0), ("a", 1), ("b", 0), ("b", 1)), strict=True):
        share = ((drawn["kind"] == kind) & (drawn["yes"] == yes)).mean()
        assert abs(share - p) < 4 * np.sqrt(p * (1 - p) / n)
    for name in ("y", "count"):
        one = told.marginal(name)
        assert abs(drawn[name].mean() - one.mean) < 4 * one.std / np.sqrt(n)


def test_several_imputations_differ_and_a_seed_repeats_them():
    frame, holes = holed(60)
    first, second, third = MIXED.impute(frame, n=3, random_state=5)
    again = MIXED.impute(frame, n=3, random_state=5)
    for left, right in zip((first, second, third), again, strict=True):
        pd.testing.assert_frame_equal(left, right)
    assert not first["x"].equals(second["x"])
    seen = ~holes["x"]
    assert (first["x"][seen] == frame["x"][seen]).all()


# ---- what is refused -------------------------------------------------------------------------------------------------
def test_bad_questions_are_refused():
    frame, _ = holed(5)
    with pytest.raises(sf.ParameterError, match="at least 1"):
        MIXED.impute(frame, n=0)
    with pytest.raises(sf.ParameterError, match="leave out uncertainty"):
        MIXED.impute(frame, draw=True, uncertainty=True)
    with pytest.warns(sf.SufficeWarning, match=r"lack the column 'kind' \(is it their 'kinds'\?\)"):
        MIXED.impute(frame.rename(columns={"kind": "kinds"}))
    with pytest.raises(sf.DataError, match="describes 3 columns"):
        GAUSSIANS.impute(np.zeros((4, 2)))
    with pytest.raises(sf.DataError, match="is inf, from which nothing follows"):
        GAUSSIANS.impute([[np.inf, np.nan, 0.0]])
    with pytest.raises(sf.UnsupportedError, match="vectors"):
        sf.Product({"shares": sf.Dirichlet([1.0, 2.0]), "n": sf.Poisson(1.0)}).impute(
            {"n": [1], "shares": [[0.5, 0.5]]}
        )


def test_a_label_never_seen_stays_and_tells_nothing():
    row = {"x": [np.nan], "y": [1.0], "kind": ["z"], "yes": [1], "count": [3]}
    with pytest.warns(sf.SufficeWarning, match="none of the levels"):
        found = MIXED.impute(row)
    assert found["kind"][0] == "z"
    without = MIXED.given(y=1.0, yes=1, count=3).marginal("x").mean
    assert found["x"][0] == pytest.approx(without, rel=1e-12)


# ---- surprisal -------------------------------------------------------------------------------------------------------
def test_surprisals_are_their_definition():
    frame, holes = holed(30)
    found = MIXED.surprisal(frame)
    np.testing.assert_allclose(found.rows, -MIXED.log_prob(frame), rtol=1e-13)
    assert list(found.cells.columns) == ["x", "y", "kind", "yes", "count"]
    for i in range(30):
        seen = {name: frame[name][i] for name in MIXED.column_names if not holes[name][i]}
        for name in MIXED.column_names:
            if holes[name][i]:
                assert np.isnan(found.cells[name][i])
                continue
            others = {other: value for other, value in seen.items() if other != name}
            one = MIXED.given(others).marginal(name) if others else MIXED.marginal(name)
            expected = -one.log_prob([seen[name]])[0]
            assert found.cells[name][i] == pytest.approx(expected, rel=1e-9, abs=1e-10)


@pytest.mark.parametrize(
    "model",
    [
        sf.MultivariateNormal([0.0, 1.0, 2.0], COV),
        sf.MultivariateStudentT(5.0, [0.0, 1.0, 2.0], COV),
        GAUSSIANS,
        sf.Normal([0.0, 1.0, 2.0], [1.0, 2.0, 3.0]),
        sf.Mixture([GAUSSIANS, sf.Normal([0.0, 1.0, 2.0], [1.0, 2.0, 3.0])]),
        sf.Product([sf.MultivariateNormal([0.0, 1.0], COV[:2, :2]), sf.Normal(1.0, 2.0)]),
    ],
    ids=lambda model: type(model).__name__,
)
def test_cells_of_arrays_are_ratios_of_marginals(model):
    rows = np.asarray(model.sample(20, 3))
    rows[::3, 1] = np.nan
    rows[5, 2] = 40.0
    cells = model.surprisal(rows).cells
    assert cells.shape == rows.shape
    for c in range(3):
        others = [j for j in range(3) if j != c]
        expected = model.marginal(*others).log_prob(rows[:, others]) - model.log_prob(rows)
        np.testing.assert_allclose(cells[:, c], np.where(np.isnan(rows[:, c]), np.nan, expected), rtol=1e-9, atol=1e-9)


def test_a_corrupted_cell_is_found(penguins):
    rng = np.random.default_rng(4)
    complete = PENGUINS.dropna().reset_index(drop=True)
    wrong = complete.copy()
    rows = rng.choice(len(complete), 12, replace=False)
    for i, row in enumerate(rows):
        name = NUMBERS[i % 4]
        wrong.loc[row, name] = wrong.loc[row, name] * 2.5
    found = penguins.surprisal(wrong)
    strangest = dict(found.strangest(12))
    assert set(strangest) == set(rows.tolist())
    for i, row in enumerate(rows.tolist()):
        assert strangest[row] == NUMBERS[i % 4]
    assert f"row {found.strangest(1)[0][0]}: " in repr(found)
    assert "Surprisal of 333 rows" in repr(found)


@pytest.mark.parametrize("some", [slice(None), slice(14, 15)], ids=["all rows", "one row"])
def test_which_cell_is_blamed_does_not_depend_on_its_unit(some):
    blamed = []
    for unit in (1.0, 1e-3, 1e9):
        rows = PENGUINS.assign(body_mass_g=PENGUINS["body_mass_g"] * unit)
        fit = sf.fit(sf.MultivariateNormal(), rows[NUMBERS])
        found = fit.surprisal(rows[NUMBERS][some])
        blamed.append(
            [found.strangest(3), [line.split(" = ")[0].split(",")[-1] for line in repr(found).split("\n")[1:]]]
        )
    assert blamed[0] == blamed[1] == blamed[2]
    assert {column for _, column in blamed[0][0]} - {"body_mass_g"}


def test_prints_and_reports_blame_the_same_cell(penguins):
    from suffice.plot.model_view import ModelView
    from suffice.report.strange import strangest

    page = strangest(ModelView.of(penguins, PENGUINS))
    told = [(int(row["row"]), row["cells"][0]["name"]) for row in page if row["cells"]]
    assert told == [pair for pair in penguins.surprisal(PENGUINS).strangest(len(page)) if pair[0] in dict(told)]
    assert len(told) > 4


def test_an_impossible_cell_is_infinitely_strange_and_says_nothing_of_the_others():
    model = sf.Product({"a": sf.Uniform(0.0, 1.0), "b": sf.Normal(), "n": sf.Poisson(2.0)})
    found = model.surprisal({"a": [2.0, 0.5], "b": [0.0, 0.0], "n": [1.0, 1.0]})
    assert np.isinf(found.rows[0])
    assert np.isinf(found.cells["a"][0])
    assert np.isnan(found.cells["b"][0])
    assert np.isfinite(found.cells["b"][1])
    assert found.strangest(1) == [(0, "a")]


def test_fits_without_names_answer_by_place():
    rows = np.random.default_rng(0).multivariate_normal([0, 1, 2], COV, 200)
    fit = sf.fit(sf.MultivariateNormal(), rows)
    assert fit.sample(4, random_state=0).shape == (4, 3)
    assert fit.surprisal(rows).names == (0, 1, 2)
    assert fit.predict(2, given={0: 0.0}).value == pytest.approx(fit.given({0: 0.0}).mean[1])
