"""Pictures of columns, pairs, profiles, starts and evidence show true numbers, whatever the columns are called."""

import numpy as np
import pytest
from matplotlib.colors import to_rgb

import suffice as sf
from suffice.plot.canvas import colour, plain
from suffice.plot.model_view import ModelView, ranked

RNG = np.random.default_rng(11)
WHO = RNG.integers(0, 2, 400)
TABLE = {
    "length": np.where(RNG.random(400) < 0.05, np.nan, RNG.normal(5 * WHO, 1)),
    "width": RNG.normal(2 * WHO, 1),
    "kind": np.array(["p", "q", "r"], dtype=object)[np.minimum(RNG.poisson(0.3 + WHO), 2)],
    "visits": RNG.poisson(1 + 4 * WHO),
    "smokes": RNG.random(400) < 0.2 + 0.6 * WHO,
}
HOSTILE = ("$x_$", r"$\frac{", "<b>&", "a\nb", "\u202eback", "n" * 10_000, "", "$")


@pytest.fixture(autouse=True)
def _no_window():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    yield
    from matplotlib import pyplot as plt

    plt.close("all")


@pytest.fixture(scope="module")
def fit():
    return sf.fit(sf.Mixture(sf.infer(TABLE), 2), TABLE, random_state=0, n_init=4)


def head(ax):
    return ax.get_title(loc="left").replace("\n", " ")


def drawn(ax):
    ax.figure.canvas.draw()  # labels are set in type here, and what Matplotlib cannot read fails
    return ax


# ---- fitted ---------------------------------------------------------------------------------------------------------
def test_a_panel_for_each_column_with_its_name_above(fit):
    panels = sf.plot.fitted(fit)
    assert [head(ax) for ax in panels] == [str(name) for name in ModelView.of(fit).names]
    assert set(map(head, panels)) == set(TABLE)


def test_curves_are_the_components_shares_and_add_up_to_the_whole(fit):
    (ax,) = sf.plot.fitted(fit, columns=["length"])
    whole, *components = ax.lines
    assert len(components) == 2
    x = whole.get_xdata()
    part = fit.distribution.marginal("length")
    np.testing.assert_allclose(whole.get_ydata(), np.exp(part.log_prob(x)), rtol=1e-9)
    np.testing.assert_allclose(np.sum([one.get_ydata() for one in components], axis=0), whole.get_ydata(), rtol=1e-9)
    bars, edges, _ = ax.patches[0].get_data()
    assert np.sum(bars * np.diff(edges)) == pytest.approx(1)
    assert f"{np.isnan(TABLE['length']).sum()} of 400 missing" in ax.get_xlabel()


def test_bars_of_labels_are_the_observed_and_the_fitted_shares(fit):
    (ax,) = sf.plot.fitted(fit, columns=["kind"])
    levels = [text.get_text() for text in ax.get_yticklabels()]
    assert levels == ["p", "q", "r"]
    observed, *components = ax.containers
    np.testing.assert_allclose(
        [bar.get_width() for bar in observed], [np.mean(TABLE["kind"] == level) for level in levels]
    )
    assert len(components) == 2
    ends = [bar.get_x() + bar.get_width() for bar in components[-1]]
    part = fit.distribution.marginal("kind")
    np.testing.assert_allclose(ends, np.exp(part.log_prob(levels)), rtol=1e-9)


def test_counts_stand_at_whole_numbers(fit):
    (ax,) = sf.plot.fitted(fit, columns=["visits"])
    bars, edges, _ = ax.patches[0].get_data()
    np.testing.assert_array_equal(np.diff(edges), 1)
    middle = (edges[:-1] + edges[1:]) / 2
    np.testing.assert_allclose(bars, [np.mean(TABLE["visits"] == value) for value in middle])
    np.testing.assert_array_equal(ax.lines[0].get_xdata(), middle)


def test_many_levels_are_gathered_and_lose_nothing():
    labels = np.array([f"level {i}" for i in range(40)])[np.minimum(RNG.geometric(0.15, 500), 39)]
    (ax,) = sf.plot.fitted(sf.fit(sf.Categorical(), labels), columns=[0])
    assert len(ax.get_yticklabels()) == 10
    assert ax.get_yticklabels()[-1].get_text().endswith("others")
    for container in ax.containers:
        assert sum(bar.get_width() for bar in container) == pytest.approx(1)


