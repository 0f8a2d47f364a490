"""Pictures of mixtures show true numbers, and the pages that are printed about them."""

import numpy as np
import pytest
from scipy import stats

import suffice as sf
from suffice.display.values import measured

RNG = np.random.default_rng(7)
ONE = np.concatenate([RNG.normal(0, 1, 150), RNG.normal(6, 1.5, 250)])
COV = np.array([[2.0, 1.2], [1.2, 1.5]])
TWO = np.concatenate([RNG.multivariate_normal([0, 0], COV, 200), RNG.normal(9, 1, (100, 2))])


@pytest.fixture
def ax():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots()
    yield axes
    plt.close(figure)


def head(ax):
    return ax.get_title(loc="left").replace("\n", " ")


# ---- one column -----------------------------------------------------------------------------------------------------
def test_curves_integrate_to_the_weights_and_add_up_to_the_mixture(ax):
    fit = sf.fit(sf.Mixture(sf.Normal(), 2), ONE, random_state=0)
    assert sf.plot.mixture(fit, ax=ax) is ax
    total, *components = ax.lines
    x, y = total.get_data()
    np.testing.assert_allclose(y, np.exp(fit.log_prob(x)), rtol=1e-12)
    np.testing.assert_allclose(np.sum([one.get_ydata() for one in components], axis=0), y, rtol=1e-12)
    areas = [np.trapezoid(one.get_ydata(), x) for one in components]
    np.testing.assert_allclose(areas, fit.params["weights"], atol=4e-3)  # the ends of the bulk are cut
    assert sum(bar.get_height() * bar.get_width() for bar in ax.patches) == pytest.approx(1)
    assert "2 × Normal" in head(ax)
    assert "400 rows" in head(ax)


def test_a_component_too_narrow_for_the_grid_is_not_missed(ax):
    sf.plot.mixture(sf.Mixture([sf.Normal(0, 1), sf.Normal(0.1234567, 1e-6)], weights=[0.6, 0.4]), ax=ax)
    _, _, narrow = ax.lines
    assert np.trapezoid(narrow.get_ydata(), narrow.get_xdata()) == pytest.approx(0.4, abs=5e-3)


def test_components_of_different_kinds_and_mixtures_inside_are_drawn(ax):
    kinds = [sf.Mixture([sf.Normal(-4, 1), sf.Normal(-1, 0.5)], weights=[0.3, 0.7]), sf.Gamma(9, 2)]
    sf.plot.mixture(sf.Mixture(kinds, weights=[0.25, 0.75]), ax=ax)
    x, y = ax.lines[1].get_data()
    np.testing.assert_allclose(y, 0.25 * (0.3 * stats.norm.pdf(x, -4, 1) + 0.7 * stats.norm.pdf(x, -1, 0.5)), rtol=1e-9)
    np.testing.assert_allclose(ax.lines[2].get_ydata(), 0.75 * stats.gamma.pdf(x, 9, scale=0.5), rtol=1e-9, atol=1e-300)


def test_the_histogram_weighs_rows_as_the_fit_did(ax):
    weights = np.where(ONE > 3, 3.0, 1.0)
    fit = sf.fit(sf.Mixture(sf.Normal(), 2), ONE, weights=weights, random_state=0)
    sf.plot.mixture(fit, ax=ax)
    right = sum(bar.get_height() * bar.get_width() for bar in ax.patches if bar.get_x() > 3)
    left = ax.patches[0].get_x()
    width = ax.patches[0].get_width()
    edge = left + width * np.ceil((3 - left) / width)
    assert right == pytest.approx(weights[edge <= ONE].sum() / weights.sum())


def test_counts_are_drawn_at_whole_numbers(ax):
    counts = np.concatenate([RNG.poisson(2, 100), RNG.poisson(12, 100)])
    fit = sf.fit(sf.Mixture(sf.Poisson(), 2), counts, random_state=0)
    sf.plot.mixture(fit, ax=ax)
    x, y = ax.lines[0].get_data()
    rates, weights = fit.params["rate"], fit.params["weights"]
    np.testing.assert_allclose(y, stats.poisson.pmf(x[:, None], rates) @ weights, rtol=1e-10)
    heights = {round(bar.get_x() + 0.5): bar.get_height() for bar in ax.patches}
    assert heights[2] == pytest.approx(np.mean(counts == 2))
    assert ax.get_ylabel() == "probability"


