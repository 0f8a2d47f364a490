"""Counts of several outcomes in a number of trials."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any, Self

import numpy as np

from suffice.core.exponential_family import ExponentialFamily
from suffice.core.family import Family
from suffice.core.parameters import COUNT_VECTOR, NATURAL, SIMPLEX, described, parameter
from suffice.display.values import ColumnSummary, levels_of
from suffice.distributions.dirichlet import Dirichlet
from suffice.distributions.dirichlet_multinomial import DirichletMultinomial
from suffice.distributions.minimal_form import MinimalForm
from suffice.distributions.weak_priors import shared_row
from suffice.errors import DataError, ParameterError
from suffice.numerics.lazy import special
from suffice.numerics.special import ratio_excess
from suffice.statistics.sums import Sums, share
from suffice.types import Alert, Array, Data, Label

STIRLING = 40.0  # from here on four terms of Stirling's series are exact
REACH, POINTS = 12.0, 1 << 16  # standard deviations beyond which a count is negligible, and points of the grid


@dataclass(frozen=True, eq=False, repr=False)
class Multinomial(ExponentialFamily):
    r"""Counts of L outcomes in n trials: :math:`P(x) = \frac{n!}{\prod_j x_j!} \prod_j p_j^{x_j}`.

    A row is a vector of counts; its sum is its number of trials, which may differ from row to row. ``trials`` is needed
    only to draw rows, and is taken from the data where all rows agree. ``levels`` may name the outcomes.
    Statistic x, natural parameter log probs, log-partition 0; conjugate prior :class:`Dirichlet`.

    >>> sf.fit(sf.Multinomial(), [[2, 1, 1], [0, 3, 1]]).distribution.probs
    array([0.25, 0.5 , 0.25])
    """

    trials: Any = parameter(NATURAL, typical=(3, 9), learned=False)
    probs: Any = parameter(SIMPLEX, typical=(0.1, 0.9))
    levels: tuple[Any, ...] | None = field(
        default=None, metadata=described("tuple, optional", "The labels that are counted, by position.")
    )

    support = COUNT_VECTOR
    discrete = True
    conjugates = (Dirichlet,)
    belief_about = "probs"

    def __post_init__(self) -> None:
        """Let the levels give the number of outcomes."""
        if self.levels is not None:
            object.__setattr__(self, "levels", tuple(self.levels))
            if self.probs is None:
                object.__setattr__(self, "probs", np.full(len(self.levels), 1 / max(len(self.levels), 1)))
        super().__post_init__()
        if self.levels is not None and self.probs.shape[-1] != len(self.levels):
            msg = f"Multinomial names {len(self.levels)} levels but has {self.probs.shape[-1]} probabilities."
            raise ParameterError(msg)

    def _wide(self, width: int) -> Self:
        model = self if self.probs is not None else replace(self, probs=np.full(width, 1 / width))
        if model.probs.shape[-1] != width:
            msg = f"Multinomial counts {model.probs.shape[-1]} outcomes, but the rows of the data have {width}."
            raise DataError(msg)
        return model

    def for_data(self, rows: Array) -> Self:
        model = self._wide(rows.shape[-1])
        if model.trials is None and len(rows):
            totals = rows.sum(axis=-1)
            first = totals[np.isfinite(totals)].max(initial=0.0)
            if first >= 1 and (totals[np.isfinite(totals)] == first).all():
                model = replace(model, trials=first)
        return model.widened(rows.shape[1])

    def for_statistics(self, stats: Sums) -> Self:
        return super(Multinomial, self._wide(stats.total.shape[-1])).for_statistics(stats)

    def read(self, x: Data) -> Any:
        rows = super().read(x)
        if self.probs is not None:
            self._wide(rows.shape[-1])
        return rows

    def statistic(self, x: Array) -> Array:
        return x

    def log_base(self, x: Array) -> Array:
        return np.asarray(special.gammaln(x.sum(axis=-1) + 1.0) - special.gammaln(x + 1.0).sum(axis=-1))

    def natural(self) -> Array:
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.probs))

    def from_natural(self, eta: Array) -> Self:
        return replace(self, probs=special.softmax(np.asarray(eta, dtype=float), axis=-1))

    def covariance_statistic(self) -> Array:
        p, n = np.asarray(self.probs), np.asarray(self.mean_statistic()).sum(axis=-1)
        return np.asarray(n[..., None, None] * (p[..., None] * np.eye(p.shape[-1]) - p[..., :, None] * p[..., None, :]))

    def minimal_form(self) -> MinimalForm:
        """The form with one entry less: η_j = log p_j/p_L and A = n log(1 + Σ e^η)."""
        return MinimalForm(self)

    def log_partition(self) -> Array:
        return np.zeros(self.batch)

    def from_mean(self, mean: Array) -> Self:
        total = mean.sum(axis=-1, keepdims=True)
        return replace(self, probs=np.where(total > 0, share(mean, total), self.probs))

    def mean_statistic(self) -> Array:
        return np.asarray(self.mean)

    def log_cell(self, x: Array) -> Array:
        return np.asarray(special.xlogy(x, self.probs).sum(axis=-1) + self.log_base(x))

    def likelihood_cells(self, stats: Sums) -> Array:
        return np.asarray(special.xlogy(stats.total, self.probs).sum(axis=-1) + stats.base)

    def error_cells(self, stats: Sums) -> dict[str, Array]:
        count = stats.total.sum(axis=-1, keepdims=True)
        count = count.sum(axis=0, keepdims=True) if self.tied else count
        with np.errstate(all="ignore"):
            return {"probs": np.sqrt(self.probs * (1 - self.probs) / count)}

    def alerts(self, stats: Sums) -> tuple[Alert, ...]:
        if not ((stats.weight > 0) & (stats.total.sum(axis=-1) == 0)).any():
            return super().alerts(stats)
        text = "every row counts 0 trials, so the data say nothing about probs; they were left as they were. Add data."
        return (*super().alerts(stats), Alert("unidentified", text))

    def level_at(self, name: str, place: tuple[int, ...]) -> Label | None:
        return place[-1] if self.levels is None else self.levels[place[-1]]

    def label(self, name: str, place: tuple[int, ...]) -> str:
        if self.levels is None:
            return super().label(name, place)
        return f"{name}[{', '.join([*map(str, place[:-1]), str(self.levels[place[-1]])])}]"

    # ---- asking -------------------------------------------------------------------------------------------------
    def _known(self, what: str) -> Array:
        if self.trials is None:
            msg = f"Multinomial needs its number of trials to {what}: Multinomial(trials=10, probs=…)."
            raise ParameterError(msg)
        return np.asarray(self.trials)

    def column_summaries(self) -> list[list[ColumnSummary]]:
        probs = np.asarray(self.stacked.probs)
        levels = tuple(range(probs.shape[-1])) if self.levels is None else self.levels
        return [[levels_of(levels, component) for component in column] for column in np.moveaxis(probs, 1, 0)]

    def draw(self, n: int, rng: np.random.Generator) -> Array:
        trials = self._known("draw rows").astype(np.int64)
        return rng.multinomial(trials, self.probs, (n, *self.batch)).astype(float)

    @property
    def mean(self) -> Any:
        """The expected counts, trials·probs."""
        return self._known("have a mean")[..., None] * self.probs

    @property
    def var(self) -> Any:
        """The variance of each count, trials·probs·(1−probs)."""
        return self.mean * (1 - self.probs)

    def entropy_cell(self) -> Any:
        trials, probs = np.broadcast_arrays(self._known("have an entropy")[..., None], np.asarray(self.probs))
        cells = [_count_entropy(float(n), float(p)) for n, p in zip(trials.ravel(), probs.ravel(), strict=True)]
        return np.reshape(cells, probs.shape).sum(axis=-1) - _stirling_rest(trials[..., 0])

    def kl(self, other: Family) -> Any:
        """D(self‖other) of two that count the same outcomes in as many trials."""
        self.require_ready("be compared")
        if type(other) is not Multinomial or other.batch != self.batch or other.probs.shape != self.probs.shape:
            msg = "kl compares a Multinomial with another over the same outcomes."
            raise ParameterError(msg)
        if not np.array_equal(self._known("be compared"), np.asarray(other.trials)):
            return float("inf")
        cells = np.asarray(self.trials) * special.rel_entr(self.probs, other.probs).sum(axis=-1)
        total = cells.sum(axis=-1) if cells.ndim else cells
        return float(total) if np.ndim(total) == 0 else total

    # ---- believing ----------------------------------------------------------------------------------------------
    def update(self, stats: Sums, prior: Dirichlet | SimpleNamespace) -> Dirichlet:
        entries = np.shape(prior.alpha)[-1:]  # none where the same holds of every outcome
        if entries and entries[0] != stats.total.shape[-1]:
            outcomes = stats.total.shape[-1]
            msg = f"{prior!r} has {entries[0]} entries, but Multinomial counts {outcomes} outcomes."
            raise ParameterError(msg)
        return Dirichlet(prior.alpha + stats.total)

    def predict_with(self, belief: Dirichlet) -> DirichletMultinomial:
        return DirichletMultinomial(self.trials, belief.alpha, self.levels)

    def expected_component(self, belief: Dirichlet) -> tuple[Self, Array]:
        probs, offset = belief.geometric_mean()
        return replace(self, probs=probs), offset

    def exposure(self, x: Array) -> Array:
        """The trials of each row: every one of them has the offset."""
        trials = x.sum(axis=-1)
        return np.where(np.isnan(trials), 0.0, trials)

    def exposed(self, stats: Sums) -> Array:
        return np.asarray(stats.total.sum(axis=-1))

    def reference_belief(self, stats: Sums) -> Dirichlet:
        if not (stats.total > 0).all():
            msg = "some outcome was never seen."
            raise ParameterError(msg)
        found: Dirichlet = super().reference_belief(stats)
        return found

    def weak_prior(self, stats: Sums, part: float = 1.0) -> Dirichlet:
        """One pseudo-trial, shared equally by the outcomes."""
        del part
        outcomes = stats.total.shape[-1]
        return Dirichlet(np.full(outcomes, shared_row(outcomes)))


def _stirling_rest(x: Array | float) -> Array:
    """Return log x! − x log x + x, which stays small: by Stirling's series ½ log 2πx + 1/12x at first."""
    x = np.asarray(x, dtype=float)
    far = np.maximum(x, STIRLING)
    series = 0.5 * np.log(2 * np.pi * far) + (1 / 12 - (1 / 360 - 1 / (1260 * far**2)) / far**2) / far
    return np.asarray(np.where(x < STIRLING, special.gammaln(x + 1) - special.xlogy(x, x) + x, series))