def test_one_distribution_has_one_curve_and_no_components():
    (ax,) = sf.plot.fitted(sf.fit(sf.Normal(), [1.0, 2.0, 4.0, np.nan]))
    assert len(ax.lines) == 1
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["observed", "fitted"]


def test_without_rows_the_model_is_drawn_alone():
    (ax,) = sf.plot.fitted(sf.Mixture([sf.Normal(0, 1), sf.Normal(5, 1)]))
    assert len(ax.lines) == 3
    assert not ax.patches


def test_rows_weigh_as_they_did_in_the_fit():
    x, weights = np.array([1.0, 2.0, 3.0, 9.0]), np.array([1.0, 1.0, 1.0, 7.0])
    (ax,) = sf.plot.fitted(sf.fit(sf.Normal(), x, weights=weights))
    bars, edges, _ = ax.patches[0].get_data()
    assert bars[-1] * np.diff(edges)[-1] == pytest.approx(0.7)


def test_of_many_columns_the_most_informative_are_drawn():
    table = {f"noise {i}": RNG.normal(size=200) for i in range(20)}
    who = RNG.integers(0, 2, 200)
    for name in ("first", "second"):
        table[name] = RNG.normal(6 * who, 1)
    columns = {name: sf.Normal() for name in table}
    found = sf.fit(sf.Mixture(sf.Product(columns), 2), table, random_state=0)
    assert len(sf.plot.fitted(found)) == 12
    assert {"first", "second"} <= {head(ax) for ax in sf.plot.fitted(found)}
    names = [ax.get_xlabel() for ax in sf.plot.pairs(found, most=2)[-1] if ax is not None]
    assert names == ["first", "second"]


def test_wrong_columns_are_named(fit):
    with pytest.raises(sf.ParameterError, match=r"'length'.*got 'depth'"):
        sf.plot.fitted(fit, columns=["depth"])
    with pytest.raises(sf.ParameterError, match="Fit it first"):
        sf.plot.fitted(sf.MultivariateNormal())
    with pytest.raises(sf.ParameterError, match="vectors alone"):
        sf.plot.fitted(sf.fit(sf.Dirichlet(), RNG.dirichlet([1, 2, 3], 20)))


# ---- pairs ----------------------------------------------------------------------------------------------------------
def test_pairs_have_ellipses_of_every_component_and_every_row_once(fit):
    grid = sf.plot.pairs(fit, columns=["length", "width"])
    assert grid.shape == (2, 2)
    assert grid[0, 1] is None
    ax = grid[1, 0]
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("length", "width")
    assert len(ax.lines) == 4  # two components at 1 and 2 std
    assert sum(len(points.get_offsets()) for points in ax.collections) == np.isfinite(TABLE["length"]).sum()
    one = fit.distribution.parts[0]
    x, y = ax.lines[0].get_data()
    mean, std = ([one.marginal(name).params[what] for name in ("length", "width")] for what in ("mean", "std"))
    np.testing.assert_allclose([x.min(), x.max()], [mean[0] - std[0], mean[0] + std[0]], rtol=1e-6)
    np.testing.assert_allclose([y.min(), y.max()], [mean[1] - std[1], mean[1] + std[1]], rtol=1e-2)


def test_ellipses_of_a_joint_block_lean():
    table = RNG.multivariate_normal([0, 0], [[2.0, 1.2], [1.2, 1.0]], 300)
    found = sf.fit(sf.MultivariateNormal(), table)
    ax = sf.plot.pairs(found, table)[1, 0]
    x, y = ax.lines[0].get_data()
    away = np.stack([x, y]) - found.params["mean"][:, None]
    distance = np.einsum("ip,ij,jp->p", away, np.linalg.inv(found.params["cov"]), away)
    np.testing.assert_allclose(distance, 1.0, rtol=1e-8)


