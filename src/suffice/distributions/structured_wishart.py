"""What scikit-learn believes of covariances that have a structure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from suffice.distributions.normal_inverse_wishart import NormalInverseWishart
from suffice.distributions.structure_base import Structure
from suffice.statistics.moments import Scatter
from suffice.types import Array


def _mean_diagonal(scatter: Array) -> Array:
    d = scatter.shape[-1]
    return np.asarray((np.einsum("kii->k", scatter) / d)[:, None, None] * np.eye(d))


# What a scale keeps of scatter matrices (k, d, d).
KEPT: dict[str, Callable[[Array], Array]] = {
    "full": lambda scatter: scatter,
    "diag": lambda scatter: scatter * np.eye(scatter.shape[-1]),
    "spherical": _mean_diagonal,
    "tied": lambda scatter: np.broadcast_to(scatter.mean(axis=0), scatter.shape),
}


@dataclass(frozen=True, eq=False, repr=False)
class StructuredWishart(NormalInverseWishart, register=False):
    """A :class:`NormalInverseWishart` whose scale has the ``structure`` of the covariances.

    With "full" it is that belief. With "tied" all components have the mean of their scales and degrees of freedom,
    which is the best belief that they can have in common. With "diag" and "spherical" degrees of freedom are counted as
    for full matrices: no density of such covariances, but as good a bound to maximise, and scikit-learn's numbers.
    ``ridge`` is added to the variances of rows, as its ``reg_covar``; rows are scored without it, so the bound may fall
    a little.
    """

    structure: str = "full"
    ridge: float = 0.0

    def suits(self, form: Structure) -> bool:
        del form
        return True

    def after(self, stats: Scatter) -> StructuredWishart:
        """The belief after the statistics."""
        weight, keep = np.asarray(stats.weight), KEPT[self.structure]
        (k, d), count = stats.centre.shape, self.count + weight
        away = (stats.centre - self.mean) + stats.shift
        between = (self.count * weight / count)[:, None, None] * away[:, :, None] * away[:, None, :]
        pooled = len(stats.scatter) < k  # one matrix for all components: each has an equal part
        within = np.broadcast_to(stats.scatter / k, (k, d, d)) if pooled else stats.scatter
        scatter = within + between + (self.ridge * weight)[:, None, None] * np.eye(d)
        shared = self.structure == "tied"
        return StructuredWishart(
            self.mean + away * (weight / count)[:, None],
            count,
            self.df + (np.full(k, weight.mean()) if shared else weight),
            self.scale + keep(scatter),
            structure=self.structure,
            ridge=self.ridge,
        )