def test_one_of_several_columns_is_its_marginal(ax):
    fit = sf.fit(sf.Mixture(sf.MultivariateNormal(), 2), TWO, random_state=0)
    sf.plot.mixture(fit, ax=ax, columns=1)
    x, y = ax.lines[0].get_data()
    spreads = np.sqrt(fit.params["cov"][:, 1, 1])
    expected = stats.norm.pdf(x[:, None], fit.params["mean"][:, 1], spreads) @ fit.params["weights"]
    np.testing.assert_allclose(y, expected, rtol=1e-10)
    assert ax.get_xlabel() == "column 1"


# ---- two columns ----------------------------------------------------------------------------------------------------
def axes_of(line, mean):
    """The half-axes of an ellipse drawn around a mean, shortest first."""
    far = np.hypot(*(np.array(line.get_data()) - mean[:, None]))
    return np.array([far.min(), far.max()])


@pytest.mark.parametrize("component", [sf.MultivariateNormal(), sf.Normal()])
@pytest.mark.parametrize("alike", [True, False])
def test_ellipses_have_the_eigenvalues_and_rows_the_colours_of_their_components(ax, component, alike):
    fit = sf.fit(sf.Mixture(component, 2) if alike else sf.Mixture([component, sf.Normal()]), TWO, random_state=0)
    sf.plot.mixture(fit, ax=ax)
    who = fit.predict(TWO)
    for j, (cloud, part) in enumerate(zip(ax.collections, fit.distribution.parts, strict=True)):
        one, two, centre = ax.lines[3 * j : 3 * j + 3]
        cov = part.cov if hasattr(part, "cov") and np.ndim(part.cov) == 2 else np.diag(part.std**2)
        lengths = np.sqrt(np.linalg.eigvalsh(cov))
        np.testing.assert_allclose(axes_of(one, part.mean), lengths, rtol=1e-3)
        np.testing.assert_allclose(axes_of(two, part.mean), 2 * lengths, rtol=1e-3)
        away = np.array(two.get_data()).T - part.mean
        np.testing.assert_allclose(np.einsum("ni,ij,nj->n", away, np.linalg.inv(cov), away), 4.0, rtol=1e-9)
        np.testing.assert_allclose(np.ravel(centre.get_data()), part.mean, rtol=1e-12)
        np.testing.assert_array_equal(cloud.get_offsets(), TWO[who == j])
    colours = {tuple(cloud.get_facecolor()[0]) for cloud in ax.collections}
    assert len(colours) == 2


def test_columns_of_a_table_are_chosen_by_name_or_place(ax):
    table = {"a": TWO[:, 0], "b": TWO[:, 1], "kind": np.where(TWO[:, 0] > 5, "x", "y")}
    person = sf.Product({"a": sf.Normal(), "b": sf.Normal(), "kind": sf.Categorical()})
    fit = sf.fit(sf.Mixture(person, 2), table, random_state=0)
    sf.plot.mixture(fit, ax=ax, columns=("b", 0))
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("b", "a")
    np.testing.assert_array_equal(ax.collections[0].get_offsets(), TWO[fit.predict(table) == 0][:, ::-1])
    np.testing.assert_allclose(np.ravel(ax.lines[2].get_data()), [fit.params[c]["mean"][0] for c in "ba"])
    with pytest.raises(sf.UnsupportedError, match="Categorical"):
        sf.plot.mixture(fit, ax=ax, columns=("a", "kind"))
    with pytest.raises(sf.ParameterError, match="'a', 'b', 'kind'"):
        sf.plot.mixture(fit, ax=ax, columns=("a", "c"))


