"""Standard errors of mixtures against a Hessian of the log-likelihood that is made here, from scipy's densities."""

import pickle

import numpy as np
import pytest
from scipy import stats
from tests.families import FAMILIES

import suffice as sf
from suffice.models.information import information
from suffice.statistics.weights import Weights
from suffice.tables.streams import read
from suffice.uncertainty.information import chart

MODELS = ["EII", "VII", "EEI", "VEI", "EVI", "VVI", "EEE", "VEE", "EVE", "VVE", "EEV", "VEV", "EVV", "VVV"]


def hessian(f, at, step):
    """Central differences of fourth order of a function of a vector."""
    p = len(at)
    grid = [(-2, 1 / 12), (-1, -8 / 12), (1, 8 / 12), (2, -1 / 12)]
    found = np.zeros((p, p))
    for i in range(p):
        for j in range(i + 1):
            total = 0.0
            for a, c in grid:
                for b, e in grid:
                    moved = np.array(at, dtype=float)
                    moved[i] += a * step[i]
                    moved[j] += b * step[j]
                    total += c * e * f(moved)
            found[i, j] = found[j, i] = total / (step[i] * step[j])
    return found


def delta(log_likelihood, parameters, at, step):
    """Standard errors of ``parameters(z)`` where z are free coordinates with their maximum at ``at``."""
    cov = np.linalg.inv(-hessian(log_likelihood, at, step))
    slopes = []
    for i in range(len(at)):
        shift = np.eye(len(at))[i] * step[i]
        near, far = (parameters(at + s * shift) - parameters(at - s * shift) for s in (1, 2))
        slopes.append((8 * near - far) / (12 * step[i]))
    jacobian = np.array(slopes).T
    return np.sqrt(np.einsum("ei,ij,ej->e", jacobian, cov, jacobian))


def softmax(z):
    odds = np.exp(np.append(z, 0.0))
    return odds / odds.sum()


def two_normals(n, seed):
    rng = np.random.default_rng(seed)
    who = rng.random(n) < 0.3
    return np.where(who, rng.normal(4, 0.8, n), rng.normal(8, 2, n))


@pytest.mark.parametrize("weighted", [False, True])
def test_two_normals(weighted):
    x = two_normals(600, 1)
    w = np.random.default_rng(2).integers(0, 4, len(x)).astype(float) if weighted else np.ones(len(x))
    fit = sf.fit(sf.Mixture(sf.Normal(), 2), x, weights=w if weighted else None, random_state=0)

    def likelihood(z):
        p = softmax(z[:1])
        return w @ np.log(sum(p[j] * stats.norm.pdf(x, z[1 + j], z[3 + j]) for j in range(2)))

    params, errors = fit.params, fit.standard_errors
    at = np.concatenate([[np.log(params["weights"][0] / params["weights"][1])], params["mean"], params["std"]])
    expected = delta(likelihood, lambda z: np.concatenate([softmax(z[:1]), z[1:]]), at, np.full(5, 2e-3))
    found = np.concatenate([errors["weights"], errors["mean"], errors["std"]])
    np.testing.assert_allclose(found, expected, rtol=2e-6)


def test_weight_two_is_the_row_twice():
    x = two_normals(200, 3)
    twice = sf.fit(sf.Mixture(sf.Normal(), 2), np.repeat(x, 2), random_state=0)
    weighted = sf.fit(sf.Mixture(sf.Normal(), 2), x, weights=np.full(len(x), 2.0), start=twice.distribution)
    for name, value in twice.standard_errors.items():
        np.testing.assert_allclose(weighted.standard_errors[name], value, rtol=1e-4)


