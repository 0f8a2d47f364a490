"""What to believe of the mean and the covariance of a MultivariateNormal."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from suffice.arguments import check_count, check_level
from suffice.core.family import Family
from suffice.core.parameters import COVARIANCE, POSITIVE, VECTOR, described, parameter
from suffice.distributions.covariance_algebra import root, traces, whitening
from suffice.distributions.floors import HALF_LOG_TAU
from suffice.distributions.multivariate_student_t import MultivariateStudentT
from suffice.distributions.normal_inverse_gamma import check_offset, density_of_std, parameters_in
from suffice.distributions.structure_base import Structure
from suffice.errors import DataError, ParameterError, UnsupportedError
from suffice.numerics.lazy import special
from suffice.numerics.special import ratio_excess
from suffice.statistics.moments import Scatter
from suffice.statistics.sums import share
from suffice.types import Array, Data, Seed


@dataclass(frozen=True, eq=False, repr=False)
class NormalInverseWishart(Family, register=False):
    r"""Belief about mean and covariance: Σ ~ InverseWishart(df, scale), μ | Σ ~ Normal(mean, Σ/count).

    ``count`` is the number of rows that the belief about the mean is worth, ``df`` (above d − 1) those of the belief
    about the covariance. The mode is the joint one: cov = scale/(df + d + 2). With a ``mode_offset`` it is
    scale/(df + mode_offset) instead, the greatest density relative to |Σ|^((mode_offset − d − 2)/2) dμ dΣ: with 1 − df
    of the prior it is the estimate from the rows and one pseudo-row of covariance scale.

    >>> prior = sf.NormalInverseWishart([0, 0], 1, 4, np.eye(2))
    >>> post = sf.posterior(sf.MultivariateNormal(), [[1.0, 0.0]], prior=prior)
    >>> post.mean["mean"], post.predictive().df
    (array([0.5, 0. ]), 4.0)
    """

    mean: Any = parameter(VECTOR, typical=(-1.0, 1.0))
    count: Any = parameter(POSITIVE, default=1.0, typical=(0.5, 3.0))
    df: Any = parameter(POSITIVE, typical=(7.5, 10.0))
    scale: Any = parameter(COVARIANCE, typical=(0.5, 3.0))
    mode_offset: float | None = field(
        default=None,
        kw_only=True,
        metadata=described("float, optional", "Of which density the mode is taken, as above."),
    )

    row_vector = True
    speaks_of: ClassVar[tuple[str, ...]] = ("mean", "cov")

    def __post_init__(self) -> None:
        """Check that the belief is proper."""
        if self.mean is None or self.df is None or self.scale is None:
            msg = f"{self.name} needs mean (d,), count, df and scale (d, d)."
            raise ParameterError(msg)
        super().__post_init__()
        d = np.shape(self.mean)[-1]
        if np.shape(self.scale)[-1] != d:
            msg = f"{self.name}: mean has {d} columns, but scale has shape {np.shape(self.scale)}."
            raise ParameterError(msg)
        if not (np.asarray(self.df) > d - 1).all():
            msg = f"{self.name}: df must exceed the number of columns less one, {d - 1}; got {np.min(self.df):g}."
            raise ParameterError(msg)
        check_offset(self.name, self.mode_offset, np.asarray(self.df))

    @property
    def columns(self) -> int:
        return int(np.shape(self.mean)[-1])

    def suits(self, form: Structure) -> bool:
        """Whether covariances of a structure keep this belief: those that nothing restricts or links."""
        return bool(form.unrestricted)

    def after(self, stats: Scatter) -> NormalInverseWishart:
        """The belief after the statistics, component by component."""
        if stats.centre.shape[1] != self.columns:
            msg = f"the prior speaks of {self.columns} columns, but the data have {stats.centre.shape[1]}."
            raise DataError(msg)
        count = self.count + stats.weight
        away = (stats.centre - self.mean) + stats.shift
        factor = (self.count * stats.weight / count)[:, None, None]
        scatter = stats.scatter
        if len(scatter) < len(stats.weight):  # kept of all components together: each by its weight
            scatter = scatter * share(stats.weight, stats.weight.sum())[:, None, None]
        scale = self.scale + scatter + factor * away[:, :, None] * away[:, None, :]
        mean = self.mean + away * (stats.weight / count)[:, None]
        return NormalInverseWishart(mean, count, self.df + stats.weight, scale, mode_offset=self.mode_offset)

    def predictive_of(self, likelihood: Family) -> MultivariateStudentT:
        del likelihood
        df = np.asarray(self.df) - self.columns + 1
        factor = np.asarray((self.count + 1) / (self.count * df))
        return MultivariateStudentT(df, self.mean, factor[..., None, None] * self.scale)

    def expected_of(self, likelihood: Any) -> tuple[Any, Array]:
        """The ``likelihood`` at the expected precision, and what is lost by not being sure of it and of the mean."""
        d, df = self.columns, np.asarray(self.df)
        log_precision = _digammas(df / 2, d) + d * np.log(2 / df)
        offset = 0.5 * (log_precision - d / np.asarray(self.count))
        return replace(likelihood, mean=self.mean, cov=self._over(df)), offset[..., None]

    def divergence_cells(self, other: Any) -> Array:
        """D(self‖other) of a stack, (k, 1): that of the covariances, and that of the means given the covariance."""
        d, df, before = self.columns, np.asarray(self.df), np.asarray(other.df)
        whiten, half = whitening(np.asarray(self.scale))
        away = np.einsum("kij,kj->ki", whiten, self.mean - other.mean)
        trace = traces(whiten, other.scale)
        log_ratio = 2 * (whitening(np.asarray(other.scale))[1] - half)  # log |scale| / |other scale|
        gammas = (
            _log_multigamma(before / 2, d) - _log_multigamma(df / 2, d) + 0.5 * (df - before) * _digammas(df / 2, d)
        )
        covariances = 0.5 * (before * log_ratio + df * (trace - d)) + gammas
        known = d * ratio_excess(other.count / self.count, (other.count - self.count) / self.count)
        means = 0.5 * (known + other.count * df * (away**2).sum(axis=1))
        return np.asarray(covariances + means)[:, None]

    def kl(self, other: Family) -> Any:
        """D(self‖other): a float, or (k,) component by component."""
        total = self.stacked.divergence_cells(other.stacked)[:, 0]
        return float(total[0]) if self.lone else total

    def log_parts(self, x: Data) -> tuple[Array, Array]:
        """Log density of the mean given the covariance, and of the covariance, of a stack: (k,) each."""
        d, df = self.columns, np.asarray(self.df)
        whiten, log_det = whitening(np.asarray(x["cov"]))
        away = np.einsum("kij,kj->ki", whiten, np.asarray(x["mean"]) - self.mean)
        about_mean = d * (0.5 * np.log(self.count) - HALF_LOG_TAU) + log_det - 0.5 * self.count * (away**2).sum(axis=1)
        log_scale = -2 * whitening(np.asarray(self.scale))[1]
        constant = 0.5 * df * (log_scale - d * np.log(2)) - _log_multigamma(df / 2, d)
        trace = traces(whiten, self.scale)
        return np.asarray(about_mean), np.asarray(constant + (df + d + 1) * log_det - 0.5 * trace)

    @property
    def mode_rows(self) -> tuple[float, float]:
        """What each mean and each covariance add to the divisor of the mode, beside df."""
        return (1.0, self.columns + 1.0) if self.mode_offset is None else (0.0, float(self.mode_offset))

    def relative_parts(self, x: Data) -> tuple[Array, Array]:
        """Both parts relative to the measure of ``mode_offset``: the mode is where their sum is greatest."""
        about_mean, about_cov = self.log_parts(x)
        if self.mode_offset is None:
            return about_mean, about_cov
        half = -whitening(np.asarray(x["cov"]))[1]  # of log |Σ|
        return about_mean + half, about_cov + (self.columns + 1 - self.mode_offset) * half

    def log_cell(self, x: Data) -> Array:
        """Log density of (mean, cov) at ``x["mean"]`` and ``x["cov"]``, (k, 1)."""
        about_mean, about_cov = self.log_parts(x)
        return (about_mean + about_cov)[:, None]

    def log_prob(self, x: Data) -> Any:
        """Log density of (mean, cov) at a dictionary of ``mean`` and ``cov``; −∞ where cov is not positive definite."""
        mean, cov = parameters_in(self, x, 1, 2).values()
        if mean.ndim > 2:  # draws of a stack
            return np.array([self.log_prob({"mean": one, "cov": its}) for one, its in zip(mean, cov, strict=True)])
        many = mean.ndim > 1 or cov.ndim > 2 or not self.lone
        cov = cov.reshape(-1, *cov.shape[-2:])
        inside = np.linalg.eigvalsh(cov)[:, 0] > 0
        at = {"mean": np.atleast_2d(mean), "cov": np.where(inside[:, None, None], cov, np.eye(self.columns))}
        out = np.where(inside, self.stacked.log_cell(at)[:, 0], -np.inf)
        return out if many else float(out[0])

    @property
    def mode(self) -> dict[str, Any]:
        """The joint mode of mean and covariance."""
        return {"mean": self.mean, "cov": self._over(np.asarray(self.df) + sum(self.mode_rows))}

    def _over(self, divisor: Array) -> Array:
        return np.asarray(self.scale / np.asarray(divisor, dtype=float)[..., None, None])

    def point(self) -> dict[str, Any]:
        return self.mode

    def expected(self) -> dict[str, Any]:
        degrees = np.asarray(self.df) - self.columns - 1
        return {"mean": self.mean, "cov": self._over(np.where(degrees > 0, degrees, np.nan))}

    def spread(self) -> dict[str, Any]:
        d, scale = self.columns, np.asarray(self.scale)
        variances = np.einsum("...ii->...i", scale)
        one = np.asarray(self.df)[..., None, None] - d - 1  # the degrees beyond those that a mean needs
        with np.errstate(all="ignore"):
            top = (one + 2) * scale**2 + one * variances[..., :, None] * variances[..., None, :]
            cov = np.where(one > 2, np.sqrt(top / ((one + 1) * one**2 * (one - 2))), np.inf)
            each = np.sqrt(variances / (np.asarray(self.count)[..., None] * one[..., 0]))
        return {"mean": np.where(one[..., 0] > 0, each, np.inf), "cov": cov}

    def interval(self, level: float = 0.95) -> dict[str, tuple[Any, Any]]:
        """Central credible intervals of each column's mean (a Student-t) and std (an inverse gamma of its square)."""
        check_level(level)
        df = (np.asarray(self.df) - self.columns + 1)[..., None]
        variances = np.einsum("...ii->...i", np.asarray(self.scale))
        reach = special.stdtrit(df, (1 + level) / 2) * np.sqrt(variances / (np.asarray(self.count)[..., None] * df))
        low, high = (
            np.sqrt(0.5 * variances / special.gammainccinv(df / 2, q)) for q in ((1 - level) / 2, (1 + level) / 2)
        )
        return {"mean": (self.mean - reach, self.mean + reach), "std": (low, high)}

    def marginal_cdf(self, name: str, t: Array) -> Any:
        """P(mean ≤ t) of each column, a Student-t, or P(std ≤ t), where 1/std² is Gamma."""
        if name not in {"mean", "std"}:
            msg = "a covariance has no cumulative distribution of its own: use prob(lambda mean, cov: …)."
            raise UnsupportedError(msg)
        df = (np.asarray(self.df) - self.columns + 1)[..., None]
        variances = np.einsum("...ii->...i", np.asarray(self.scale))
        if name == "std":
            with np.errstate(divide="ignore", over="ignore"):
                inside = special.gammaincc(df / 2, 0.5 * variances / np.square(np.maximum(t, 1e-300)))
            return np.where(np.asarray(t) > 0, inside, 0.0)
        reach = np.sqrt(variances / (np.asarray(self.count)[..., None] * df))
        return special.stdtr(df, (t - self.mean) / reach)

    def marginal_density(self, name: str, t: Array) -> Any:
        """The density of each column's mean by itself, a Student-t, or of its std, where 1/std² is Gamma."""
        df = (np.asarray(self.df) - self.columns + 1)[..., None]
        variances = np.einsum("...ii->...i", np.asarray(self.scale))
        if name == "std":
            return density_of_std(df / 2, 0.5 * variances, t)
        reach = np.sqrt(variances / (np.asarray(self.count)[..., None] * df))
        z = (t - self.mean) / reach
        constant = special.gammaln((df + 1) / 2) - special.gammaln(df / 2) - 0.5 * np.log(df * np.pi) - np.log(reach)
        return np.exp(constant - 0.5 * (df + 1) * np.log1p(np.square(z) / df))

    def sample(self, n: int = 1, random_state: Seed = None) -> Any:
        """Draw pairs: a dictionary of ``mean`` (n, d) and ``cov`` (n, d, d); the Wishart by Bartlett's triangle."""
        check_count(n)
        rng, stack, d = np.random.default_rng(random_state), self.stacked, self.columns
        k = stack.n_components
        triangle = np.tril(rng.standard_normal((n, k, d, d)), -1)
        squares = 2 * rng.standard_gamma(0.5 * (np.asarray(stack.df)[:, None] - np.arange(d)), (n, k, d))
        triangle[..., np.arange(d), np.arange(d)] = np.sqrt(squares)
        # Σ⁻¹ = L⁻ᵀ B Bᵀ L⁻¹ with scale = L Lᵀ, so Σ = (L B⁻ᵀ)(L B⁻ᵀ)ᵀ
        half = root(np.asarray(stack.scale)) @ np.swapaxes(np.linalg.inv(triangle), -1, -2)
        z = rng.standard_normal((n, k, d)) / np.sqrt(np.asarray(stack.count))[:, None]
        mean, cov = stack.mean + np.einsum("nkij,nkj->nki", half, z), half @ np.swapaxes(half, -1, -2)
        return {"mean": mean[:, 0], "cov": cov[:, 0]} if self.lone else {"mean": mean, "cov": cov}


def _digammas(a: Array, d: int) -> Array:
    """The derivative of the logarithm of the multivariate gamma function, elementwise."""
    return np.asarray(special.digamma(np.asarray(a)[..., None] - 0.5 * np.arange(d)).sum(axis=-1))


def _log_multigamma(a: Array, d: int) -> Array:
    """Log of the multivariate gamma function, elementwise."""
    steps = special.gammaln(np.asarray(a)[..., None] - 0.5 * np.arange(d)).sum(axis=-1)
    return np.asarray(0.25 * d * (d - 1) * np.log(np.pi) + steps)
