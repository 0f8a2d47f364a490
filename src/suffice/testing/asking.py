"""Laws of questions: densities integrate to 1, quantiles invert, samples follow, entropies are expectations."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from suffice.core.exponential_family import ExponentialFamily
from suffice.numerics.derivatives import FIRST, smooth_scale
from suffice.testing.law import (
    DoesNotApply,
    close,
    expectation,
    fresh,
    law,
    nodes_of,
    one_cell,
    require,
)
from suffice.types import Array

MANY = 4000


def vector_draws(dist: Any, rng: np.random.Generator, n: int = 20_000) -> tuple[Any, Array]:
    """One component of a distribution over vectors, and many draws of it."""
    alone = dist.unstacked[0]
    if not alone.row_vector and alone.batch:
        alone = alone.reshaped(lambda value: value[0])
    return alone, np.asarray(alone.sample(n, rng))


def z_close(values: Array, expected: Array | float, what: str) -> None:
    """Break the law unless the mean of the values is the expected one to within 5 standard errors."""
    error = values.std(axis=0) / np.sqrt(len(values))
    away = np.abs(values.mean(axis=0) - expected)
    require(
        (away <= 5 * error + 1e-9 * (1 + np.abs(expected))).all(),
        f"{what}: the mean of {len(values)} draws is {values.mean(axis=0)} ± {error}, expected {expected}.",
    )


def is_vector(dist: Any) -> bool:
    """Whether a row (or a cell) is a vector, so that expectations are taken by sampling."""
    return bool(dist.row_vector or dist.support.core)


@law("the density integrates to 1", "log_partition, log_base, the bounds of the support")
def integrates_to_one(dist: object, rng: np.random.Generator) -> None:
    """∫ p = 1, or Σ p = 1; for vectors, E_p[q/p] = 1 for a neighbour q."""
    if is_vector(dist):
        alone, x = vector_draws(dist, rng)
        if not alone.free or not alone.specs():
            raise DoesNotApply("it has no free parameter of its own to move")
        name = alone.free[0]
        value = np.asarray(getattr(alone, name), dtype=float)
        simplex = alone.specs()[name].domain.rule is not None and alone.specs()[name].domain.core == 1
        near = replace(alone, **{name: 0.9 * value + 0.1 / value.shape[-1] if simplex else value * 1.05})
        z_close(np.exp(near.log_prob(x) - alone.log_prob(x)), 1.0, "E[q/p]")
        return
    cell = one_cell(dist)
    close(expectation(cell, lambda x: np.ones(len(x))), 1.0, 1e-9, "the total probability")


@law("mean and var are moments", "the formulas of mean and var")
def moments_are_moments(dist: object, rng: np.random.Generator) -> None:
    """Mean and var are E x and E (x − mean)²."""
    if is_vector(dist):
        alone, x = vector_draws(dist, rng)
        if not alone.specs():
            raise DoesNotApply("its blocks have the moments")
        z_close(x, np.asarray(alone.mean), "mean")
        z_close((x - np.asarray(alone.mean)) ** 2, np.asarray(alone.var), "var")
        return
    cell = one_cell(dist)
    if getattr(cell, "levels", None) is not None:
        raise DoesNotApply("labels have no mean")
    mean, var = float(cell.mean), float(cell.var)
    if np.isfinite(mean):
        close(expectation(cell, lambda x: x), mean, 1e-8, "mean", scale=max(abs(mean), np.sqrt(min(var, 1e300)), 1e-9))
    if np.isfinite(var):
        close(expectation(cell, lambda x: (x - mean) ** 2), var, 1e-8, "var", scale=var)


@law("cdf is the integral of the density", "cumulative")
def cdf_is_the_integral(dist: object, _rng: np.random.Generator) -> None:
    """P(X ≤ x) equals the density integrated up to x, and rises from 0 to 1."""
    cell = ordered(dist)
    points = np.unique(np.asarray(cell.quantile([1e-6, 0.01, 0.1, 0.3, 0.5, 0.8, 0.99, 1 - 1e-6])))
    x, w = nodes_of(cell, tuple(points.tolist()))
    mass = w * np.exp(np.asarray(cell.log_prob(x)))
    expected = np.array([mass[x <= point].sum() for point in points])
    close(cell.cdf(points), expected, 1e-8, f"cdf at {points}")
    low, high = cell.quantile(0.0), cell.quantile(1.0)
    close(cell.cdf(low - 1 if cell.discrete or cell.atoms else low), 0.0, 1e-12, f"cdf at the lower end {low}")
    close(cell.cdf(high), 1.0, 1e-12, f"cdf at the upper end {high}")
    require((np.diff(cell.cdf(np.sort(x)[:: max(len(x) // 500, 1)])) >= -1e-12).all(), "cdf falls somewhere.")


def ordered(dist: object) -> Any:
    """One cell whose values have an order."""
    cell = one_cell(dist)
    if getattr(cell, "levels", None) is not None:
        raise DoesNotApply("labels have no order")
    return cell


@law("quantile inverts cdf", "inverse, rounding at the steps of a discrete cdf")
def quantile_inverts(dist: object, rng: np.random.Generator) -> None:
    """quantile(cdf(x)) = x, and cdf(quantile(q)) ≥ q with equality where the distribution is continuous."""
    cell = ordered(dist)
    x = np.unique(np.asarray(cell.sample(60, rng)))
    spread = float(np.diff(cell.quantile([0.1, 0.9]))[0]) or 1.0
    levels = np.asarray(cell.cdf(x))
    tame = levels < 1 - 1e-9
    close(np.asarray(cell.quantile(levels))[tame], x[tame], 1e-7, "quantile(cdf(x))", scale=spread)
    q = np.linspace(0.001, 0.999, 41)
    reached = np.asarray(cell.cdf(cell.quantile(q)))
    require((reached >= q - 1e-9).all(), f"cdf(quantile(q)) < q by {float((q - reached).max()):.3g}.")
    if cell.discrete:
        below = np.asarray(cell.cdf(np.asarray(cell.quantile(q)) - 1))
        require((below < q + 1e-9).all(), "quantile(q) is not the smallest x with cdf(x) ≥ q.")
    else:
        smooth = ~np.isin(cell.quantile(q), cell.atoms)
        close(reached[smooth], q[smooth], 1e-8, "cdf(quantile(q))")


@law("samples follow the distribution", "draw")
def samples_follow(dist: object, rng: np.random.Generator) -> None:
    """Kolmogorov–Smirnov (continuous) or χ² (discrete) at p > 1e-4; for vectors the mean of log p is −entropy."""
    from scipy import stats

    if is_vector(dist):
        alone, x = vector_draws(dist, rng)
        try:
            entropy = alone.entropy()
        except Exception as error:  # e.g. no closed form
            raise DoesNotApply(str(error)) from error
        z_close(-np.asarray(alone.log_prob(x)), entropy, "−log p of the draws against the entropy")
        return
    cell = one_cell(dist)
    x = np.asarray(cell.sample(MANY, rng))
    if not cell.discrete:
        steps = np.where(np.isin(x, cell.atoms), np.exp(np.asarray(cell.log_prob(x))), 0.0)
        p = stats.kstest(np.asarray(cell.cdf(x)) - rng.random(len(x)) * steps, "uniform").pvalue
        require(p > 1e-4, f"Kolmogorov–Smirnov: p = {p:.3g} over {MANY} draws.")
        return
    outcomes, _ = nodes_of(cell)
    chance = np.exp(np.asarray(cell.log_prob(outcomes))) * MANY
    place = {value: index for index, value in enumerate(outcomes.tolist())}
    seen = np.bincount([place[value] for value in x.tolist()], minlength=len(outcomes))
    common = chance >= 5
    observed = np.append(seen[common], seen[~common].sum())
    expected = np.append(chance[common], MANY - chance[common].sum())
    if expected[-1] < 1:
        require(observed[-1] <= 8, f"{observed[-1]} draws of outcomes that should come {expected[-1]:.3g} times.")
        observed, expected = observed[:-1], expected[:-1] * (observed[:-1].sum() / expected[:-1].sum())
    p = stats.chisquare(observed, expected).pvalue
    require(p > 1e-4, f"χ²: p = {p:.3g} over {MANY} draws.")


@law("entropy = −E log p", "entropy_cell")
def entropy_is_expected_surprise(dist: Any, rng: np.random.Generator) -> None:
    """The entropy is the expected surprise; independent columns add."""
    if is_vector(dist):
        alone, x = vector_draws(dist, rng)
        z_close(-np.asarray(alone.log_prob(x)), alone.entropy(), "entropy")
        return
    cell = one_cell(dist)
    close(cell.entropy(), expectation(cell, lambda x: -np.asarray(cell.log_prob(x))), 1e-8, "entropy")
    if not dist.lone:
        close(dist.entropy(), [one.entropy() for one in dist.unstacked], 1e-12, "entropy of the components")


@law("kl ≥ 0, and 0 only to itself", "kl, mean_statistic, entropy_cell")
def kl_is_a_divergence(dist: object, rng: np.random.Generator) -> None:
    """D(p‖p) = 0, D(p‖q) ≥ 0 and D(p‖q) = E_p log p/q."""
    if is_vector(dist):
        alone, x = vector_draws(dist, rng)
        close(alone.kl(alone), 0.0, 1e-9, "kl(p, p)")
        other = fresh(alone, rng)
        with np.errstate(all="ignore"):
            worse = np.asarray(alone.log_prob(x)) - np.asarray(other.log_prob(x))
        if np.isfinite(worse).all():
            z_close(worse, alone.kl(other), "kl against E log p/q")
        return
    cell = one_cell(dist)
    other = fresh(cell, rng)
    close(cell.kl(cell), 0.0, 1e-9, "kl(p, p)")
    got = cell.kl(other)
    require(got >= -1e-12, f"kl is negative: {got!r}.")

    def ratio(x: Array) -> Array:
        with np.errstate(all="ignore"):
            return np.asarray(np.asarray(cell.log_prob(x)) - np.asarray(other.log_prob(x)))

    x, _ = nodes_of(cell)
    seen = np.asarray(cell.log_prob(x)) > -700
    if np.isfinite(ratio(x)[seen]).all():
        kinks = () if cell.discrete else (float(other.quantile(0.5)),)
        close(got, expectation(cell, ratio, kinks), 1e-7, f"kl to {other!r}")
    else:
        require(np.isinf(got), f"kl to {other!r}, which excludes some of its rows, is {got!r} and not infinite.")


@law("∂A/∂η = E u and ∂²A/∂η² = Cov u", "log_partition, natural, statistic, mean_statistic")
def exponential_identities(dist: Any, rng: np.random.Generator) -> None:
    """Along every parameter: dA = E[u]·dη and dE[u] = Cov[u]·dη; and log p = η·u − A + log h."""
    if not isinstance(dist, ExponentialFamily):
        raise DoesNotApply(f"{dist.name} is not an exponential family")
    vector = is_vector(dist)
    cell, x = vector_draws(dist, rng, 100_000) if vector else (one_cell(dist), None)
    rows = cell.sample(20, rng) if x is None else x[:20]
    eta = np.asarray(cell.natural(), dtype=float).ravel()
    require(np.isfinite(eta).all(), f"η = {eta} is not finite at a typical value.")
    block = cell.stacked.read(rows)
    base = np.asarray(cell.stacked.log_base(block)).reshape(len(block))
    written = flat_statistic(cell, rows) @ eta - float(np.sum(cell.log_partition())) + base
    close(cell.log_prob(rows), written, 1e-9, "log_prob against η·u − A + log h")
    mean, cov, loose = statistic_moments(cell, x)
    own = np.asarray(cell.mean_statistic(), dtype=float).ravel()
    require((np.abs(own - mean) <= loose + 1e-9).all(), f"mean_statistic is {own}, but E u = {mean}.")
    moving = cell.free
    if not cell.exact:  # exponential only in some of its parameters
        moving = tuple(name for name in moving if cell.fix(*(set(moving) - {name})).exact)
    for name in moving:
        d_eta = along(cell, name, lambda one: np.asarray(one.natural()).ravel())
        d_partition = along(cell, name, lambda one: np.sum(one.log_partition()))
        d_mean = along(cell, name, lambda one: np.asarray(one.mean_statistic()).ravel())
        size = 1 + float(np.abs(d_eta * own).sum())
        close(d_partition, d_eta @ own, 1e-7, f"dA along {name} against E[u]·dη", scale=size)
        spread = np.sqrt(np.diag(cov))
        size_cov = 1e-6 + spread * (spread @ np.abs(d_eta)) if vector else 1 + np.abs(cov) @ np.abs(d_eta)
        tolerance = 0.05 if vector else 1e-6
        close(d_mean, cov @ d_eta, tolerance, f"dE[u] along {name} against Cov[u]·dη", scale=size_cov)


def flat_statistic(cell: Any, rows: object) -> Array:
    """The statistic of every row, (n, m)."""
    block = cell.stacked.read(rows)
    return np.asarray(cell.stacked.statistic(block), dtype=float).reshape(len(block), -1)


def statistic_moments(cell: object, draws: Array | None) -> tuple[Array, Array, Array]:
    """E u, Cov u and how far off the first may be: by draws where there are some, else by quadrature."""
    if draws is not None:
        u = flat_statistic(cell, draws)
        return u.mean(axis=0), np.atleast_2d(np.cov(u.T)), 5 * u.std(axis=0) / np.sqrt(len(u))
    mean = expectation(cell, lambda x: flat_statistic(cell, x))

    def squares(x: Array) -> Array:
        away = flat_statistic(cell, x) - mean
        return np.asarray(away[:, :, None] * away[:, None, :])

    return mean, expectation(cell, squares), 1e-7 * (1 + np.abs(mean))


def along(cell: Any, name: str, f: Any) -> Array:
    """The derivative of ``f(cell)`` as a parameter moves in a direction that its domain allows."""
    value, domain = np.asarray(getattr(cell, name), dtype=float), cell.specs()[name].domain
    if domain.core == 2:
        direction = value
    elif domain.core == 1:
        direction = np.abs(value) + 0.1 if domain.rule is None else 1 / value.shape[-1] - value
    else:
        direction = np.asarray(smooth_scale(cell, name), dtype=float)
    step = 0.01
    total: Any = 0.0
    for j, c in enumerate(FIRST, 1):
        ahead, behind = (f(replace(cell, **{name: value + side * j * step * direction})) for side in (1, -1))
        total = total + c * (np.asarray(ahead, dtype=float) - np.asarray(behind, dtype=float))
    return np.asarray(total / step)