def test_tied_and_fixed_parameters():
    x = two_normals(800, 4)
    fit = sf.fit(sf.Mixture(sf.Normal().tie("std"), 2), x, random_state=0)

    def likelihood(z):
        p = softmax(z[:1])
        return np.log(sum(p[j] * stats.norm.pdf(x, z[1 + j], z[3]) for j in range(2))).sum()

    params, errors = fit.params, fit.standard_errors
    at = np.concatenate([[np.log(params["weights"][0] / params["weights"][1])], params["mean"], params["std"][:1]])
    expected = delta(likelihood, lambda z: z, at, np.full(4, 2e-3))
    np.testing.assert_allclose([*errors["mean"], *errors["std"]], [*expected[1:], expected[3]], rtol=2e-6)

    half = np.array([0.3, 0.7])
    held = sf.Mixture(sf.Normal(std=1.5).fix("std"), 2, weights=half).fix("weights")
    fit = sf.fit(held, x, random_state=0)

    def means_only(z):
        return np.log(sum(half[j] * stats.norm.pdf(x, z[j], 1.5) for j in range(2))).sum()

    expected = delta(means_only, lambda z: z, fit.params["mean"], np.full(2, 2e-3))
    np.testing.assert_allclose(fit.standard_errors["mean"], expected, rtol=2e-6)
    assert not fit.standard_errors["std"].any()
    assert not fit.standard_errors["weights"].any()


def columns(n, seed, *, holes):
    rng = np.random.default_rng(seed)
    who = rng.random(n) < 0.4
    rows = {
        "size": np.where(who, rng.normal(0, 1, n), rng.normal(2.5, 1.5, n)),
        "count": np.where(who, rng.poisson(2, n), rng.poisson(6, n)).astype(float),
        "kind": np.where(rng.random(n) < np.where(who, 0.2, 0.6), 0, rng.integers(1, 3, n)).astype(float),
    }
    if holes:
        rows["size"][rng.random(n) < 0.15] = np.nan
        rows["count"][rng.random(n) < 0.15] = np.nan
    return rows


@pytest.mark.parametrize("holes", [False, True])
def test_columns_of_three_kinds_with_holes(holes):
    rows = columns(500, 5, holes=holes)
    labelled = {**rows, "kind": [("a", "b", "c")[int(i)] for i in rows["kind"]]}
    product = sf.Product({"size": sf.Normal(), "count": sf.Poisson(), "kind": sf.Categorical()})
    fit = sf.fit(sf.Mixture(product, 2), labelled, random_state=0)
    params, errors = fit.params, fit.standard_errors

    def parameters(z):
        return np.concatenate([softmax(z[:1]), z[1:7], *(softmax(z[7 + 2 * j : 9 + 2 * j]) for j in range(2))])

    def likelihood(z):
        p, total = softmax(z[:1]), 0.0
        for j in range(2):
            size = np.where(np.isnan(rows["size"]), 0, stats.norm.logpdf(rows["size"], z[1 + j], z[3 + j]))
            count = np.where(np.isnan(rows["count"]), 0, stats.poisson.logpmf(rows["count"], z[5 + j]))
            kind = np.log(softmax(z[7 + 2 * j : 9 + 2 * j]))[rows["kind"].astype(int)]
            total = total + p[j] * np.exp(size + count + kind)
        return np.log(total).sum()

    probs = params["kind"]["probs"]
    odds = np.log(probs[:, :2] / probs[:, 2:]).ravel()
    weight = np.log(params["weights"][0] / params["weights"][1])
    at = np.concatenate([[weight], params["size"]["mean"], params["size"]["std"], params["count"]["rate"], odds])
    expected = delta(likelihood, parameters, at, np.full(len(at), 4e-3))
    found = [errors["weights"], errors["size"]["mean"], errors["size"]["std"], errors["count"]["rate"]]
    np.testing.assert_allclose(np.concatenate([*found, errors["kind"]["probs"].ravel()]), expected, rtol=1e-5)