def test_doubt_makes_points_small_and_pale():
    found = sf.Mixture([sf.Product({"a": sf.Normal(m, 1), "b": sf.Normal(0, 1)}) for m in (-3, 3)])
    rows = {"a": np.array([-4.0, 0.001]), "b": np.zeros(2)}
    ax = sf.plot.pairs(found, rows)[1, 0]
    by_place = {float(p.get_offsets()[0, 0]): p for p in ax.collections}
    sure, torn = by_place[-4.0], by_place[0.001]
    assert sure.get_sizes()[0] > 3 * torn.get_sizes()[0]
    assert sure.get_alpha()[0] > 2 * torn.get_alpha()[0]


def test_labels_stand_at_their_places_near_their_ticks(fit):
    ax = sf.plot.pairs(fit, columns=["kind", "length"])[1, 0]
    assert [text.get_text() for text in ax.get_xticklabels()] == ["p", "q", "r"]
    x = np.concatenate([points.get_offsets()[:, 0] for points in ax.collections])
    assert (np.abs(x - np.round(x)) < 0.3).all()
    seen = np.isfinite(TABLE["length"])
    np.testing.assert_array_equal(
        np.bincount(np.round(x).astype(int)), [np.sum(seen & (TABLE["kind"] == one)) for one in "pqr"]
    )


def test_of_many_rows_some_are_shown_and_it_says_so(fit):
    grid = sf.plot.pairs(fit, columns=["width", "visits"], rows=50)
    assert sum(len(points.get_offsets()) for points in grid[1, 0].collections) == 50
    assert "50 of 400 rows" in grid[1, 0].figure.legends[0].get_title().get_text()


def test_one_column_is_drawn_by_itself():
    grid = sf.plot.pairs(sf.fit(sf.Normal(), [1.0, 2.0, 4.0]))
    assert grid.shape == (1, 1)
    assert len(grid[0, 0].lines) == 1


# ---- profiles -------------------------------------------------------------------------------------------------------
def test_a_profile_shows_means_in_units_of_the_whole_and_probabilities(fit):
    numbers, labels = sf.plot.profile(fit)
    names = [text.get_text() for text in numbers.get_yticklabels()]
    assert sorted(names) == ["length", "visits", "width"]
    dots = [line for line in numbers.lines if line.get_marker() in {"o", "s"}]
    assert len(dots) == 2
    for j, line in enumerate(dots):
        for name, place in zip(names, line.get_xdata(), strict=True):
            whole = fit.distribution.marginal(name)
            one = fit.distribution.parts[j].marginal(name)
            assert place == pytest.approx((float(one.mean) - float(whole.mean)) / float(whole.std))
    lines = [text.get_text() for text in labels.get_yticklabels()]
    assert lines == ["kind = p", "kind = q", "kind = r", "smokes = 1"]
    smokes = [line.get_xdata()[3] for line in labels.lines if line.get_marker() in {"o", "s"}]
    np.testing.assert_allclose(smokes, [float(one.marginal("smokes").p) for one in fit.distribution.parts])


# ---- starts ---------------------------------------------------------------------------------------------------------
def test_every_start_has_a_line_and_the_best_is_kept(fit):
    ax = sf.plot.traces(fit)
    assert len(fit.starts) == 4
    assert sum(one is fit.trace for one in fit.starts) == 1
    lines = [line for line in ax.lines if len(line.get_xdata()) > 1]
    assert len(lines) == 4
    kept = next(line for line in lines if line.get_label() == "kept")
    np.testing.assert_allclose(kept.get_ydata(), fit.trace.objective - fit.trace.objective[-1])
    assert max(path.objective[-1] for path in fit.starts) == pytest.approx(fit.trace.objective[-1], rel=1e-9)
    assert head(ax).startswith("4 starts")


def test_one_start_is_called_so():
    fit = sf.fit(sf.Mixture(sf.Normal(), 2), [0.0, 0.2, 5.0, 5.3], random_state=0)
    assert head(sf.plot.traces(fit)).startswith("one start: converged")
    assert len(fit.starts) == 1
    with pytest.raises(sf.ParameterError, match=r"plot\.traces draws"):
        sf.plot.traces(sf.Normal(0, 1))