def _excess(x: Array, mean: float) -> Array:
    """Return x log(x/mean) − x + mean, to all digits where x is near the mean."""
    some = np.where(x > 0, x, 1.0)
    return np.asarray(np.where(x > 0, some * ratio_excess(mean / some, (mean - some) / some), mean))


def _count_entropy(n: float, p: float) -> float:
    """E[log x! − x log(np) + x] of x from Binomial(n, p), without the differences of large numbers.

    The entropy of a multinomial is their sum over the outcomes, less log n! − n log n + n. The probabilities are
    Loader's (2000, *Fast and Accurate Computation of Binomial Probabilities*), where they are not negligible, and on a
    grid where there are very many.
    """
    mean = n * p
    if mean == 0 or p == 1:
        return float(_stirling_rest(mean))
    reach = REACH * np.sqrt(mean * (1 - p)) + 40
    low, high = max(0.0, np.floor(mean - reach)), min(n, np.ceil(mean + reach))
    step = max(1.0, np.ceil((high - low) / POINTS))
    x = low + step * np.arange(int((high - low) // step) + 1)
    away = _excess(x, mean)
    log_chance = -_stirling_rest(x) - _stirling_rest(n - x) - away - _excess(n - x, n - mean)
    chance = np.exp(log_chance - log_chance.max())
    return float((chance * (away + _stirling_rest(x))).sum() / chance.sum())
