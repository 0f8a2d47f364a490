"""Exponential families: p(x) = h(x)·exp(η·u(x) − A(η)). Five formulas, and everything else follows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from suffice import kernels
from suffice.core.family import Family
from suffice.core.mixed_columns import Learned, Part
from suffice.core.responsibilities import EStep
from suffice.numerics import derivatives, quadrature
from suffice.statistics.sums import Sums

if TYPE_CHECKING:
    from suffice.statistics.weights import Weights
    from suffice.types import Array


@dataclass(frozen=True, eq=False, repr=False)
class ExponentialFamily(Family):
    """A family with finite statistics, written as five formulas, elementwise in the parameters.

    A statistic of several numbers has them on a last axis of its own, and so has the natural parameter.
    """

    own_base: ClassVar[bool] = False  # log h depends on known parameters, which components may have different values of

    # ---- the five formulas --------------------------------------------------------------------------------------
    def statistic(self, x: Array) -> Array:
        """u(x), (n, d) or (n, d, m)."""
        raise self._cannot("show its statistic")

    def log_base(self, x: Array) -> Array:
        """Log h(x), (n, d)."""
        return np.zeros(np.shape(x)[: np.ndim(x) - self.support.core])

    def natural(self) -> Array:
        """The natural parameter η, in the shape of the batch (and m)."""
        raise self._cannot("show its natural parameter")

    def log_partition(self) -> Array:
        """A, in the shape of the batch."""
        raise self._cannot("show its log-partition")

    def from_mean(self, mean: Array) -> Self:
        """The component whose expected statistic is ``mean``."""
        raise self._cannot("be found from a mean statistic")

    def from_natural(self, eta: Array) -> Self:
        """The component whose natural parameter is ``eta``, in the shape that ``natural`` gives."""
        raise self._cannot("be found from a natural parameter")

    # ---- what follows -------------------------------------------------------------------------------------------
    def gather(self, x: Array, w: Weights) -> Any:
        if self.own_base and self.n_components > 1:
            return side_by_side([one.stacked.gather(x, w.of_component(j)) for j, one in enumerate(self.unstacked)])
        x, seen = self.check_support(x, w)
        with np.errstate(all="ignore"):
            u = np.asarray(self.statistic(x), dtype=np.float64)
            base = np.asarray(self.log_base(x))
        return weighted_sums(u, base, seen, w)

    def log_density(self, x: Array) -> Array:
        eta, partition = np.asarray(self.natural()), np.asarray(self.log_partition())
        if not (np.isfinite(eta).all() and np.isfinite(partition).all()) or (self.own_base and self.n_components > 1):
            return super().log_density(x)
        axes = tuple(range(2, x.ndim))
        inside = self.support.contains(x)
        with np.errstate(all="ignore"):
            u, base = np.asarray(self.statistic(x), dtype=np.float64), np.asarray(self.log_base(x))
        width = int(np.prod(u.shape[1:]))
        if inside.all():
            flat = u.reshape(len(x), width)
            return np.asarray(flat @ eta.reshape(len(eta), -1).T - partition.sum(axis=1) + base.sum(axis=1)[:, None])
        missing = np.isnan(x).any(axis=axes) if axes else np.isnan(x)
        u = np.where(inside.reshape(inside.shape + (1,) * (u.ndim - 2)), u, 0.0).reshape(len(x), width)
        base = np.where(missing, 0.0, np.where(inside, base, -np.inf))
        scores = u @ eta.reshape(len(eta), -1).T - inside.astype(float) @ partition.T
        return np.asarray(scores + base.sum(axis=1)[:, None])

    def e_step(self, x: Array, log_weights: Array, weights: Array | None = None) -> EStep:
        part = self.in_cells(x)
        if part is None or part.features is None or part.offset is None:
            return super().e_step(x, log_weights, weights)
        columns, slopes = part.features
        rows = columns[0] if len(columns) == 1 else np.concatenate(columns, axis=1)
        likelihood, entropy, count, total = kernels.linear_e_step(rows, slopes, part.offset, None, log_weights, weights)
        if not np.isfinite(likelihood):
            return super().e_step(x, log_weights, weights)
        return EStep(likelihood, entropy, part.statistics(Learned(count, total=total)), count)

    def in_cells(self, x: Array) -> Part | None:
        eta, partition = np.asarray(self.natural()), np.asarray(self.log_partition())
        if not (np.isfinite(eta).all() and np.isfinite(partition).all()) or self.own_base or not self.plain_score:
            return None
        inside = self.support.contains(x)
        whole = bool(inside.all())
        if not whole and not (inside | np.isnan(x).reshape(*inside.shape, -1).any(axis=2)).all():
            return None
        if not whole:  # what is missing is anything possible, that will count for nothing
            x = np.where(inside.reshape(inside.shape + (1,) * (x.ndim - 2)), x, x[inside][0] if inside.any() else 1.0)
        with np.errstate(all="ignore"):
            u, base = np.asarray(self.statistic(x), dtype=np.float64), np.asarray(self.log_base(x))
        (n, d), tail, k = u.shape[:2], u.shape[2:], len(eta)
        columns, slopes, offset = [u.reshape(n, -1)], [eta.reshape(k, -1)], partition.sum(axis=1)
        based = bool(base.any())
        if based:  # log h is one more feature of each column, which every component has the slope 1 for
            columns, slopes = [*columns, base], [*slopes, np.ones((k, d))]
        if not whole:  # and so is whether the cell is there
            columns = [np.where(np.repeat(inside, one.shape[1] // d, axis=1), one, 0.0) for one in columns]
            columns, slopes, offset = [*columns, inside.astype(float)], [*slopes, -partition], np.zeros(k)

        def statistics(learned: Learned) -> Sums:
            m = columns[0].shape[1]
            weight = learned.total[:, -d:] if not whole else np.repeat(learned.weight[:, None], d, axis=1)
            base = learned.total[:, m : m + d] if based else np.zeros((k, d))
            return Sums(weight, base, learned.total[:, :m].reshape(k, d, *tail))

        return Part(statistics, features=(columns, np.concatenate(slopes, axis=1)), offset=offset)

    @property
    def plain_score(self) -> bool:
        """Whether η·u − A is the log density to full precision."""
        return type(self).log_density is ExponentialFamily.log_density

    def log_cell(self, x: Array) -> Array:
        product = self.statistic(x) * self.natural()
        axes = tuple(range(np.ndim(x) - self.support.core, np.ndim(product)))
        return np.asarray(product.sum(axis=axes) - self.log_partition() + self.log_base(x))

    def maximise(self, stats: Any) -> Self:
        empty = stats.weight == 0
        if empty.all():
            return self
        mean = stats.mean
        if empty.any():  # a valid stand-in: the cell keeps its own parameters below
            mean = np.where(empty.reshape(empty.shape + (1,) * (mean.ndim - 2)), mean[~empty][0], mean)
        if self.tied >= set(self.free):  # components alike: one sum of all their rows
            pooled = replace(stats, weight=stats.weight.sum(axis=0), total=stats.total.sum(axis=0))
            mean = np.broadcast_to(pooled.mean, mean.shape)
            empty = np.broadcast_to(empty.all(axis=0), empty.shape)
        return self.choose(empty, self.from_mean(mean))

    def likelihood_cells(self, stats: Any) -> Array:
        eta, weight = np.asarray(self.natural()), stats.weight
        with np.errstate(all="ignore"):
            product = np.where(stats.total == 0, 0.0, eta * stats.total)
            axes = tuple(range(2, product.ndim))
            cells = product.sum(axis=axes) - np.where(weight == 0, 0.0, weight * self.log_partition())
        return np.asarray(cells + stats.base)

    def mean_statistic(self) -> Array:
        """E u(X) = ∂A/∂η; by default by differentiating A along the parameters."""
        return derivatives.mean_statistic(self)

    def covariance_statistic(self) -> Array:
        """Cov u(X) = ∂²A/∂η²: a number for one statistic, else (…, m, m); by default from E u along the parameters."""
        return derivatives.covariance_statistic(self)

    def kl(self, other: Any) -> Any:
        """D(self‖other): a Bregman divergence of A within the family, else by quadrature or summation."""
        self.require_ready("be compared")
        if type(other) is not type(self) or not (self._comparable(other)):
            return quadrature.relative_entropy(self, other)
        cells = np.maximum(self.divergence_cells(other), 0.0)
        total = cells.sum(axis=-1) if np.ndim(cells) else cells
        return float(total) if np.ndim(total) == 0 else total

    def divergence_cells(self, other: Any) -> Array:
        """D(self‖other) of each column within the family; families write it without the cancellation it has here."""
        mine, theirs = np.asarray(self.natural()), np.asarray(other.natural())
        product = (mine - theirs) * self.mean_statistic()
        axes = tuple(range(len(self.batch), product.ndim))
        return np.asarray(product.sum(axis=axes) - self.log_partition() + other.log_partition())

    def _comparable(self, other: Any) -> bool:
        """Whether both share the base measure, and natural parameters are finite where the general formula has them."""
        finite = type(self).divergence_cells is not ExponentialFamily.divergence_cells or bool(
            np.isfinite(np.asarray(self.natural())).all() and np.isfinite(np.asarray(other.natural())).all()
        )
        known = all(
            np.array_equal(getattr(self, name), getattr(other, name))
            for name, spec in self.specs().items()
            if not spec.learned
        )
        return bool(finite and known and self.batch == other.batch)


def weighted_sums(u: Array, base: Array, seen: Array | None, w: Weights, *, exact: bool = True) -> Sums:
    """Σ w u, Σ w base and Σ w over the cells that were seen; u (n, d, …), base (n, d)."""
    n, d, *tail = u.shape
    if seen is not None:
        u = np.where(seen.reshape(seen.shape + (1,) * len(tail)), u, 0.0)
        base = np.where(seen, base, 0.0)
    columns, based = [u.reshape(n, prod((d, *tail)))], bool(base.any())
    if based:
        columns.append(np.broadcast_to(base, (n, d)))
    if seen is not None:
        columns.append(seen.astype(float))
    features = columns[0] if len(columns) == 1 else np.concatenate(columns, axis=1)
    total = kernels.sums(features, **w.arguments)
    at = columns[0].shape[1]
    log_base = total[:, at : at + d] if based else np.zeros((w.n_components, d))
    weight = total[:, -d:] if seen is not None else w.component_totals()[:, None].repeat(d, axis=1)
    return Sums(weight, log_base, total[:, :at].reshape((w.n_components, d, *tail)), exact)


def side_by_side(parts: list[Sums]) -> Sums:
    """Sums of components that were gathered one by one, as those of a stack."""
    weight, base, total = (
        np.concatenate([getattr(part, name) for part in parts]) for name in ("weight", "base", "total")
    )
    return Sums(weight, base, total, parts[0].exact)