def test_a_block_of_several_columns_keeps_its_covariance(ax):
    table = {"a": TWO[:, 0], "b": TWO[:, 1], "c": RNG.normal(size=300)}
    component = sf.Product({("a", "b"): sf.MultivariateNormal(), "c": sf.Normal()})
    fit = sf.fit(sf.Mixture(component, 2), table, random_state=0)
    sf.plot.mixture(fit, ax=ax, columns=("b", "a"))
    cov = fit.distribution.parts[0].blocks["a", "b"].cov[::-1, ::-1]
    away = np.array(ax.lines[0].get_data()) - np.array(ax.lines[2].get_data())
    np.testing.assert_allclose(np.einsum("in,ij,jn->n", away, np.linalg.inv(cov), away), 1.0, rtol=1e-9)


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        (lambda: sf.fit(sf.Mixture(sf.Categorical(), 2), list("aabbcc"), random_state=0), "one column of numbers"),
        (sf.Normal, "draws a Mixture"),
        (lambda: sf.Mixture(sf.MultivariateNormal(), 2), "no parameters yet"),
        (lambda: sf.fit(sf.Mixture(sf.Poisson(), 2), [[1, 2], [9, 8], [1, 1]], random_state=0), "Poisson"),
    ],
)
def test_what_cannot_be_drawn_is_said(ax, ask, words):
    with pytest.raises(sf.SufficeError, match=words):
        sf.plot.mixture(ask(), ax=ax)


# ---- learning -------------------------------------------------------------------------------------------------------
def test_the_selection_has_a_line_for_each_structure_and_marks_the_best(ax):
    found = sf.select(sf.MultivariateNormal(), TWO, n_components=[1, 2, 3], structures=["EII", "VVV"], random_state=0)
    assert sf.plot.selection(found, ax=ax) is ax
    pivot = found.table.pivot("bic")
    drawn = {line.get_label(): line for line in ax.lines if line.get_label() in pivot}
    assert set(drawn) == {"EII", "VVV"}
    for name, line in drawn.items():
        assert dict(zip(*line.get_data(), strict=True)) == pivot[name]
    (best,) = (line for line in ax.lines if line.get_label() == "best")
    assert np.ravel(best.get_data()).tolist() == [found.table[0]["n_components"], found.best.bic]
    assert best.get_ydata()[0] == min(min(row.values()) for row in pivot.values())
    assert "lower is better" in ax.get_ylabel()
    with pytest.raises(sf.ParameterError, match="holdout"):
        sf.plot.selection(found, "held_out", ax=ax)
    with pytest.raises(sf.ParameterError, match=r"sf\.select"):
        sf.plot.selection(found.best, ax=ax)


def test_the_trace_shows_every_pass_and_its_bound(ax):
    start = sf.Mixture([sf.Normal(2, 1), sf.Normal(3, 1)])
    fit = sf.fit(sf.Mixture(sf.Normal(), 2), ONE, start=start)
    sf.plot.trace(fit, ax=ax)
    line, circles, level = ax.lines
    np.testing.assert_array_equal(line.get_ydata(), fit.trace.log_likelihood)
    np.testing.assert_array_equal(circles.get_ydata(), fit.trace.bound)
    assert line.get_xdata().tolist() == list(range(1, len(fit.trace.bound) + 1))
    assert level.get_ydata()[0] == fit.log_likelihood
    assert f"{fit.n_iter} passes" in head(ax)


@pytest.fixture(scope="module")
def belief():
    return sf.posterior(sf.Mixture(sf.Normal(), 5), ONE, prior="weak", random_state=0)


def test_the_belief_about_weights_is_a_beta_for_each_component(ax, belief):
    sf.plot.posterior(belief, level=0.9, ax=ax)
    alpha = belief.belief["weights"].alpha
    np.testing.assert_allclose(ax.lines[0].get_ydata(), alpha / alpha.sum(), rtol=1e-12)
    ends = np.array([path[:, 1] for path in ax.collections[0].get_segments()])
    expected = stats.beta(alpha[:, None], (alpha.sum() - alpha)[:, None]).ppf([0.05, 0.95])
    np.testing.assert_allclose(ends, expected, rtol=1e-6, atol=1e-12)
    assert "3 of 5 emptied" in head(ax)


