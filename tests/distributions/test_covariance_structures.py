"""The fourteen covariance structures: each M-step against a numerical maximiser, and what the letters promise.

One long file, since all of it shares the structures written as free numbers.
"""

import numpy as np
import pytest
from scipy import optimize

import suffice as sf
from suffice.distributions.covariance_algebra import objective
from suffice.distributions.covariance_structures import STRUCTURES

NAMES = ["EII", "VII", "EEI", "VEI", "EVI", "VVI", "EEE", "VEE", "EVE", "VVE", "EEV", "VEV", "EVV", "VVV"]
SIZES = [(1, 3), (2, 2), (3, 3), (4, 2), (3, 1)]
AFFINE = ["EEE", "VEE", "EVV", "VVV"]
ALIASES = {"full": "VVV", "diag": "VVI", "spherical": "VII", "tied": "EEE"}


def problem(k, d, seed=0):
    """Scatter matrices and unequal weights; the components differ in volume, shape and orientation."""
    rng = np.random.default_rng([k, d, seed])
    weight = rng.uniform(4, 60, k)
    root = rng.normal(size=(k, d, d + 3)) * np.exp(0.7 * rng.normal(size=(k, d, 1)))
    return weight[:, None, None] * (root @ np.swapaxes(root, 1, 2)) / (d + 3), weight


def estimate(name, scatter, weight, **options):
    return np.broadcast_to(STRUCTURES[name].m_step(scatter, weight, **options), scatter.shape)


