"""What to believe of the mean and the standard deviation of a Normal."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from suffice.arguments import check_count, check_level
from suffice.bayes.posterior import plain
from suffice.core.family import Family
from suffice.core.parameters import POSITIVE, REAL, described, parameter
from suffice.distributions.gamma import Gamma
from suffice.distributions.student_t import StudentT
from suffice.errors import DataError, ParameterError, UnsupportedError
from suffice.numerics.lazy import special
from suffice.numerics.special import ratio_excess
from suffice.statistics.moments import Moments
from suffice.types import Array, Data, Seed


def check_offset(name: str, offset: object, df: Array) -> None:
    """Refuse what is not a number, or leaves the mode without a positive divisor."""
    number = isinstance(offset, (int, float, np.number)) and not isinstance(offset, bool)
    if offset is not None and not (number and (df + offset > 0).all()):
        msg = f"{name}: mode_offset is a number above −df, {-np.min(df):g}, or None; got {offset!r:.60}."
        raise ParameterError(msg)


def density_of_std(shape: Any, scale: float, t: Array) -> Array:
    """The density of σ at ``t``, where 1/σ² ~ Gamma(shape, scale)."""
    t = np.asarray(t, dtype=float)
    with np.errstate(all="ignore"):
        log_t = np.log(np.maximum(t, 1e-300))
        constant = np.log(2) + shape * np.log(scale) - special.gammaln(shape)
        inside = constant - (2 * np.asarray(shape) + 1) * log_t - scale * np.exp(-2 * log_t)
        return np.asarray(np.where(t > 0, np.exp(inside), 0.0))


def parameters_in(belief: Any, x: Data, *axes: int) -> dict[str, Array]:
    """The parameters that a belief speaks of, by name, as arrays; refuse what does not hold them.

    ``axes`` is the number of axes that each has over the columns, which are the last.
    """
    names, batch = belief.speaks_of, np.shape(belief.mean)
    try:
        found = {name: np.asarray(x[name], dtype=float) for name in names}
    except (TypeError, LookupError, ValueError):
        given = ", ".join(f"{name!r}: …" for name in names)
        msg = f"{belief.name}.log_prob takes numbers by the names of the parameters, {{{given}}}; got {x!r:.60}."
        raise DataError(msg) from None
    leading = [batch[: len(batch) - axes[0]]]
    for (name, value), n in zip(found.items(), axes, strict=True):
        if n and value.shape[-n:] != n * batch[-1:]:
            shape = ", ".join(n * [str(batch[-1])])
            msg = f"{belief.name}.log_prob: {name} has the shape {value.shape}; it ends in ({shape}), the columns."
            raise DataError(msg)
        leading.append(value.shape[: value.ndim - n])
    try:
        np.broadcast_shapes(*leading)
    except ValueError:
        shapes = " and ".join(f"{name} of {value.shape}" for name, value in found.items())
        msg = f"{belief.name}.log_prob: {shapes} do not go together, or not with {batch} of the belief; give as many."
        raise DataError(msg) from None
    return found


@dataclass(frozen=True, eq=False, repr=False)
class NormalInverseGamma(Family, register=False):
    r"""Belief about mean and variance: σ² ~ InverseGamma(shape, scale), μ | σ² ~ Normal(mean, σ²/count).

    ``count`` is the number of rows that the belief about the mean is worth. The mode is that of (mean, variance),
    σ² = scale/(shape + 3/2). With a ``mode_offset`` it is σ² = 2 scale/(2 shape + mode_offset) instead, the greatest
    density relative to σ^(mode_offset − 3) dμ dσ²: with 2 it is the mode of (mean, std), and with 1 − 2 shape of the
    prior the estimate from the rows and one pseudo-row of variance 2 scale.
    """

    mean: Any = parameter(REAL, default=0.0, typical=(-1.0, 1.0))
    count: Any = parameter(POSITIVE, default=1.0, typical=(0.5, 3.0))
    shape: Any = parameter(POSITIVE, default=1.0, typical=(2.5, 5.0))
    scale: Any = parameter(POSITIVE, default=1.0, typical=(0.5, 3.0))
    mode_offset: float | None = field(
        default=None,
        kw_only=True,
        metadata=described("float, optional", "Of which density the mode is taken, as above."),
    )

    speaks_of: ClassVar[tuple[str, ...]] = ("mean", "std")

    def __post_init__(self) -> None:
        """Check the parameters and the offset."""
        super().__post_init__()
        check_offset(self.name, self.mode_offset, 2 * np.asarray(self.shape))

    def after(self, likelihood: Family, stats: Moments) -> NormalInverseGamma:
        if likelihood.fixed:
            msg = "NormalInverseGamma speaks of mean and std together; with one fixed use NormalPrior or a density."
            raise UnsupportedError(msg)
        count = self.count + stats.weight
        away = (stats.centre - self.mean) + stats.shift
        between = np.square(away) * self.count * stats.weight / count
        return NormalInverseGamma(
            self.mean + away * (stats.weight / count),
            count,
            self.shape + stats.weight / 2,
            self.scale + (stats.scatter + between) / 2,
            mode_offset=self.mode_offset,
        )

    def predictive_of(self, likelihood: Family) -> Any:
        del likelihood
        scale = np.sqrt(self.scale * (self.count + 1) / (self.shape * self.count))
        return StudentT(2 * self.shape, self.mean, scale)

    def expected_of(self, likelihood: Any) -> tuple[Any, Array]:
        """The ``likelihood`` at the expected precision, and what is lost by not being sure of it and of the mean."""
        component = replace(likelihood, mean=self.mean, std=np.sqrt(self.scale / self.shape))
        return component, 0.5 * (special.digamma(self.shape) - np.log(self.shape) - 1 / np.asarray(self.count))

    def divergence_cells(self, other: Any) -> Array:
        """D(self‖other) of each column: that of the precisions, and that of the means given the precision."""
        precision = Gamma(self.shape, self.scale).divergence_cells(Gamma(other.shape, other.scale))
        away = other.count * np.square(self.mean - other.mean) * self.shape / self.scale
        known = ratio_excess(other.count / self.count, (other.count - self.count) / self.count)
        return np.asarray(precision + 0.5 * (away + known))

    def kl(self, other: Family) -> Any:
        """D(self‖other): a float, or (k,) component by component."""
        total = np.asarray(self.divergence_cells(other))
        total = total.sum(axis=-1) if total.ndim else total
        return float(total) if total.ndim == 0 else total

    def together(self, likelihood: Family, stats: Moments) -> tuple[Array, Array]:
        """The mode of the means of components that share one variance, and its root.

        The belief about it counts once.
        """
        after, weight = self.after(likelihood, stats), stats.weight
        scatter = (after.scale - self.scale).sum(axis=0) + np.broadcast_to(self.scale, weight.shape)[0]
        of_mean, of_spread = self.mode_rows
        degrees = np.broadcast_to(self.shape, weight.shape)[0] + 0.5 * ((weight + of_mean).sum(axis=0) + of_spread)
        return after.mean, np.broadcast_to(np.sqrt(scatter / degrees), weight.shape)

    def log_parts(self, x: Data) -> tuple[Array, Array]:
        """Log density of the mean given the variance, and of the variance, at ``x["mean"]`` and ``x["std"]``."""
        var = np.square(x["std"])
        about_mean = -0.5 * (np.log(2 * np.pi * var / self.count) + self.count * np.square(x["mean"] - self.mean) / var)
        about_var = self.shape * np.log(self.scale) - special.gammaln(self.shape)
        return np.asarray(about_mean), np.asarray(about_var - (self.shape + 1) * np.log(var) - self.scale / var)

    @property
    def mode_rows(self) -> tuple[float, float]:
        """What each mean and each variance add to the divisor of the mode, beside 2 shape."""
        return (1.0, 2.0) if self.mode_offset is None else (0.0, float(self.mode_offset))

    def relative_parts(self, x: Data) -> tuple[Array, Array]:
        """Both parts relative to the measure of ``mode_offset``: the mode is where their sum is greatest."""
        about_mean, about_var = self.log_parts(x)
        of_mean, of_spread = self.mode_rows
        log_std = np.log(x["std"])
        return about_mean + (1 - of_mean) * log_std, about_var + (2 - of_spread) * log_std

    def log_cell(self, x: Data) -> Array:
        """Log density of (mean, variance) at ``x["mean"]`` and ``x["std"]``."""
        about_mean, about_var = self.log_parts(x)
        return np.asarray(about_mean + about_var)

    def log_prob(self, x: Data) -> Any:
        """Log density of (mean, variance) at a dictionary of ``mean`` and ``std``; −∞ where std is not above 0."""
        at = parameters_in(self, x, 0, 0)
        inside = at["std"] > 0
        out = np.where(inside, self.log_cell({**at, "std": np.where(inside, at["std"], 1.0)}), -np.inf)
        return float(out) if out.ndim == 0 else out

    def expected(self) -> dict[str, Any]:
        ratio = np.exp(special.gammaln(self.shape - 0.5) - special.gammaln(self.shape))
        std = np.where(np.asarray(self.shape) > 0.5, np.sqrt(self.scale) * ratio, np.inf)
        mean = np.where(np.asarray(self.shape) > 0.5, self.mean, np.nan)  # a Student-t of one degree has none
        return {"mean": plain(mean), "std": plain(std)}

    def spread(self) -> dict[str, Any]:
        with np.errstate(all="ignore"):
            var = np.where(np.asarray(self.shape) > 1, self.scale / np.subtract(self.shape, 1), np.inf)
            squares = var - np.square(self.expected()["std"])
        mean, std = np.sqrt(var / self.count), np.sqrt(np.where(np.isfinite(var), squares, np.inf))
        return {"mean": plain(mean), "std": plain(std)}

    @property
    def mode(self) -> dict[str, Any]:
        """The joint mode of mean and variance, as mean and std."""
        return {"mean": self.mean, "std": plain(np.sqrt(self.scale / (self.shape + 0.5 * sum(self.mode_rows))))}

    def point(self) -> dict[str, Any]:
        return self.mode

    def interval(self, level: float = 0.95) -> dict[str, tuple[Any, Any]]:
        """Central credible intervals of mean and std, each by itself."""
        check_level(level)
        low, high = (1 - level) / 2, (1 + level) / 2
        reach = special.stdtrit(2 * self.shape, high) * np.sqrt(self.scale / (self.shape * self.count))
        stds = [plain(np.sqrt(self.scale / special.gammainccinv(self.shape, q))) for q in (low, high)]
        return {"mean": (plain(self.mean - reach), plain(self.mean + reach)), "std": (stds[0], stds[1])}

    def marginal_cdf(self, name: str, t: Array) -> Any:
        """P(mean ≤ t), a Student-t, or P(std ≤ t), where 1/std² is Gamma."""
        if name == "mean":
            reach = np.sqrt(self.scale / (self.shape * self.count))
            return special.stdtr(2 * np.asarray(self.shape), (t - self.mean) / reach)
        with np.errstate(divide="ignore", over="ignore"):
            return np.where(t > 0, special.gammaincc(self.shape, self.scale / np.square(np.maximum(t, 1e-300))), 0.0)

    def marginal_density(self, name: str, t: Array) -> Any:
        """The density of the mean by itself, a Student-t, or of the std, where 1/std² is Gamma."""
        if name == "mean":
            reach = np.sqrt(self.scale / (self.shape * self.count))
            return np.exp(StudentT(2 * np.asarray(self.shape), self.mean, reach).log_prob(t))
        return density_of_std(self.shape, self.scale, t)

    def from_uniform(self, u: Array) -> list[Array]:
        """Mean and std of numbers (n, 2) from the unit square: one belief, not a stack."""
        std = np.sqrt(self.scale / special.gammainccinv(self.shape, u[:, 1]))
        return [self.mean + std / np.sqrt(self.count) * special.ndtri(u[:, 0]), std]

    def sample(self, n: int = 1, random_state: Seed = None) -> Any:
        """Draw pairs: a dictionary of ``mean`` and ``std``, n values each."""
        check_count(n)
        rng = np.random.default_rng(random_state)
        var = self.scale / rng.gamma(self.shape, size=(n, *self.batch))
        return {"mean": rng.normal(self.mean, np.sqrt(var / self.count)), "std": np.sqrt(var)}