def test_unlike_components_and_a_mixture_inside():
    rng = np.random.default_rng(6)
    x = np.concatenate([rng.exponential(1.0, 250), rng.normal(6, 0.7, 200), rng.normal(9, 1.0, 250)])
    fit = sf.fit(sf.Mixture([sf.Exponential(), sf.Mixture(sf.Normal(), 2)]), x, random_state=0)
    params, errors = fit.params, fit.standard_errors
    inner = params[1]

    def likelihood(z):
        p, q = softmax(z[:1]), softmax(z[1:2])
        normals = sum(q[j] * stats.norm.pdf(x, z[3 + j], z[5 + j]) for j in range(2))
        return np.log(p[0] * stats.expon.pdf(x, scale=1 / z[2]) + p[1] * normals).sum()

    logit = [np.log(w[0] / w[1]) for w in (params["weights"], inner["weights"])]
    at = np.array([*logit, params[0]["rate"], *inner["mean"], *inner["std"]])
    expected = delta(
        likelihood, lambda z: np.array([softmax(z[:1])[0], softmax(z[1:2])[0], *z[2:]]), at, np.full(7, 2e-3)
    )
    found = [errors["weights"][0], errors[1]["weights"][0], errors[0]["rate"], *errors[1]["mean"], *errors[1]["std"]]
    np.testing.assert_allclose(found, expected, rtol=1e-5)


@pytest.mark.parametrize(
    ("family", "density", "names"),
    [
        (sf.StudentT(df=4.0).fix("df"), lambda x, a, b: stats.t.pdf(x, 4, a, b), ("loc", "scale")),
        (sf.Gamma(), lambda x, a, b: stats.gamma.pdf(x, a, scale=1 / b), ("shape", "rate")),
        (sf.Weibull(), lambda x, a, b: stats.weibull_min.pdf(x, a, scale=b), ("shape", "scale")),
    ],
)
def test_families_of_two_numbers(family, density, names):
    x = two_normals(500, 7)
    x = x[x > 0.1]
    fit = sf.fit(sf.Mixture(family, 2), x, random_state=0, tol=1e-14, max_iter=5000)

    def likelihood(z):
        p = softmax(z[:1])
        return np.log(sum(p[j] * density(x, z[1 + j], z[3 + j]) for j in range(2))).sum()

    params, errors = fit.params, fit.standard_errors
    weight = np.log(params["weights"][0] / params["weights"][1])
    at = np.concatenate([[weight], *(params[name] for name in names)])
    expected = delta(likelihood, lambda z: z, at, 1e-3 * np.maximum(np.abs(at), 0.1))
    np.testing.assert_allclose(np.concatenate([errors[name] for name in names]), expected[1:], rtol=1e-3)


