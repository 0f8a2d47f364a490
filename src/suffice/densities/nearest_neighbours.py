"""Densities from the distance to the k-th nearest row."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from math import log, pi
from typing import Any, Self

import numpy as np
from scipy.special import gammaln
from sklearn.neighbors import KDTree

from suffice.core.parameters import described
from suffice.densities.nonparametric import MASS, ROWS, Nonparametric, kept
from suffice.densities.rows import WeightedRows
from suffice.engines.once import cached_property
from suffice.errors import DataError, ParameterError, UnsupportedError
from suffice.types import Alert, Array


@dataclass(frozen=True, eq=False, repr=False)
class KNN(Nonparametric):
    r"""As much density as the k nearest rows have room: :math:`p(x) = k / (n V_d R_k(x)^d)`.

    R is the Euclidean distance at which the rows around x weigh k together. The integral over all x is infinite, as
    the tails fall like :math:`|x|^{-d}`: it compares densities, but cannot be drawn from and has no moments.

    Parameters
    ----------
    k : int
        How many neighbours, rows of weight 1; √n is a common choice.
    rows, mass : arrays, set by a fit
        The distinct rows (m, d) and their weights.
    fixed, tied : set of str
        None: nothing is learned that could be.

    References
    ----------
    Loftsgaarden, D. O. and Quesenberry, C. P. (1965). A nonparametric estimate of a multivariate density function.
    Annals of Mathematical Statistics 36, 1049-1051.

    Examples
    --------
    >>> fit = sf.fit(sf.KNN(2), [0.0, 1.0, 3.0, 7.0])
    >>> round(float(np.exp(fit.log_prob(2.0))), 4)
    0.25
    """

    k: Any = field(default=5, metadata=described("int", "As above."))
    rows: Any = kept(ROWS)
    mass: Any = kept(MASS)

    _main = "rows"
    estimated_by = "counting"

    def __post_init__(self) -> None:
        """Check the number of neighbours."""
        if isinstance(self.k, bool) or not isinstance(self.k, (int, np.integer)) or self.k < 1:
            msg = f"KNN: k is a whole number of at least 1; got {self.k!r:.40}."
            raise ParameterError(msg)
        object.__setattr__(self, "k", int(self.k))
        super().__post_init__()
        if (self.rows is None) != (self.mass is None):
            msg = "KNN: rows and mass come together, as a fit sets them; give both, or neither."
            raise ParameterError(msg)

    @property
    def columns(self) -> int | None:
        return None if self.rows is None else int(np.shape(self.rows)[-1])

    def for_data(self, rows: Any) -> Self:
        d = int(np.shape(rows)[1])
        if self.columns not in (None, d):
            msg = f"KNN describes {self.columns} columns, but the data have {d}."
            raise DataError(msg)
        return self if self.rows is not None else replace(self, rows=np.zeros((0, d)), mass=np.zeros(0))

    @cached_property
    def seen(self) -> tuple[Array, Array]:
        """The rows of one component, and their weights."""
        rows, mass = np.asarray(self.rows), np.asarray(self.mass)
        rows, mass = (rows, mass) if self.lone else (rows[0], mass[0])
        return rows[mass > 0], mass[mass > 0]

    # ---- learning ----------------------------------------------------------------------------------------------------
    def maximise(self, stats: WeightedRows) -> Self:
        short = (stats.weight > 0) & (stats.weight < self.k)
        if short.any():
            msg = f"KNN: {self.k} neighbours are more than rows of weight {stats.weight[short][0]:g}; take a smaller k."
            raise DataError(msg)
        shape = (len(stats.mass), *stats.rows.shape)
        return replace(self, rows=np.broadcast_to(stats.rows, shape), mass=stats.mass)

    def side_by_side(self, components: list[KNN]) -> Self:
        k = len(components)
        parts = [WeightedRows.of_component(*one.seen, j, k) for j, one in enumerate(components)]
        whole: WeightedRows = sum(parts[1:], parts[0])
        return replace(self, rows=np.broadcast_to(whole.rows, (k, *whole.rows.shape)), mass=whole.mass)

    @property
    def n_parameters(self) -> int:
        """About as many as there are disjoint neighbourhoods, n / k."""
        return sum(max(round(float(one.seen[1].sum()) / self.k), 1) for one in self.stacked.unstacked)

    def alerts(self, stats: WeightedRows) -> tuple[Alert, ...]:
        text = "the density of nearest neighbours does not integrate to 1: likelihoods, BIC and AIC compare KNN alone."
        return (*super().alerts(stats), Alert("not normalised", text))

    # ---- asking ------------------------------------------------------------------------------------------------------
    def log_density(self, x: Array) -> Array:
        rows = np.asarray(x, dtype=float)
        return np.stack([one._log_prob(rows) for one in self.stacked.unstacked], axis=1)  # noqa: SLF001

    def _log_prob(self, x: Array) -> Array:
        out = np.zeros(len(x))
        patterns, index = np.unique(np.isnan(x), axis=0, return_inverse=True)
        index = index.reshape(-1)
        for number, pattern in enumerate(patterns):
            if not pattern.all():
                where = np.flatnonzero(index == number)
                out[where] = self._log_prob_of(x[where][:, ~pattern], np.flatnonzero(~pattern))
        return out

    def _log_prob_of(self, x: Array, columns: Array) -> Array:
        rows, mass = self.seen
        d = len(columns)
        with np.errstate(divide="ignore"):
            radius = np.log(_radius(rows[:, columns], mass, x, self.k))
        volume = d / 2 * log(pi) - float(gammaln(d / 2 + 1)) + d * radius
        return np.asarray(log(self.k) - log(float(mass.sum())) - volume)

    def marginal_columns(self, columns: list[int]) -> Any:
        return replace(self, rows=np.asarray(self.rows)[..., columns])

    def _refuse(self, what: str) -> UnsupportedError:
        return UnsupportedError(
            f"KNN has no {what}: its density does not integrate to 1. Use KDE, which has the same flexibility."
        )

    def draw(self, n: int, rng: np.random.Generator) -> Array:
        raise self._refuse("sample")

    def cdf(self, x: Any) -> Any:
        raise self._refuse("cumulative distribution")

    def quantile(self, q: Any) -> Any:
        raise self._refuse("quantiles")

    @property
    def mean(self) -> Any:
        """None: refused."""
        raise self._refuse("mean")

    @property
    def var(self) -> Any:
        """None: refused."""
        raise self._refuse("variance")

    def entropy(self) -> Any:
        """None: refused."""
        raise self._refuse("entropy")

    def _options(self) -> dict[str, Any]:
        return {"k": self.k} | ({"rows": np.shape(self.rows)[-2]} if self.ready else {})


def _radius(rows: Array, mass: Array, x: Array, k: int) -> Array:
    """The distance at which the rows (m, d) around x (n, d) weigh k together, (n,)."""
    tree = KDTree(rows)
    if (mass == 1).all():
        return np.asarray(tree.query(x, k)[0][:, -1])
    out, left, asked = np.empty(len(x)), np.arange(len(x)), min(k, len(rows))
    tie = 1e-12 * k
    while len(left):
        distance, index = tree.query(x[left], asked)
        below = np.cumsum(mass[index], axis=1)
        enough = (below[:, -1] >= k - tie) | (asked == len(rows))
        at = np.minimum((below < k - tie).sum(axis=1), asked - 1)
        out[left[enough]] = distance[enough, at[enough]]
        left = left[~enough]
        asked = min(2 * asked, len(rows))
    return out