def test_the_belief_about_a_parameter_is_drawn_for_components_with_rows(ax, belief):
    sf.plot.posterior(belief, "mean", ax=ax)
    live = np.flatnonzero(belief.count > 1)
    np.testing.assert_allclose(ax.lines[0].get_ydata(), belief.mean["components"]["mean"][live, 0])
    assert [tick.get_text() for tick in ax.get_xticklabels()] == [str(j) for j in live]
    with pytest.raises(sf.ParameterError, match="mean, std, weights"):
        sf.plot.posterior(belief, "rate", ax=ax)


def test_components_without_rows_are_left_out_of_the_picture(ax, belief):
    sf.plot.mixture(belief, ONE, ax=ax)
    assert len(ax.lines) == 3
    assert "3 components without rows" in head(ax)
    assert "expected parameters" in head(ax)


# ---- pages ----------------------------------------------------------------------------------------------------------
def test_the_page_of_a_belief(belief):
    page = belief.summary(errors=True)
    assert "400 rows" in page
    assert f"log evidence ≥ −{-belief.log_evidence:.1f} · 2 of 5 components have rows" in page
    assert f"converged after {belief.n_iter} passes" in page
    live, emptied = np.flatnonzero(belief.count > 1), np.flatnonzero(belief.count < 1)
    j = int(live[0])
    mean, spread = (float(answer["components"]["mean"][j, 0]) for answer in (belief.mean, belief.std))
    (line,) = (row for row in page.splitlines() if row.startswith(f"  {j} "))
    assert line.split()[:2] == [str(j), f"{belief.count[j]:,.1f}"]
    assert measured(belief.weights[j], belief.std["weights"][j]) in line
    assert measured(mean, spread) in line
    assert f"emptied: {', '.join(map(str, emptied))} (no rows" in page
    assert "\n" not in repr(belief)


def test_the_spread_of_a_belief_is_that_of_its_draws():
    prior = {"weights": sf.StickBreaking(1.0), "components": "weak"}
    for post in (
        sf.posterior(sf.Mixture(sf.Normal(), 3), ONE, prior=prior, random_state=0),
        sf.posterior(sf.Mixture([sf.Normal(), sf.Exponential()]), np.abs(ONE), prior="weak", random_state=0),
    ):
        draws = post.sample(40_000, 1)["weights"]
        np.testing.assert_allclose(post.std["weights"], draws.std(axis=0), rtol=0.05, atol=1e-6)
        ends = np.quantile(draws, [0.1, 0.9], axis=0)
        np.testing.assert_allclose(post.interval(0.8)["weights"], ends, rtol=0.02, atol=2e-3)
    rate = post.sample(40_000, 1)["components"][1]
    np.testing.assert_allclose(post.interval(0.8)["components"][1], np.quantile(rate, [0.1, 0.9]), rtol=0.01)


def test_tables_of_mixtures_inside_products():
    inner = sf.Product({"a": sf.Mixture(sf.Normal(), 2), "b": sf.Normal()})
    fit = sf.fit(sf.Mixture(inner, 2), {"a": TWO[:, 0], "b": TWO[:, 1]}, random_state=0)
    page, errors = fit.summary(errors=True), fit.standard_errors
    assert "a: 1/mean" in page
    for j in range(2):
        block = fit.params["a"][j]
        assert measured(block["weights"][0], errors["a"][j]["weights"][0]) in page
        assert measured(fit.params["b"]["mean"][j], errors["b"]["mean"][j]) in page


def test_tables_of_products_whose_columns_are_numbered_like_the_components():
    fit = sf.fit(sf.Mixture(sf.Product({0: sf.Normal(), 1: sf.Normal()}), 2), TWO, random_state=0)
    row = next(line for line in fit.summary(width=120, errors=True).splitlines() if line.startswith("  1 "))
    errors = fit.standard_errors
    assert [measured(fit.params[c]["mean"][1], errors[c]["mean"][1]) in row for c in (0, 1)] == [True, True]


