"""Shares of a whole, and beliefs about the probabilities of levels."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from suffice.arguments import check_level
from suffice.core.exponential_family import ExponentialFamily
from suffice.core.parameters import OPEN_SIMPLEX, Domain, parameter
from suffice.display.values import ColumnSummary, levels_of
from suffice.errors import ParameterError
from suffice.numerics.lazy import special
from suffice.numerics.newton import newton
from suffice.numerics.special import BLUR, excess, ratio_excess, stirling_divergence, stirling_rest, trigamma
from suffice.statistics.sums import Sums
from suffice.types import Alert, Array

CONCENTRATIONS = Domain("a vector of numbers above 0", low=0.0, closed=(True, False), core=1)
STEEPEST = 1e10  # the largest concentration that sums of float64 can tell from a point


@dataclass(frozen=True, eq=False, repr=False)
class Dirichlet(ExponentialFamily):
    r"""Shares that sum to 1, or a belief about probabilities: :math:`p(x) = \prod_j x_j^{\alpha_j-1} / B(\alpha)`.

    Statistic log x, natural parameter alpha, log-partition log B(alpha); conjugate to the probabilities of
    :class:`Categorical` and :class:`Multinomial`. An entry of 0 marks a level that a column does not have.

    >>> sf.Dirichlet([1, 2, 1]).mean
    array([0.25, 0.5 , 0.25])
    """

    alpha: Any = parameter(CONCENTRATIONS, typical=(0.6, 6.0))

    support = OPEN_SIMPLEX
    inward = "a Dirichlet whose every alpha exceeds 1"

    def __post_init__(self) -> None:
        """Check that every vector has a positive entry."""
        super().__post_init__()
        if self.alpha is not None and not (self.alpha > 0).any(axis=-1).all():
            msg = f"Dirichlet: alpha must be a vector of numbers above 0; got {self.alpha.tolist()!r:.80}."
            raise ParameterError(msg)

    @property
    def _present(self) -> Array:
        return np.asarray(self.alpha > 0)

    @property
    def total(self) -> Any:
        """The sum of the concentrations: how many observations the belief is worth."""
        return self.alpha.sum(axis=-1)

    def for_data(self, rows: Array) -> Self:
        model = self if self.alpha is not None else replace(self, alpha=np.ones(rows.shape[-1]))
        if model.alpha.shape[-1] != rows.shape[-1]:
            raise self._unlike(model.alpha.shape[-1], rows.shape[-1])
        return model.widened(rows.shape[1])

    def for_statistics(self, stats: Sums) -> Self:
        model = self if self.alpha is not None else replace(self, alpha=np.ones(stats.total.shape[-1]))
        return super(Dirichlet, model).for_statistics(stats)

    def statistic(self, x: Array) -> Array:
        return np.log(x, dtype=np.float64)

    def log_base(self, x: Array) -> Array:
        return np.asarray(-np.log(x, dtype=np.float64).sum(axis=-1))

    def natural(self) -> Array:
        return np.asarray(self.alpha)

    def from_natural(self, eta: Array) -> Self:
        return replace(self, alpha=np.asarray(eta, dtype=float))

    def covariance_statistic(self) -> Array:
        each = trigamma(np.asarray(self.alpha, dtype=float))
        return np.asarray(each[..., None] * np.eye(each.shape[-1]) - trigamma(self.total)[..., None, None])

    def log_partition(self) -> Array:
        each = np.where(self._present, special.gammaln(np.where(self._present, self.alpha, 1.0)), 0.0)
        return np.asarray(each.sum(axis=-1) - special.gammaln(self.total))

    def mean_statistic(self) -> Array:
        return np.asarray(special.digamma(self.alpha) - special.digamma(self.total)[..., None])

    def log_cell(self, x: Array) -> Array:
        powers = np.where(self._present, special.xlogy(np.subtract(self.alpha, 1.0), x), 0.0)
        return np.asarray(powers.sum(axis=-1) - self.log_partition())

    # ---- learning -----------------------------------------------------------------------------------------------
    def from_mean(self, mean: Array) -> Self:
        return self._newton(mean, np.ones(mean.shape[:-1]))

    def maximise(self, stats: Sums) -> Self:
        empty = stats.weight == 0
        return self.choose(empty, self._newton(np.where(empty[..., None], -1.0, stats.mean), stats.weight))

    def _newton(self, mean: Array, weight: Array) -> Self:
        """Newton on alpha·E log x − log B(alpha), which is concave."""
        width = mean.shape[-1]
        names = tuple(f"alpha[{i}]" for i in range(width))
        gap = -special.logsumexp(mean, axis=-1)  # 0 where all rows are alike, about (width − 1) / 2Σalpha
        mean = mean - np.maximum(0.5 * (width - 1) / STEEPEST - gap, 0.0)[..., None]

        def evaluate(theta: Array) -> tuple[Array, Array, Array]:
            both = theta.sum(axis=-1, keepdims=True)
            # alpha·mean − log B without the large terms of log Γ, which cancel
            cells = theta * (mean - np.log(theta / both)) + 0.5 * np.log(theta) - stirling_rest(theta)
            value = cells.sum(axis=-1) - 0.5 * np.log(both[..., 0]) + stirling_rest(both[..., 0])
            gradient = mean - special.digamma(theta) + special.digamma(both)
            hessian = trigamma(both)[..., None] - trigamma(theta)[..., None] * np.eye(width)
            return value, gradient, hessian

        start = special.softmax(mean, axis=-1) * (0.5 * (width - 1) / np.maximum(gap, 0.5 / STEEPEST))[..., None]
        tied = frozenset(names) if "alpha" in self.tied else frozenset()
        if tied:
            start = np.broadcast_to(np.exp(np.log(start).mean(axis=0)), start.shape)
        return replace(self, alpha=newton(evaluate, start, weight, names, tied=tied))

    def error_cells(self, stats: Sums) -> dict[str, Array]:
        """From the information weight·(diag ψ′(alpha) − ψ′(total)), inverted by Sherman and Morrison."""
        with np.errstate(all="ignore"):
            own, both = trigamma(self.alpha), trigamma(self.total)[..., None]
            weight = np.asarray(stats.weight).sum(axis=0, keepdims=True) if self.tied else stats.weight
            inverse = 1 / own + (both / own**2) / (1 - both * (1 / own).sum(axis=-1, keepdims=True))
            return {"alpha": np.sqrt(inverse / weight[..., None])}

    def alerts(self, stats: Sums) -> tuple[Alert, ...]:
        if self.fixed or not (self.total > 1e-3 * STEEPEST).any():
            return ()
        text = (
            "the rows are so alike that the concentrations grow without bound and the density becomes a point; "
            f"they were held near {STEEPEST:g}. Add data, or fix alpha."
        )
        return (Alert("collapsed", text),)

    # ---- asking -------------------------------------------------------------------------------------------------
    @property
    def peak_precision(self) -> Array:
        return np.asarray(self.alpha.sum(axis=-1))

    def rounding(self, stats: Sums) -> float:
        return float(BLUR * (stats.weight * self.stacked.peak_precision).sum())

    def widen(self, by: Array) -> Self:
        return replace(self, alpha=self.alpha / by[..., None])

    def column_summaries(self) -> list[list[ColumnSummary]]:
        """The expected share of each part."""
        shares = np.asarray(self.stacked.mean)
        parts = tuple(range(shares.shape[-1]))
        return [[levels_of(parts, component) for component in column] for column in np.moveaxis(shares, 1, 0)]

    def draw(self, n: int, rng: np.random.Generator) -> Array:
        parts = rng.standard_gamma(np.where(self._present, self.alpha, 1.0) + 1.0, (n, *self.alpha.shape))
        with np.errstate(all="ignore"):  # in logs, so that small concentrations do not underflow to 0/0
            boost = np.log(rng.random(parts.shape)) / self.alpha
            logs = np.where(self._present, np.log(parts) + boost, -np.inf)
        shares = np.exp(logs - logs.max(axis=-1, keepdims=True))
        return np.asarray(shares / shares.sum(axis=-1, keepdims=True))

    @property
    def mean(self) -> Any:
        """The expected shares, alpha / Σ alpha."""
        return self.alpha / self.total[..., None]

    @property
    def var(self) -> Any:
        """The variance of each share."""
        return self.mean * (1 - self.mean) / (self.total[..., None] + 1)

    @property
    def mode(self) -> Any:
        """The most probable shares: inside where all concentrations exceed 1, else on the boundary."""
        spare = np.where(self._present, np.maximum(self.alpha - 1.0, 0.0), 0.0)
        flat = np.where(self._present & (self.alpha == self.alpha.max(axis=-1, keepdims=True)), 1.0, 0.0)
        weight = np.where(spare.any(axis=-1, keepdims=True), spare, flat)
        return weight / weight.sum(axis=-1, keepdims=True)

    def interval(self, level: float = 0.95) -> Any:
        """Central intervals of the shares, each by itself: (low, high) of alpha's shape."""
        check_level(level)
        rest = self.total[..., None] - self.alpha
        ends = [special.betaincinv(self.alpha, rest, q) for q in ((1 - level) / 2, (1 + level) / 2)]
        ends = [np.where(self._present, np.where(rest > 0, end, 1.0), 0.0) for end in ends]
        return ends[0], ends[1]

    def marginal_cdf(self, name: str, t: Array) -> Array:
        """P(share ≤ t) of each share by itself, a Beta."""
        del name
        rest = self.total[..., None] - self.alpha
        inside = special.betainc(
            np.where(self._present, self.alpha, 1.0), np.where(rest > 0, rest, 1.0), np.clip(t, 0, 1)
        )
        point = np.where(self._present & ~(rest > 0), 1.0, 0.0)  # where a share is sure to be 1, or 0
        return np.where(self._present & (rest > 0), np.where(t < 0, 0.0, inside), (t >= point).astype(float))

    def marginal_density(self, name: str, t: Array) -> Array:
        """The density of each share by itself, a Beta; NaN for a share that is sure to be 0 or 1."""
        del name
        rest = self.total[..., None] - self.alpha
        spread = self._present & (rest > 0)
        a, b = np.where(spread, self.alpha, 1.0), np.where(spread, rest, 1.0)
        with np.errstate(all="ignore"):
            logs = special.xlogy(a - 1, t) + special.xlog1py(b - 1, -np.asarray(t)) - special.betaln(a, b)
        return np.where(spread, np.where((t >= 0) & (t <= 1), np.exp(logs), 0.0), np.nan)

    def entropy_cell(self) -> Any:
        slopes = np.where(self._present, (self.alpha - 1) * special.digamma(np.where(self._present, self.alpha, 1)), 0)
        both = (self.total - self._present.sum(axis=-1)) * special.digamma(self.total)
        return self.log_partition() + both - slopes.sum(axis=-1)

    def geometric_mean(self) -> tuple[Array, Array]:
        """The shares exp E log x, which sum to less than 1, as shares of their sum and the logarithm of that sum."""
        with np.errstate(all="ignore"):
            logs = np.where(self._present, self.mean_statistic(), -np.inf)
        total = np.asarray(special.logsumexp(logs, axis=-1))
        return np.exp(logs - total[..., None]), total

    def divergence_cells(self, other: Self) -> Array:
        """As that of :class:`Beta`; levels that a column does not have add nothing."""
        present = self._present & (other.alpha > 0)
        x, y = np.where(present, self.alpha, 1.0), np.where(present, other.alpha, 1.0)
        mine, theirs = self.total[..., None], other.total[..., None]
        step = x / mine * ((theirs - mine) / theirs) - (y - x) / theirs
        means = theirs * excess(y / theirs, x / mine, step)
        each = means + 0.5 * ratio_excess(y / x, (y - x) / x) + stirling_divergence(y, x)
        whole = 0.5 * ratio_excess(theirs / mine, (theirs - mine) / mine) + stirling_divergence(theirs, mine)
        return np.asarray(np.where(present, each, 0.0).sum(axis=-1) - whole[..., 0])

    def _comparable(self, other: Self) -> bool:
        if self.alpha.shape[-1] != other.alpha.shape[-1]:
            raise self._unlike(self.alpha.shape[-1], other.alpha.shape[-1])
        return super()._comparable(other)

    def _unlike(self, mine: int, theirs: int) -> ParameterError:
        return ParameterError(f"Dirichlet has {mine} entries where {theirs} are needed: one for each share or level.")