# ---- evidence and names ---------------------------------------------------------------------------------------------
def test_evidence_of_joint_columns_keeps_its_labels_short():
    names = [f"a rather long name of a column {i}" for i in range(6)]
    X = dict(zip(names, RNG.normal(size=(6, 90)) + np.arange(90) % 2, strict=True))
    y = np.where(np.arange(90) % 2, "a class with quite a long name, too", "the other class with a long name")
    model = sf.BayesClassifier(sf.Product({tuple(names): sf.MultivariateNormal()})).fit(X, y)
    ax = sf.plot.evidence(model.explain({name: values[0] for name, values in X.items()}))
    ticks = [text.get_text() for text in ax.get_yticklabels()]
    assert ticks[0] == "prior"
    assert ticks[1].endswith("and 5 more")
    assert max(map(len, ticks)) <= 44
    edge = drawn(ax).figure.bbox.x1 + 1
    for text in (ax._left_title, ax.xaxis.label):
        assert text.get_window_extent().x1 <= edge, text


@pytest.mark.parametrize("name", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_names_are_drawn_as_they_are(name):
    table = {name: RNG.normal(size=60), "other": RNG.normal(size=60), "kind": np.array([name, "b"] * 30, dtype=object)}
    found = sf.fit(sf.Mixture(sf.infer(table), 2), table, random_state=0)
    panels = sf.plot.fitted(found)
    others = (*sf.plot.profile(found), sf.plot.pairs(found)[1, 0], sf.plot.mixture(found, columns=[name]))
    for figure in {ax.figure for ax in (*panels, *others)}:
        figure.canvas.draw()
    title = panels[0].get_title(loc="left")
    assert len(title) <= 80
    assert title.replace(r"\$", "").count("$") == 0  # no mathematics


def test_plain_text_has_no_mathematics_and_no_control():
    assert plain("$x_$") == r"\$x_\$"
    assert len(plain("x" * 10_000, 20)) == 20
    assert "\n" not in plain("a\nb")
    assert "\u202e" not in plain("\u202eabc")


def test_components_have_one_colour_in_every_picture(fit):
    grid = sf.plot.pairs(fit, columns=["length", "width"])
    (ax,) = sf.plot.fitted(fit, columns=["length"])
    mix = sf.plot.mixture(fit, columns=["length"])
    wanted = [colour(0), colour(1)]
    assert [line.get_color() for line in ax.lines[1:]] == wanted
    assert [line.get_color() for line in mix.lines[1:]] == wanted
    assert [line.get_color() for line in grid[1, 0].lines[::2]] == wanted


def test_colours_go_to_components_that_are_there_first():
    weights = np.array([1e-9, 0.5, 1e-9, 0.5])
    assert ranked(weights, [1, 3]) == [(1, 0), (3, 1)]
    assert ranked(weights, [0, 1, 2, 3]) == [(0, 2), (1, 0), (2, 3), (3, 1)]


def test_a_share_is_drawn_over_its_whole_range_unless_it_is_narrow():
    (wide,) = sf.plot.fitted(sf.Beta(2, 5))
    np.testing.assert_allclose(wide.lines[0].get_xdata()[[0, -1]], [0, 1])
    (narrow,) = sf.plot.fitted(sf.Beta(200, 500))
    low, high = narrow.lines[0].get_xdata()[[0, -1]]
    assert 0.2 < low < 200 / 700 < high < 0.4


def test_few_rows_have_a_tick_each_in_the_colour_of_their_class():
    level, sick = np.array([236.0, 250, 173, 180, 226, 190, 205]), np.array([1, 1, 0, 0, 1, 0, 0])
    model = sf.NaiveBayes({"level": sf.Normal().tie("std")}, prior=None).fit({"level": level}, sick)
    (ax,) = sf.plot.fitted(model, {"level": level})
    ticks = ax.collections[-1]
    places = [one[0, 0] for one in ticks.get_segments()]
    np.testing.assert_allclose(places, level)
    shades = {line.get_label().partition(",")[0]: to_rgb(line.get_color()) for line in ax.lines[1:]}
    decided = model.predict({"level": level})
    for tint, label in zip(ticks.get_colors(), decided, strict=True):
        np.testing.assert_allclose(tint[:3], shades[str(label)])
    many = np.random.default_rng(0).normal(size=200)
    (ax,) = sf.plot.fitted(sf.fit(sf.Normal(), many))
    assert not any(hasattr(one, "get_segments") for one in ax.collections)