def test_components_with_columns_of_different_families_are_not_merged():
    table = {"a": np.abs(TWO[:, 0]) + 0.1, "b": TWO[:, 1]}
    components = [sf.Product({"a": sf.Gamma(), "b": sf.Normal()}), sf.Product({"a": sf.Normal(), "b": sf.Normal()})]
    fit = sf.fit(sf.Mixture(components), table, random_state=0)
    assert "unidentified" not in dict(fit.alerts)
    assert "a: shape" in fit.summary(errors=True)


@pytest.mark.parametrize(
    ("distribution", "data", "options", "why"),
    [
        (sf.Mixture(sf.Bernoulli(), 2), np.repeat([[0, 0, 1], [1, 1, 0], [1, 0, 0]], 9, axis=0), {}, "boundary"),
        (sf.Mixture(sf.Normal(), 2), [1.0, 2.0, 3.0, 1.5, 2.5, 9.0], {}, "floor"),
        (sf.Mixture(sf.Bernoulli(), 2), [0, 1, 1, 0, 1], {"prior": "weak"}, "only the prior does"),
        (sf.Mixture(sf.Bernoulli(), 2), [0, 1, 1, 0, 1], {}, "do not tell these numbers apart"),
    ],
)
def test_the_note_below_a_table_gives_the_reason_that_applies(distribution, data, options, why):
    page = sf.fit(distribution, data, random_state=0, **options).summary(width=120, errors=True)
    (note,) = (line for line in page.splitlines() if "± –: not known" in line)
    assert why in note
    assert note.count(";") == 0


@pytest.mark.parametrize("draw", ["trace", "traces"])
def test_changes_below_a_thousandth_of_a_nat_are_not_zoomed_in_on(ax, draw):
    first = sf.fit(sf.Mixture(sf.Normal(), 2), ONE, random_state=0)
    again = sf.fit(sf.Mixture(sf.Normal(), 2), ONE, start=first.distribution, tol=1e-14, accelerate=False)
    assert np.ptp(again.trace.log_likelihood) < 1e-6
    getattr(sf.plot, draw)(again, ax=ax)
    ax.figure.canvas.draw()
    assert ax.yaxis.get_offset_text().get_text() == ""
    low, high = ax.get_ylim()
    assert high - low >= 1e-3 - 1e-9  # but for rounding
    labels = [float(one.get_text().replace("\N{MINUS SIGN}", "-")) for one in ax.get_yticklabels()]
    np.testing.assert_allclose(labels, ax.get_yticks(), atol=1e-5)
    assert len(set(labels)) == len(labels)


def test_a_selection_is_drawn_by_either_spelling_of_a_criterion(ax):
    chosen = sf.select(sf.Normal(), ONE[::4], n_components=[1, 2], criterion="held_out", random_state=0)
    sf.plot.selection(chosen, "heldout", ax=ax)
    assert "held-out" in head(ax)


@pytest.mark.parametrize("draw", ["trace", "traces"])
def test_a_poor_start_does_not_make_the_rest_a_flat_line(ax, draw):
    start = sf.Mixture([sf.Normal(40, 1), sf.Normal(2, 1)])
    fit = sf.fit(sf.Mixture(sf.Normal(), 2), ONE, start=start, accelerate=False)
    path = fit.trace.log_likelihood
    assert path[1] - path[0] > 2 * (path[-1] - path[1])  # the first pass gains most
    getattr(sf.plot, draw)(fit, ax=ax)
    low, high = ax.get_ylim()
    top = path[-1] if draw == "trace" else 0.0
    assert low > top - 1.3 * (path[-1] - path[1]) - 1e-3
    assert high > top
    assert "below the picture: the first pass" in head(ax)


def test_an_ordinary_start_is_drawn_whole(ax):
    fit = sf.fit(sf.Mixture(sf.Normal(), 2), ONE, start=sf.Mixture([sf.Normal(1, 2), sf.Normal(5, 3)]))
    sf.plot.trace(fit, ax=ax)
    assert ax.get_ylim()[0] < fit.trace.log_likelihood[0]
    assert "below the picture" not in head(ax)
