"""Families without finite statistics: every pass gathers sums given the current parameters, as EM does."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from suffice.core.exponential_family import weighted_sums
from suffice.core.family import Family
from suffice.numerics.derivatives import sharing
from suffice.numerics.newton import Groups
from suffice.statistics.estimated import Estimated
from suffice.statistics.sums import Sums
from suffice.statistics.weights import Weights

if TYPE_CHECKING:
    from suffice.types import Array

FLAT = 1e-30  # relative: a curvature that is less leads nowhere


@dataclass(frozen=True, eq=False, repr=False)
class IterativeFamily(Family):
    """A family that gives ``terms``: what one pass sums up, given the parameters.

    The sums stream, weigh and merge like any statistics; their base is the log-likelihood of the parameters that
    gathered them. ``maximise`` turns them into better parameters and never worse ones.
    """

    terms_per_cell: ClassVar[int] = 1  # how many numbers a pass makes of a cell: more of them, shorter blocks
    monotone_from_anywhere: ClassVar[bool] = False  # an M-step that cannot fall, so that EM may be accelerated

    @property
    def exact(self) -> bool:
        """Whether one pass is enough: not here."""
        return False

    def terms(self, x: Array) -> Array:
        """What a pass sums, (n, d, m), under parameters (d,)."""
        raise self._cannot("gather statistics")

    def gather(self, x: Array, w: Weights) -> Any:
        x, seen = self.check_support(x, w)
        parts = []
        for index, component in enumerate(self.unstacked):
            with np.errstate(all="ignore"):
                terms, base = component.terms(x), component.log_cell(x)
            mine = w.of_component(index)
            if mine.values is not None and not (mine.values > 0).all():  # far rows may overflow: 0 · ∞ is nothing
                counted = (mine.values > 0)[:, None]
                base = np.where(counted, base, 0.0)
                terms = np.where(counted.reshape(-1, *(1,) * (terms.ndim - 1)), terms, 0.0)
            parts.append(weighted_sums(terms, np.asarray(base), seen, mine, exact=False))
        return Sums(
            np.concatenate([part.weight for part in parts]),
            np.concatenate([part.base for part in parts]),
            np.concatenate([part.total for part in parts]),
            exact=False,
        )

    def estimate(self, stats: Any, prior: Any = None) -> Self:
        """Better parameters than those that gathered the statistics, or those that an accelerated step proposes."""
        if isinstance(stats, Estimated):
            proposed: dict[str, Any] = dict(zip(stats.names, stats.values, strict=True))
            return self.like(replace(self.stacked, **proposed))
        return super().estimate(stats, prior)

    def likelihood_cells(self, stats: Any) -> Array:
        return np.asarray(stats.base)

    def guess(self, x: Array, weights: Array) -> dict[str, float]:
        """First values of the parameters from a column's cells (n,) that were seen; {} where the family has none."""
        del x, weights
        return {}

    def start(self, x: Any, weights: Any = None, rng: np.random.Generator | None = None) -> Self:
        rows, prepared, model = self._prepare(x, weights)
        stack = model.stacked
        values = {name: np.array(np.asarray(getattr(stack, name)), dtype=float) for name in stack.free}
        totals = np.zeros(stack.batch)
        inside = stack.support.contains(rows)
        for index in range(stack.n_components):
            mine = prepared.of_component(index).dense()[:, 0]
            for column in range(rows.shape[1]):
                kept = inside[:, column] & (mine > 0)
                if kept.any():
                    guessed = stack.guess(rows[kept, column].astype(float), mine[kept])
                    if not guessed:
                        return super().start(x, weights, rng)
                    totals[index, column] = mine[kept].sum()
                    for name, value in values.items():
                        value[index, column] = guessed[name]
        for name in stack.tied & set(values):
            pooled = (values[name] * totals).sum(axis=0) / np.maximum(totals.sum(axis=0), 1e-300)
            values[name] = np.where(totals.sum(axis=0) > 0, np.broadcast_to(pooled, stack.batch), values[name])
        moved: dict[str, Any] = values
        return model.like(replace(stack, **moved))

    def score_width(self, rows: Any) -> int:
        return super().score_width(rows) * self.terms_per_cell


def newton_step(
    gradient: Array, hessian: Array, weight: Array, free: tuple[str, ...], tied: frozenset[str], limits: Array
) -> tuple[Array, Array]:
    """A Newton step (k, d, q) from Σ w of the derivatives, and how far (k, d) to trust it, from 0 to 1.

    1: the curvature is negative definite and no coordinate moves by more than its limit, so that the step stays where
    the quadratic approximation holds and rises. Less: the part of the step that was kept, cut to the limits; it
    still points uphill. 0: the curvature is not that of a maximum. Tied parameters move together over the components.
    """
    k, d, q = gradient.shape
    joint = bool(tied & set(free)) and k > 1
    groups = Groups((k, d, q), joint, sharing(k, free, tied) if joint else np.eye(q))
    total = groups.values(weight)
    unit = np.where(total > 0, total, 1.0)
    g = groups.gradient(gradient) / unit[:, None]
    h = groups.hessian(hessian) / unit[:, None, None]
    usable = np.isfinite(g).all(axis=-1) & np.isfinite(h).all(axis=(-2, -1)) & (total > 0)
    identity = np.eye(h.shape[-1])
    h = np.where(usable[:, None, None], h, -identity)
    g = np.where(usable[:, None], g, 0.0)
    bends = np.linalg.eigvalsh(h)
    concave = bends[:, -1] < -FLAT * np.abs(bends).max(axis=-1)
    shift = np.where(concave, 0.0, np.maximum(bends[:, -1], 0.0) + 0.1 * np.abs(bends).max(axis=-1) + 1e-300)
    step = groups.spread(np.linalg.solve(shift[:, None, None] * identity - h, g[..., None])[..., 0])
    with np.errstate(divide="ignore", over="ignore"):
        factor = np.minimum(limits / np.abs(step), 1.0).min(axis=-1)
    if joint:
        factor = np.broadcast_to(factor.min(axis=0), factor.shape)
    peak = np.broadcast_to(usable & concave, (k, d)) if joint else (usable & concave).reshape(k, d)
    return step * factor[..., None], np.where(peak, factor, 0.0)


def weighted_median(x: Array, weights: Array) -> float:
    """The middle of the values (n,) by weight: the midpoint of the two middle ones where it is not unique."""
    order = np.argsort(x, kind="stable")
    x, below = x[order], np.cumsum(weights[order])
    half = below[-1] / 2
    tie = 1e-12 * below[-1]  # weights that are not whole numbers add up with rounding
    low = x[np.searchsorted(below, half - tie)]
    high = x[min(int(np.searchsorted(below, half + tie, side="right")), len(x) - 1)]
    return float(low + (high - low) / 2)