def clusters(seed=8, n=140):
    rng = np.random.default_rng(seed)
    root = np.array([[1.0, 0.0, 0.0], [0.6, 1.3, 0.0], [-0.3, 0.4, 0.7]])
    first = rng.normal(size=(n, 3)) @ root.T
    second = rng.normal(size=(n // 2, 3)) @ (1.4 * root @ np.diag([0.6, 1.0, 1.5])).T + [2.0, 1.5, -1.0]
    return np.concatenate([first, second])


def composed(letters, k, d):
    """Free coordinates of volume, shape and orientation, written out: how many, and what they make of axes."""
    angles = d * (d - 1) // 2
    volume = 1 if letters[0] == "E" else k
    shape = {"I": 0, "E": d - 1, "V": k * (d - 1)}[letters[1]]
    turn = {"I": 0, "E": angles, "V": k * angles}[letters[2]]

    def covariances(z, axes, values):
        out = []
        for j in range(k):
            lam = z[:volume][0 if volume == 1 else j]
            a = np.zeros(d)
            if shape:
                own = z[volume : volume + shape].reshape(-1, d - 1)
                a[: d - 1] = own[0 if letters[1] == "E" else j]
                a[d - 1] = -a[: d - 1].sum()
            skew = np.zeros((d, d))
            if turn:
                own = z[volume + shape :].reshape(-1, angles)
                skew[np.triu_indices(d, 1)] = own[0 if letters[2] == "E" else j]
            half = (skew - skew.T) / 2
            rotated = axes[j] @ np.linalg.solve(np.eye(d) - half, np.eye(d) + half)  # Cayley's rotation
            out.append(rotated @ np.diag(values[j] * np.exp(lam + a)) @ rotated.T)
        return np.array(out)

    return volume + shape + turn, covariances


@pytest.mark.parametrize(("letters", "d"), [*((letters, 2) for letters in MODELS), ("EVE", 3), ("VEV", 3)])
def test_every_structure(letters, d):
    x, k = clusters()[:, :d], 2
    fit = sf.fit(sf.Mixture(sf.MultivariateNormal(structure=letters), k), x, random_state=0, tol=1e-15, max_iter=3000)
    model, errors = fit.distribution, fit.standard_errors
    cov, mean = np.asarray(fit.params["cov"]), fit.params["mean"]
    if letters[2] == "E":  # one set of axes for all
        axes = np.broadcast_to(np.linalg.eigh(cov[0] + 1.37 * cov[1])[1], cov.shape)
        values = np.einsum("kij,kia,kja->ka", cov, axes, axes)
    elif letters[2] == "I":
        axes, values = np.broadcast_to(np.eye(d), cov.shape), np.einsum("kii->ki", cov)
    else:
        values, axes = np.linalg.eigh(cov)
    size, covariances = composed(letters, k, d)
    np.testing.assert_allclose(covariances(np.zeros(size), axes, values), cov, rtol=1e-6, atol=1e-8)
    assert chart(model).size == fit.n_parameters == size + k * d + k - 1

    def likelihood(z):
        p, means, sigma = softmax(z[:1]), z[1 : 1 + k * d].reshape(k, d), covariances(z[1 + k * d :], axes, values)
        away = np.linalg.solve(np.linalg.cholesky(sigma), np.swapaxes(x - means[:, None, :], 1, 2))
        heights = np.exp(-0.5 * np.square(away).sum(axis=1)) / np.sqrt(np.linalg.det(2 * np.pi * sigma))[:, None]
        return np.log(p @ heights).sum()

    def parameters(z):
        return np.concatenate([softmax(z[:1]), z[1 : 1 + k * d], covariances(z[1 + k * d :], axes, values).ravel()])

    weight = np.log(fit.params["weights"][0] / fit.params["weights"][1])
    at = np.concatenate([[weight], mean.ravel(), np.zeros(size)])
    expected = delta(likelihood, parameters, at, np.full(len(at), 5e-3))
    found = np.concatenate([errors["weights"], errors["mean"].ravel(), errors["cov"].ravel()])
    np.testing.assert_allclose(found, expected, rtol=2e-3, atol=1e-7)


def test_scores_are_derivatives():
    """Σ w s = 0 at the maximum, for each kind of component, and the outer product of scores is near the information."""
    x = two_normals(20000, 9)
    for prototype in (sf.Normal(), sf.LogNormal(), sf.Gamma()):
        fit = sf.fit(sf.Mixture(prototype, 2), np.abs(x) + 0.1, random_state=0, tol=1e-15, max_iter=3000)
        found = chart(fit.distribution)
        rows = fit.distribution.read(np.abs(x) + 0.1)
        ((_, score),) = found.scores(rows)
        spread = np.sqrt(np.square(score).sum(axis=0))
        assert (np.abs(score.sum(axis=0)) < 1e-3 * spread).all()


def test_blocks_do_not_matter():
    x = two_normals(5000, 10)
    fit = sf.fit(sf.Mixture(sf.Normal(), 2), x, random_state=0)
    rows = fit.distribution.read(x)
    whole = information(fit.distribution, rows, Weights.of(None, len(x)))[1]
    parts = [
        information(fit.distribution, rows[part], Weights.of(None, 2500))[1]
        for part in (slice(2500), slice(2500, None))
    ]
    np.testing.assert_allclose(whole, sum(parts), rtol=1e-9, atol=1e-6)


def test_a_kink_and_a_jump():
    """Laplace has scores and no second derivatives; the bounds of Uniform have neither."""
    rng = np.random.default_rng(11)
    x = np.concatenate([rng.laplace(0, 1, 3000), rng.laplace(30, 2, 1500)])  # apart: as two fits of their own
    errors = sf.fit(sf.Mixture(sf.Laplace(), 2), x, random_state=0).standard_errors
    np.testing.assert_allclose(errors["loc"], [1 / np.sqrt(3000), 2 / np.sqrt(1500)], rtol=0.05)
    np.testing.assert_allclose(errors["scale"], [1 / np.sqrt(3000), 2 / np.sqrt(1500)], rtol=0.1)
    both = sf.fit(sf.Mixture([sf.Normal(), sf.Uniform()]), np.concatenate([x[:3000], rng.uniform(50, 60, 1000)]))
    assert np.isnan(both.standard_errors[1]["low"])
    assert np.isfinite([both.standard_errors[0]["mean"], *both.standard_errors["weights"]]).all()


def test_what_the_rows_do_not_tell_is_nan():
    points = sf.fit(sf.Mixture(sf.Normal(), 2), [1.0, 1.0, 1.0, 5.0, 5.0, 5.0], random_state=0)
    assert np.isnan(points.standard_errors["mean"]).all()
    np.testing.assert_allclose(points.standard_errors["weights"], np.sqrt(0.25 / 6))
    assert "not known" in points.summary(errors=True)
    rng = np.random.default_rng(12)
    begin = sf.Mixture([sf.Normal(0, 1), sf.Normal(0.01, 1)])  # all but equal components: the information is singular
    stuck = sf.fit(sf.Mixture(sf.Normal(), 2), rng.normal(size=400), start=begin, max_iter=1)
    assert np.isnan(stuck.standard_errors["mean"]).all()
    assert "not known" in stuck.summary(errors=True)


def test_a_pickled_fit_says_that_the_rows_are_gone():
    fit = sf.fit(sf.Mixture(sf.Normal(), 2), two_normals(300, 13), random_state=0)
    copy = pickle.loads(pickle.dumps(fit))  # noqa: S301 (our own bytes)
    with pytest.raises(sf.UnsupportedError, match="need the rows"):
        _ = copy.standard_errors
    assert "no longer in memory" in copy.summary(errors=True)
    known = fit.standard_errors
    again = pickle.loads(pickle.dumps(fit))  # noqa: S301 (our own bytes)
    np.testing.assert_array_equal(again.standard_errors["mean"], known["mean"])


def test_intervals_stay_inside_the_domain():
    fit = sf.fit(sf.Mixture(sf.Normal(), 2), [0.0, 0.1, 0.2, 0.3, 9.0, 9.9], random_state=0)
    for name, (low, high) in fit.interval(0.999).items():
        assert (low <= fit.params[name]).all()
        assert (high >= fit.params[name]).all()
    assert (fit.interval(0.999)["weights"][0] >= 0).all()
    assert (fit.interval(0.999)["weights"][1] <= 1).all()
    assert (fit.interval(0.9999)["std"][0] >= 0).all()


def shapes(values):
    if isinstance(values, dict):
        return {key: shapes(value) for key, value in values.items()}
    return np.shape(values)


@pytest.mark.parametrize("name", FAMILIES)
def test_every_family_has_errors_in_the_shape_of_its_parameters(name):
    rng = np.random.default_rng(14)
    one = FAMILIES[name].example(rng)
    x = one.sample(150, random_state=15)
    fit = sf.fit(sf.Mixture(one, 2), x, random_state=0, max_iter=50)
    assert shapes(fit.standard_errors) == shapes(fit.params)
    assert shapes({key: value[0] for key, value in fit.interval().items()}) == shapes(fit.params)
    assert "weight" in fit.summary(errors=True)


# ---- next to a boundary ----------------------------------------------------------------------------------------------
def sorts(n=40):
    rng = np.random.default_rng(16)
    return {"x": np.append(rng.normal(0, 1, n), rng.normal(5, 1, n)), "c": ["a", "b"] * (n // 2) + ["b"] * n}


def at(share, weights=None):
    """Codes of alerts and standard errors where the second component says that ``share`` of its rows are an a."""
    rows = sorts()
    probs = ([0.5, 0.5], [share, 1 - share])
    mixture = sf.Mixture(
        [sf.Product({"x": sf.Normal(5 * j, 1), "c": sf.Categorical(["a", "b"], probs[j])}) for j in range(2)]
    )
    stats = mixture.suffstats(rows, weights)
    data = (read(mixture, rows), Weights.of(weights, 80))
    return [code for code, _ in mixture.alerts(stats)], mixture.errors_from(stats, data)


@pytest.mark.parametrize("share", [1e-300, 1e-12, 4e-7])
@pytest.mark.parametrize("weight", [1.0, 1e-7, 50.0])
def test_next_to_a_boundary_is_on_it(share, weight):
    weights = np.full(80, weight)
    near, edge = at(share, weights), at(0.0, weights)
    assert near[0] == edge[0] == ["boundary"]
    assert np.isnan(near[1]["c"]["probs"][1]).all()
    assert np.isfinite(near[1]["c"]["probs"][0]).all()
    for name in ("mean", "std"):
        np.testing.assert_allclose(near[1]["x"][name], edge[1]["x"][name], rtol=1e-4)


def test_a_share_that_rows_speak_of_has_an_error():
    codes, errors = at(0.01)  # 0.4 rows
    assert codes == []
    assert (errors["c"]["probs"][1] > 0.005).all()


def test_where_em_ends_does_not_decide_what_is_known():
    rows = {"x": [0.0, 1, 2, 3, 4] * 8 + [5, 6, 7, 8, 9.0] * 8, "c": ["a", "b"] * 20 + ["b"] * 40}
    fit = sf.fit(sf.Mixture(sf.Product({"x": sf.Normal(), "c": sf.Categorical()}), 2), rows, random_state=0)
    low, high = fit.interval()["c"]["probs"]
    assert 0 < fit.params["c"]["probs"][1, 0] < 1e-6
    assert np.isnan([low[1], high[1]]).all()
    assert np.isfinite([low[0], high[0]]).all()
    (alert,) = fit.alerts
    assert alert[0] == "boundary"
    assert "level 'a' got probability 0 in some components" in alert[1]
    assert "± –: not known, on the boundary" in fit.summary(errors=True)


def test_rare_successes_in_many_trials_are_no_boundary():
    trials, rng = 10**7, np.random.default_rng(17)
    x = np.append(rng.binomial(trials, 5e-7, 60), rng.binomial(trials, 5e-6, 60))
    fit = sf.fit(sf.Mixture(sf.Binomial(trials), 2), x, random_state=0)
    assert fit.alerts == ()
    np.testing.assert_allclose(fit.standard_errors["p"], np.sqrt([5e-7 / 6e8, 5e-6 / 6e8]), rtol=0.3)


def test_a_component_without_rows_has_a_weight_without_an_error():
    x = np.random.default_rng(18).normal(size=200)
    mixture = sf.Mixture([sf.Normal(0, 1), sf.Normal(90, 1)], weights=[1 - 1e-11, 1e-11])
    stats = mixture.suffstats(x)
    errors = mixture.errors_from(stats, (read(mixture, x), Weights.of(None, 200)))
    assert "empty" in dict(mixture.alerts(stats))
    assert np.isnan(errors["weights"]).all()
    assert np.isnan([errors["mean"][1], errors["std"][1]]).all()
    np.testing.assert_allclose(errors["mean"][0], 1 / np.sqrt(200), rtol=0.1)