class Parametrised:
    """A structure by free numbers: log volumes, log shapes, and angles by Cayley's formula."""

    def __init__(self, name, k, d):
        self.name, self.k, self.d = name, k, d
        self.sizes = [
            {"E": 1, "V": k}[name[0]],
            {"I": 0, "E": 1, "V": k}[name[1]] * (d - 1),
            {"I": 0, "E": 1, "V": k}[name[2]] * (d * (d - 1) // 2),
        ]

    @property
    def size(self):
        return sum(self.sizes)

    def parts(self, theta):
        k, d = self.k, self.d
        volume, shape, _ = np.split(theta, np.cumsum(self.sizes)[:2])
        log_shape = np.zeros((max(1, len(shape) // max(d - 1, 1)), d))
        if shape.size:
            log_shape[:, 1:] = shape.reshape(-1, d - 1)
            log_shape -= log_shape.mean(axis=1, keepdims=True)
        variances = np.broadcast_to(np.exp(volume)[:, None] * np.exp(log_shape), (k, d))
        skew = self.skew(theta)
        axes = np.linalg.solve(np.eye(d) - skew, np.eye(d) + skew)
        return np.broadcast_to(axes, (k, d, d)), variances

    def skew(self, theta):
        d, angles = self.d, theta[len(theta) - self.sizes[2] :]
        skew = np.zeros((max(1, len(angles) // max(d * (d - 1) // 2, 1)), d, d))
        if angles.size:
            skew[:, *np.triu_indices(d, 1)] = angles.reshape(len(skew), -1)
        return skew - np.swapaxes(skew, 1, 2)

    def cov(self, theta):
        axes, variances = self.parts(theta)
        return (axes * variances[:, None, :]) @ np.swapaxes(axes, 1, 2)

    def loss(self, theta, scatter, weight):
        """½ Σ (weight log|Σ| + tr Σ⁻¹ scatter) and its gradient."""
        axes, v = self.parts(theta)
        along = np.einsum("kia,kij,kja->ka", axes, scatter, axes)
        by_log = 0.5 * (weight[:, None] - along / v)
        volume = by_log.sum(axis=1)
        volume = [volume.sum()] if self.name[0] == "E" else volume
        shape = by_log - by_log.mean(axis=1, keepdims=True)
        shape = shape.sum(axis=0, keepdims=True) if self.name[1] == "E" else shape
        skew = self.skew(theta)
        upon = np.linalg.solve(np.eye(self.d) + skew, scatter @ axes / v[:, None, :]) @ (
            np.swapaxes(axes, 1, 2) + np.eye(self.d)
        )
        upon = upon.sum(axis=0, keepdims=True) if self.name[2] == "E" else upon
        angles = (upon - np.swapaxes(upon, 1, 2))[:, *np.triu_indices(self.d, 1)]
        slopes = np.concatenate(
            [volume, shape[:, 1:].ravel() * (self.name[1] != "I"), angles.ravel() * (self.name[2] != "I")]
        )
        keep = np.concatenate([np.ones(self.sizes[0]), np.ones(shape[:, 1:].size), np.ones(angles.size)]) > 0
        keep[self.sizes[0] : self.sizes[0] + shape[:, 1:].size] = self.name[1] != "I"
        keep[len(keep) - angles.size :] = self.name[2] != "I"
        return 0.5 * ((weight[:, None] * np.log(v)).sum() + (along / v).sum()), slopes[keep]

    def best(self, scatter, weight, rng, starts):
        """The largest objective that a general maximiser finds from several places."""
        total = weight.sum()

        def loss(theta):
            value, slopes = self.loss(theta, scatter, weight)
            return value / total, slopes / total

        options = {"ftol": 1e-13, "gtol": 1e-8, "maxiter": 400}
        places = rng.normal(size=(starts, self.size))
        return -total * min(
            optimize.minimize(loss, at, jac=True, method="L-BFGS-B", options=options).fun for at in places
        )


# ---- the M-step ------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize("name", NAMES)
def test_the_m_step_is_the_maximum(name, size):
    scatter, weight = problem(*size)
    ours = objective(estimate(name, scatter, weight), scatter, weight)
    theirs = Parametrised(name, *size).best(scatter, weight, np.random.default_rng(1), 2)
    assert theirs <= ours + 1e-9 * abs(ours)
    assert theirs >= ours - 1e-7 * abs(ours) or theirs >= Parametrised(name, *size).best(
        scatter, weight, np.random.default_rng(2), 6
    )  # where the general maximiser is caught, more starts do not catch up with ours either


@pytest.mark.parametrize("seed", [0, 3])
@pytest.mark.parametrize("name", ["EVE", "VVE"])
def test_common_axes_are_the_best_of_many_maxima(name, seed):
    scatter, weight = problem(3, 3, seed)
    ours = objective(estimate(name, scatter, weight), scatter, weight)
    theirs = Parametrised(name, 3, 3).best(scatter, weight, np.random.default_rng(seed), 3)
    assert theirs <= ours + 1e-9 * abs(ours)


@pytest.mark.parametrize("name", NAMES)
def test_no_m_step_falls_from_any_beginning(name):
    scatter, weight = problem(3, 3, 1)
    form, rng = Parametrised(name, 3, 3), np.random.default_rng(0)
    top = objective(estimate(name, scatter, weight), scatter, weight)
    for _ in range(10):
        current = form.cov(rng.normal(size=form.size))
        reached = objective(estimate(name, scatter, weight, current=current), scatter, weight)
        assert reached >= objective(current, scatter, weight)
        assert reached <= top + 1e-9 * abs(top)
        if name[2] != "E" or name in ("EEE", "VEE"):  # one maximum: every beginning leads to it
            assert reached == pytest.approx(top, rel=1e-10)


@pytest.mark.parametrize("name", NAMES)
def test_the_estimate_stays_where_it_is(name):
    scatter, weight = problem(4, 3, 2)
    once = estimate(name, scatter, weight)
    np.testing.assert_allclose(estimate(name, scatter, weight, current=once), once, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(
        estimate(name, weight[:, None, None] * once, weight, current=once), once, rtol=1e-7, atol=1e-9
    )


# ---- what the letters say --------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", NAMES)
def test_what_is_equal_is_equal_and_what_varies_varies(name):
    cov = estimate(name, *problem(3, 3, 3))
    values = np.linalg.eigvalsh(cov)
    volume = np.exp(np.log(values).mean(axis=1))
    shape = values / volume[:, None]
    assert np.allclose(volume, volume[0], rtol=1e-10) == (name[0] == "E")
    if name[1:] == "VI" or name == "EVI":
        shape = np.einsum("kii->ki", cov) / volume[:, None]
    assert np.allclose(shape, shape[0], rtol=1e-7) == (name[1] != "V")
    assert np.allclose(shape, 1.0) == (name[1] == "I")
    off = np.abs(cov - np.eye(3) * cov).max()
    assert (off < 1e-12) == (name[2] == "I")
    commuting = [np.abs(a @ b - b @ a).max() < 1e-10 * np.abs(a @ b).max() for a in cov for b in cov]
    assert all(commuting) == (name[2] != "V")


@pytest.mark.parametrize("name", NAMES)
def test_one_column_has_only_a_volume(name):
    scatter, weight = problem(3, 1)
    cov = estimate(name, scatter, weight)[:, 0, 0]
    want = scatter.sum() / weight.sum() if name[0] == "E" else scatter[:, 0, 0] / weight
    np.testing.assert_allclose(cov, np.broadcast_to(want, 3), rtol=1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_one_component_has_only_its_own_shape_and_orientation(name):
    scatter, weight = problem(1, 3)
    equal = {"I": "VII", "E": "VVI", "V": "VVI"}[name[1]] if name[2] == "I" else "VVV"
    np.testing.assert_allclose(
        estimate(name, scatter, weight), estimate(equal, scatter, weight), rtol=1e-10, atol=1e-12
    )
    rows = np.random.default_rng(0).normal(size=(40, 3)) @ [[2.0, 1, 0], [0, 1, 0.5], [0, 0, 0.3]]
    ours, theirs = (sf.fit(sf.MultivariateNormal(structure=one), rows) for one in (name, equal))
    assert ours.log_likelihood == pytest.approx(theirs.log_likelihood, rel=1e-12)
    assert ours.n_parameters == theirs.n_parameters
    np.testing.assert_allclose(ours.standard_errors["cov"], theirs.standard_errors["cov"], rtol=1e-8, atol=1e-12)


@pytest.mark.parametrize(("alias", "name"), ALIASES.items())
def test_old_names_are_the_same_objects(alias, name):
    assert STRUCTURES[alias] is STRUCTURES[name]


MCLUST = {  # the counts of mclust's nVarParams, written out for k = 3, d = 4
    "EII": 1,
    "VII": 3,
    "EEI": 4,
    "VEI": 6,
    "EVI": 10,
    "VVI": 12,
    "EEE": 10,
    "VEE": 12,
    "EVE": 16,
    "VVE": 18,
    "EEV": 22,
    "VEV": 24,
    "EVV": 28,
    "VVV": 30,
}


@pytest.mark.parametrize("name", NAMES)
def test_parameters_are_counted_as_mclust_counts_them(name):
    assert STRUCTURES[name].count(3, 4) == MCLUST[name]
    for k, d in SIZES:
        assert STRUCTURES[name].count(k, d) == Parametrised(name, k, d).size
    stack = sf.MultivariateNormal(np.zeros(4), np.eye(4), structure=name).stack(3)
    assert stack.n_parameters == 12 + MCLUST[name]
    assert stack.tie("mean").n_parameters == 4 + MCLUST[name]


@pytest.mark.parametrize("name", NAMES)
def test_turning_and_stretching_the_columns(name):
    scatter, weight = problem(3, 3, 4)
    rng = np.random.default_rng(9)
    rotation = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    maps = {
        "turn": rotation if name[2] != "I" or name[1] == "I" else np.eye(3)[[2, 0, 1]],
        "unit": 7.0 * np.eye(3),
        "stretch": np.diag([1e-3, 1.0, 1e3]) if name[1:] in ("EI", "VI") or name in AFFINE else np.eye(3),
        "any": rng.normal(size=(3, 3)) if name in AFFINE else np.eye(3),
    }
    plain = estimate(name, scatter, weight)
    for how in maps.values():
        moved = estimate(name, how @ scatter @ how.T, weight)
        want = how @ plain @ how.T
        spread = np.sqrt(np.einsum("kii->ki", want))
        np.testing.assert_allclose(
            moved / (spread[:, :, None] * spread[:, None, :]),
            want / (spread[:, :, None] * spread[:, None, :]),
            atol=1e-6,
        )


# ---- components without rows, scatter without rank
# ----------------------------------------------------------------------
@pytest.mark.parametrize("name", NAMES)
def test_a_component_without_rows_changes_nothing_for_the_others(name):
    scatter, weight = problem(3, 3, 5)
    alone = estimate(name, scatter[:2], weight[:2])
    weight[2], scatter[2] = 0.0, 0.0
    current = estimate(name, *problem(3, 3, 6))
    for options in ({}, {"current": current}):
        cov = estimate(name, scatter, weight, **options)
        if name not in ("EVE", "VVE") or not options:  # those may end at another maximum
            want = objective(alone, scatter[:2], weight[:2])
            assert objective(cov[:2], scatter[:2], weight[:2]) == pytest.approx(want, rel=1e-10)
        assert STRUCTURES[name].holds(cov)
        assert (np.linalg.eigvalsh(cov) > 0).all()
    if name[0] == "V" and name[1] != "E" and name[2] != "E":  # it keeps the volume it had
        assert np.linalg.det(cov[2]) == pytest.approx(np.linalg.det(current[2]), rel=1e-6)
    nothing = estimate(name, 0 * scatter, 0 * weight, current=current)
    np.testing.assert_array_equal(nothing, current)


def degenerate(kind, k, d):
    scatter, weight = problem(k, d, 7)
    rng = np.random.default_rng(1)
    line = rng.normal(size=(k, d))
    lines = weight[:, None, None] * line[:, :, None] * line[:, None, :]
    if kind == "one component on a line":
        scatter[0] = lines[0]
    elif kind == "one component at a point":
        scatter[-1] = 0
    elif kind == "a constant column":
        scatter[:, 0] = scatter[:, :, 0] = 0
    elif kind == "every component on a line":
        scatter = lines
    elif kind == "all components on one line":
        scatter = np.broadcast_to(lines[0], scatter.shape)
    elif kind == "all at a point":
        scatter = 0 * scatter
    elif kind == "not a scatter":
        scatter = scatter - 1.2 * np.eye(d) * np.einsum("kii->k", scatter)[:, None, None] / d
    return scatter, weight


KINDS = [
    "one component on a line",
    "one component at a point",
    "a constant column",
    "every component on a line",
    "all components on one line",
    "all at a point",
    "not a scatter",
]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", NAMES)
def test_without_rank_covariances_are_finite_invertible_and_of_the_structure(name, kind):
    form = STRUCTURES[name]
    for k, d in [(3, 3), (2, 4), (1, 3), (3, 1)]:
        scatter, weight = degenerate(kind, k, d)
        for current in (None, np.broadcast_to(2.0 * np.eye(d), scatter.shape)):
            cov = np.asarray(estimate(name, scatter, weight, current=current))
            assert np.isfinite(cov).all()
            cov = form.floored(cov, form.equalize(np.full((k, d), 1e-10)))
            spread = np.sqrt(np.einsum("kii->ki", cov))
            np.linalg.cholesky(cov / (spread[:, :, None] * spread[:, None, :]))
            assert form.holds(cov)


# ---- floors ----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("kind", ["none", *KINDS[:-1]])
@pytest.mark.parametrize("name", NAMES)
def test_raised_covariances_are_above_the_floor_and_keep_the_structure(name, kind):
    form = STRUCTURES[name]
    for k, d in [(3, 3), (2, 4), (1, 3), (3, 1)]:
        scatter, weight = degenerate(kind, k, d)
        floor = 1e-3 * np.eye(d)
        cov = np.asarray(estimate(name, scatter, weight))
        once = form.apply_floor(cov, floor)
        values = np.linalg.eigvalsh(once)
        assert (values >= 1e-3 * (1 - 1e-6) - 1e-15 * values[:, -1:]).all()
        assert form.holds(once)
        resolved = values.max() < 1e6
        if resolved:  # what is raised is as it should be
            np.testing.assert_allclose(form.apply_floor(once, floor), once, rtol=1e-6, atol=1e-9)
        constrained = estimate(name, scatter, weight, floor=floor)
        values = np.linalg.eigvalsh(constrained)
        assert (values >= 1e-3 * (1 - 1e-6) - 1e-15 * values[:, -1:]).all()  # as far as float64 resolves it
        assert form.holds(constrained)
        assert not resolved or objective(constrained, scatter, weight) >= objective(once, scatter, weight) - 1e-7
        again = estimate(name, scatter, weight, current=constrained, floor=floor)
        slack = 1e-9 * abs(objective(constrained, scatter, weight))
        assert objective(again, scatter, weight) >= objective(constrained, scatter, weight) - slack
    large = np.broadcast_to(9.0 * np.eye(2), (2, 2, 2))
    assert form.apply_floor(large, np.eye(2)) is large


@pytest.mark.parametrize("name", ["EII", "VII", "EEI", "VEI", "EVI", "VVI", "EEE", "EVV", "VVV"])
def test_a_floor_is_a_constraint_of_the_exact_maximum(name):
    scatter, weight = problem(3, 2, 8)
    scatter[0] *= 0.01
    floor = np.diag([0.4, 0.1]) if name[2] == "I" else np.array([[0.4, 0.1], [0.1, 0.2]])
    whiten = np.linalg.inv(np.linalg.cholesky(floor))
    form, rng = Parametrised(name, 3, 2), np.random.default_rng(0)
    if name[2] != "I":  # these have the structure in any coordinates, so take those of the floor
        ours = whiten @ estimate(name, scatter, weight, floor=floor) @ whiten.T
        scatter, floor = whiten @ scatter @ whiten.T, np.eye(2)
    else:
        ours = estimate(name, scatter, weight, floor=floor)

    def above(theta):
        return (np.log(form.parts(theta)[1]) - np.log(np.diag(floor))).ravel()

    found = []
    for _ in range(8):
        start = rng.normal(size=form.size)
        run = optimize.minimize(
            form.loss,
            start,
            args=(scatter, weight),
            jac=True,
            method="SLSQP",
            constraints={"type": "ineq", "fun": above},
            options={"maxiter": 500, "ftol": 1e-12},
        )
        found += [-run.fun] if above(run.x).min() > -1e-7 else []
    top = objective(ours, scatter, weight)
    assert max(found) == pytest.approx(top, rel=1e-5)
    assert max(found) <= top + 1e-5 * abs(top)


# ---- as a distribution -----------------------------------------------------------------------------------------------
ROWS = np.random.default_rng(11).normal(size=(90, 3)) @ np.array([[1.5, 0.4, 0], [0, 1.0, -0.3], [0, 0, 0.6]])
OWNERS = np.random.default_rng(12).dirichlet([1.0, 1.0, 1.0], 90)


@pytest.mark.parametrize("name", NAMES)
def test_components_are_estimated_checked_and_scored(name):
    prototype = sf.MultivariateNormal(structure=name)
    stack = prototype.estimate(prototype.suffstats(ROWS, OWNERS))
    gathered = sf.MultivariateNormal().suffstats(ROWS, OWNERS)
    want = estimate(name, gathered.scatter, gathered.weight)
    np.testing.assert_allclose(stack.cov, want, rtol=1e-6, atol=1e-8)
    assert sf.MultivariateNormal(stack.mean, stack.cov, structure=name) == stack
    if name != "VVV":
        bend = np.eye(3) + 1e-5 * np.random.default_rng(0).normal(size=(3, 3, 3))
        with pytest.raises(sf.ParameterError, match=f"does not have the structure '{name}'"):
            sf.MultivariateNormal(stack.mean, bend @ stack.cov @ np.swapaxes(bend, 1, 2), structure=name)
    holes = ROWS[:4].copy()
    holes[:2, 0] = np.nan
    full = sf.MultivariateNormal(stack.mean, stack.cov)
    np.testing.assert_allclose(stack.log_prob(holes), full.log_prob(holes), rtol=1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_tying_the_covariance_leaves_one(name):
    prototype = sf.MultivariateNormal(structure=name).tie("cov")
    stack = prototype.estimate(prototype.suffstats(ROWS, OWNERS))
    same = {"I": "EII", "E": "EEI", "V": "EEI"}[name[1]] if name[2] == "I" else "EEE"
    other = sf.MultivariateNormal(structure=same)
    np.testing.assert_array_equal(stack.cov, other.estimate(other.suffstats(ROWS, OWNERS)).cov)
    assert stack.n_parameters == 9 + STRUCTURES[same].count(3, 3)


@pytest.mark.parametrize("name", NAMES)
def test_ddof_keeps_the_structure(name):
    codes = np.arange(90) % 3
    gathered = sf.MultivariateNormal(structure=name).suffstats(ROWS, sf.OneHot(codes, 3))
    model = sf.MultivariateNormal(structure=name).estimate(gathered)
    rows = np.array([90 / 87] * 3 if name[0] == "E" else [30 / 29] * 3)
    np.testing.assert_allclose(model.unbiased(gathered, 1).cov, rows[:, None, None] * model.cov, rtol=1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_standard_errors_are_those_of_the_expected_information(name):
    weight = np.array([40.0, 70.0, 110.0])
    form, rng = Parametrised(name, 3, 3), np.random.default_rng(4)
    theta = 0.5 * rng.normal(size=form.size)
    cov = form.cov(theta)
    steps = 1e-5 * np.eye(form.size)
    slopes = np.stack([(form.cov(theta + h) - form.cov(theta - h)) / 2e-5 for h in steps])
    precise = np.linalg.inv(cov)
    information = 0.5 * np.einsum("k,kij,akjl,klm,bkmi->ab", weight, precise, slopes, precise, slopes)
    want = np.sqrt(np.einsum("akij,ab,bkij->kij", slopes, np.linalg.pinv(information, rcond=1e-12), slopes))
    np.testing.assert_allclose(STRUCTURES[name].errors(cov, weight), want, rtol=1e-5, atol=1e-8)


@pytest.mark.parametrize("name", ["VEE", "EVE", "VEV", "EVV", "VEI"])
def test_draws_scatter_as_the_standard_errors_say(name):
    form, rng = Parametrised(name, 2, 2), np.random.default_rng(6)
    cov = form.cov(0.7 * rng.normal(size=form.size))
    weight = np.array([300.0, 500.0])
    root, found = np.linalg.cholesky(cov), []
    for _ in range(250):
        z = [rng.standard_normal((int(w), 2)) @ r.T for w, r in zip(weight, root, strict=True)]
        scatter = np.stack([part.T @ part for part in z])
        found.append(estimate(name, scatter, weight, current=cov))
    told = STRUCTURES[name].errors(cov, weight)
    seen = np.std(found, axis=0)
    np.testing.assert_allclose(seen, told, rtol=0.2, atol=1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_em_never_falls_in_every_structure(name):
    fit = sf.fit(sf.Mixture(sf.MultivariateNormal(structure=name), 2), ROWS, random_state=0)
    assert fit.converged
    assert (np.diff(fit.trace.log_likelihood) >= -1e-9 * abs(fit.log_likelihood)).all()
    assert fit.n_parameters == 1 + 6 + STRUCTURES[name].count(2, 3)


IRIS = {  # the BIC (lower is better) of mclust's Mclust(iris[, 1:4], G = 2), as published with its output
    "EII": 1123.412,
    "VII": 1012.235,
    "EEI": 1042.968,
    "VEI": 956.282,
    "EVI": 1007.308,
    "VVI": 857.552,
    "EEE": 688.097,
    "VEE": 656.327,
    "VEV": 561.728,
    "EVV": 658.331,
    "VVV": 574.018,
}


@pytest.mark.parametrize(("name", "bic"), IRIS.items())
def test_iris_reaches_mclust(name, bic):
    from sklearn.datasets import load_iris

    fit = sf.fit(sf.Mixture(sf.MultivariateNormal(structure=name), 2), load_iris().data, random_state=0)
    assert fit.bic <= bic + 2e-3
