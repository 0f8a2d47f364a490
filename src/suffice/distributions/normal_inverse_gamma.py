"""What to believe of the mean and the standard deviation of a Normal."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from suffice.core.distribution import Distribution
from suffice.core.errors import UnsupportedError
from suffice.core.lazy import special
from suffice.core.parameters import POSITIVE, REAL, Array, check_count, check_level, parameter
from suffice.core.posterior import plain
from suffice.core.special import ratio_excess
from suffice.distributions.gamma import Gamma


@dataclass(frozen=True, eq=False, repr=False)
class NormalInverseGamma(Distribution, register=False):
    r"""Belief about mean and variance: σ² ~ InverseGamma(shape, scale), μ | σ² ~ Normal(mean, σ²/count).

    ``count`` is the number of rows that the belief about the mean is worth. The mode is that of (mean, variance).
    """

    mean: Any = parameter(REAL, default=0.0, typical=(-1.0, 1.0))
    count: Any = parameter(POSITIVE, default=1.0, typical=(0.5, 3.0))
    shape: Any = parameter(POSITIVE, default=1.0, typical=(2.5, 5.0))
    scale: Any = parameter(POSITIVE, default=1.0, typical=(0.5, 3.0))

    speaks_of: ClassVar[tuple[str, ...]] = ("mean", "std")

    def after(self, likelihood: Any, stats: Any) -> NormalInverseGamma:
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
        )

    def predictive_of(self, likelihood: Any) -> Any:
        from suffice.distributions.student_t import StudentT

        del likelihood
        scale = np.sqrt(self.scale * (self.count + 1) / (self.shape * self.count))
        return StudentT(2 * self.shape, self.mean, scale)

    def expected_of(self, likelihood: Any) -> tuple[Any, Array]:
        """The ``likelihood`` at the expected precision, and what is lost by not being sure of it and of the mean."""
        member = replace(likelihood, mean=self.mean, std=np.sqrt(self.scale / self.shape))
        return member, 0.5 * (special.digamma(self.shape) - np.log(self.shape) - 1 / np.asarray(self.count))

    def divergence_cells(self, other: Any) -> Array:
        """D(self‖other) of each column: that of the precisions, and that of the means given the precision."""
        precision = Gamma(self.shape, self.scale).divergence_cells(Gamma(other.shape, other.scale))
        away = other.count * np.square(self.mean - other.mean) * self.shape / self.scale
        known = ratio_excess(other.count / self.count, (other.count - self.count) / self.count)
        return np.asarray(precision + 0.5 * (away + known))

    def kl(self, other: Any) -> Any:
        """D(self‖other): a float, or (k,) member by member."""
        total = np.asarray(self.divergence_cells(other))
        total = total.sum(axis=-1) if total.ndim else total
        return float(total) if total.ndim == 0 else total

    def together(self, likelihood: Any, stats: Any) -> tuple[Array, Array]:
        """The mode of the means of members that share one variance, and its root: the belief about it counts once."""
        after, weight = self.after(likelihood, stats), stats.weight
        scatter = (after.scale - self.scale).sum(axis=0) + np.broadcast_to(self.scale, weight.shape)[0]
        degrees = 0.5 * (weight + 1).sum(axis=0) + np.broadcast_to(self.shape, weight.shape)[0] + 1
        return after.mean, np.broadcast_to(np.sqrt(scatter / degrees), weight.shape)

    def log_parts(self, x: Any) -> tuple[Array, Array]:
        """Log density of the mean given the variance, and of the variance, at ``x["mean"]`` and ``x["std"]``."""
        var = np.square(x["std"])
        about_mean = -0.5 * (np.log(2 * np.pi * var / self.count) + self.count * np.square(x["mean"] - self.mean) / var)
        about_var = self.shape * np.log(self.scale) - special.gammaln(self.shape)
        return np.asarray(about_mean), np.asarray(about_var - (self.shape + 1) * np.log(var) - self.scale / var)

    def log_cell(self, x: Any) -> Array:
        """Log density of (mean, variance) at ``x["mean"]`` and ``x["std"]``."""
        about_mean, about_var = self.log_parts(x)
        return np.asarray(about_mean + about_var)

    def log_prob(self, x: Any) -> Any:
        """Log density of (mean, variance) at a dictionary of ``mean`` and ``std``."""
        out = self.log_cell({name: np.asarray(x[name], dtype=float) for name in self.speaks_of})
        return float(out) if out.ndim == 0 else out

    def expected(self) -> dict[str, Any]:
        ratio = np.exp(special.gammaln(self.shape - 0.5) - special.gammaln(self.shape))
        std = np.where(np.asarray(self.shape) > 0.5, np.sqrt(self.scale) * ratio, np.inf)
        return {"mean": self.mean, "std": plain(std)}

    def spread(self) -> dict[str, Any]:
        with np.errstate(all="ignore"):
            var = np.where(np.asarray(self.shape) > 1, self.scale / (self.shape - 1), np.inf)
            squares = var - np.square(self.expected()["std"])
        mean, std = np.sqrt(var / self.count), np.sqrt(np.where(np.isfinite(var), squares, np.inf))
        return {"mean": plain(mean), "std": plain(std)}

    @property
    def mode(self) -> dict[str, Any]:
        """The joint mode of mean and variance, as mean and std."""
        return {"mean": self.mean, "std": plain(np.sqrt(self.scale / (self.shape + 1.5)))}

    def point(self) -> dict[str, Any]:
        return self.mode

    def interval(self, level: float = 0.95) -> dict[str, tuple[Any, Any]]:
        """Central credible intervals of mean and std, each by itself."""
        check_level(level)
        low, high = (1 - level) / 2, (1 + level) / 2
        reach = special.stdtrit(2 * self.shape, high) * np.sqrt(self.scale / (self.shape * self.count))
        stds = [plain(np.sqrt(self.scale / special.gammainccinv(self.shape, q))) for q in (low, high)]
        return {"mean": (plain(self.mean - reach), plain(self.mean + reach)), "std": (stds[0], stds[1])}

    def sample(self, n: int = 1, random_state: Any = None) -> Any:
        """Draw pairs: a dictionary of ``mean`` and ``std``, n values each."""
        check_count(n)
        rng = np.random.default_rng(random_state)
        var = self.scale / rng.gamma(self.shape, size=(n, *self.batch))
        return {"mean": rng.normal(self.mean, np.sqrt(var / self.count)), "std": np.sqrt(var)}
