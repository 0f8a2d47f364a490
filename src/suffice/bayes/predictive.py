"""A family averaged over a belief about its parameters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from suffice.core.family import Family
from suffice.core.likelihood import CELLS, column_log_prob
from suffice.numerics.lazy import special
from suffice.types import Array


@dataclass(frozen=True, eq=False, repr=False)
class Averaged(Family, register=False):
    """A family averaged over a belief: a fine mixture of its components at the nodes of a quadrature."""

    nodes: Any = None  # a stack of one column
    shares: Any = None  # (k,), they sum to 1

    def __post_init__(self) -> None:
        """Take the support from the nodes."""
        super().__post_init__()
        object.__setattr__(self, "support", self.nodes.support)
        object.__setattr__(self, "discrete", self.nodes.discrete)

    @property
    def name(self) -> str:
        """What is averaged."""
        return f"averaged {self.nodes.name}"

    def log_density(self, x: Array) -> Array:
        """Log Σ share · p(x), (n, 1)."""
        step = max(CELLS // len(self.shares), 1)
        with np.errstate(divide="ignore"):
            parts = [
                special.logsumexp(column_log_prob(self.nodes, x[i : i + step]) + np.log(self.shares), axis=1)
                for i in range(0, len(x), step)
            ]
        return np.concatenate(parts)[:, None] if parts else np.zeros((0, 1))

    def cumulative(self, x: Array) -> Array:
        """Σ share · P(X ≤ x)."""
        flat = np.ravel(x)
        step = max(CELLS // (8 * len(self.shares)), 1)
        blocks = [flat[i : i + step, None, None] for i in range(0, len(flat), step)]
        parts = [self.nodes.cumulative(block)[..., 0] @ self.shares for block in blocks]
        return np.concatenate(parts).reshape(np.shape(x)) if parts else np.zeros(np.shape(x))

    def inverse(self, q: Array) -> Array:
        """Quantiles, between those of the nodes."""
        level = np.ravel(q)
        likely = self.shares > 1e-15
        ends = np.array([self._ends(one, likely) for one in level]).reshape(-1, 2)
        low, high = ends[:, 0], ends[:, 1]
        for _ in range(100):
            middle = 0.5 * (low + high)
            middle = np.floor(middle) if self.discrete else middle
            short = self.cumulative(middle) < level - (1e-15 if self.discrete else 0.0)
            low, high = np.where(short, middle, low), np.where(short, high, middle)
            if (high - low <= (1 if self.discrete else 1e-15 * np.abs(high))).all():
                break
        out = high if self.discrete else 0.5 * (low + high)
        out = np.where(level <= 0, self.support.low, np.where(level >= 1, self.support.high, out))
        return out.reshape(np.shape(q))

    def _ends(self, level: float, likely: Array) -> tuple[float, float]:
        with np.errstate(all="ignore"):
            points = self.nodes.inverse(np.array(float(np.clip(level, 1e-300, 1 - 1e-16))))[likely, 0]
        points = points[np.isfinite(points)]
        return float(points.min()) - (1.0 if self.discrete else 0.0), float(points.max())

    def draw(self, n: int, rng: np.random.Generator) -> Array:
        """Draw a node for each row, then the row."""
        which = rng.choice(len(self.shares), n, p=self.shares / self.shares.sum())
        drawn = self.nodes.reshaped(lambda value: value[which]).draw(1, rng) if n else np.zeros((1, 0, 1))
        return np.asarray(drawn[0][:, :, None])

    @property
    def mean(self) -> float:
        """The expected row."""
        return float(self.shares @ np.asarray(self.nodes.mean)[:, 0])

    @property
    def var(self) -> float:
        """The variance: of the components, and between their means."""
        means = np.asarray(self.nodes.mean)[:, 0]
        return float(self.shares @ (np.asarray(self.nodes.var)[:, 0] + np.square(means - self.mean)))

    def __repr__(self) -> str:
        """Show the family and how fine the average is."""
        return f"Averaged({self.nodes.name}, {len(self.shares)} nodes)"
