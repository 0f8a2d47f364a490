"""Histograms as distributions: a density that is constant in each bin."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np

from suffice.core.parameters import VECTOR, described
from suffice.densities.bandwidth import Points
from suffice.densities.bins import RULES, counts, edges_of
from suffice.densities.nonparametric import MASS, Nonparametric, kept
from suffice.densities.rows import WeightedRows
from suffice.engines.once import cached_property
from suffice.errors import DataError, ParameterError
from suffice.statistics.sums import Additive, checked_factor, refuse_negative, same_kind
from suffice.statistics.weights import Weights
from suffice.types import Alert, Array


@dataclass(frozen=True, eq=False, repr=False)
class BinCounts(Additive):
    """Σ w in each bin, (k, b), between fixed edges (b + 1,)."""

    common_fields: ClassVar[tuple[str, ...]] = ("edges",)

    edges: Array
    mass: Array
    exact: bool = True

    @property
    def weight(self) -> Array:
        """Σ w of the values, (k,)."""
        return np.asarray(self.mass.sum(axis=1))

    @property
    def incomplete(self) -> Array:
        """Rows with some cells missing: of one column there are none."""
        return np.zeros(len(self.mass))

    @property
    def rows(self) -> Array:
        """A value in each bin, (b, 1)."""
        return np.asarray(((self.edges[1:] + self.edges[:-1]) / 2)[:, None])

    def _check(self, other: BinCounts) -> None:
        same_kind(self, other)
        if not np.array_equal(self.edges, other.edges):
            msg = (
                "cannot combine counts in different bins; gather both with the same edges, as in Histogram(bins=edges)."
            )
            raise DataError(msg)

    def __add__(self, other: BinCounts) -> BinCounts:
        self._check(other)
        return replace(self, mass=self.mass + other.mass)

    def __sub__(self, other: BinCounts) -> BinCounts:
        self._check(other)
        return replace(self, mass=refuse_negative(self.mass, other.mass))

    def __mul__(self, factor: float) -> BinCounts:
        return replace(self, mass=self.mass * checked_factor(factor))


@dataclass(frozen=True, eq=False, repr=False)
class Histogram(Nonparametric):
    r"""A density that is constant in each bin: :math:`p(x) = n_b / (n \, |b|)`.

    Bins hold their left end, the last one its right end too. With given edges the statistics are the counts, so that
    files and parts of the data add up; a rule needs the distinct values, which add up as well.

    Parameters
    ----------
    bins : str, int or array (b + 1,), default="fd"
        ``"fd"`` (Freedman and Diaconis), ``"scott"`` or ``"sturges"``: even bins as NumPy makes them. ``"knuth"``: as
        many even bins as are most probable. ``"blocks"``: Bayesian blocks of different widths. A number of even bins,
        or their edges.
    edges, probs : arrays, set by a fit
        The edges of the bins and their probabilities.
    fixed, tied : set of str
        None: nothing is learned that could be.

    References
    ----------
    Freedman, D. and Diaconis, P. (1981). On the histogram as a density estimator. Zeitschrift für
    Wahrscheinlichkeitstheorie 57, 453-476.
    Knuth, K. H. (2019). Optimal data-based binning for histograms. Digital Signal Processing 95, 102581.
    Scargle, J. D. et al. (2013). Studies in astronomical time series analysis VI. Astrophysical Journal 764, 167.

    Examples
    --------
    >>> fit = sf.fit(sf.Histogram(bins=[0.0, 1.0, 3.0]), [0.5, 0.7, 2.0, 2.5])
    >>> fit.distribution.cdf([1.0, 2.0])
    array([0.5 , 0.75])
    """

    bins: Any = field(default="fd", metadata=described("str, int or array", "As above."))
    edges: Any = kept(VECTOR)
    probs: Any = kept(MASS)

    _main = "probs"
    estimated_by = "counting"

    def __post_init__(self) -> None:
        """Check the bins, and what was learned."""
        object.__setattr__(self, "bins", _checked_bins(self.bins))
        super().__post_init__()
        if (self.edges is None) != (self.probs is None):
            msg = "Histogram: edges and probs come together, as a fit sets them; give both, or neither."
            raise ParameterError(msg)
        if self.ready:
            edges, probs = np.asarray(self.edges), np.asarray(self.probs)
            if edges.shape[-1] != probs.shape[-1] + 1 or (np.diff(edges) < 0).any():
                msg = f"Histogram: {probs.shape[-1]} bins have one edge more, ascending; got {edges.shape[-1]}."
                raise ParameterError(msg)
            if not np.allclose(probs.sum(axis=-1), 1.0, atol=1e-8) or (probs[np.diff(edges) == 0] > 0).any():
                msg = "Histogram: probabilities sum to 1, and a bin without width has none."
                raise ParameterError(msg)

    @property
    def columns(self) -> int | None:
        return 1

    @property
    def _fixed_edges(self) -> Array | None:
        return self.bins if isinstance(self.bins, np.ndarray) else None

    def for_data(self, rows: Any) -> Self:
        if np.shape(rows)[1] != 1:
            msg = (
                f"Histogram describes one column, but the data have {np.shape(rows)[1]}; take one for each, as in "
                'Product({"x": Histogram(), "y": Histogram()}).'
            )
            raise DataError(msg)
        return self if self.edges is not None else replace(self, edges=np.zeros(1), probs=np.zeros(0))  # of no rows yet

    # ---- learning ----------------------------------------------------------------------------------------------------
    def gather(self, x: Array, w: Weights) -> Any:
        found: WeightedRows = super().gather(x, w)
        edges = self._fixed_edges
        if edges is None:
            return found
        values = found.rows[:, 0]
        outside = ((values < edges[0]) | (values > edges[-1])) & (found.mass > 0).any(axis=0)
        if outside.any():
            msg = (
                f"Histogram has bins from {edges[0]:g} to {edges[-1]:g}, but the data have {values[outside][0]:g}. "
                "Add a bin, or drop the value."
            )
            raise DataError(msg, value=float(values[outside][0]))
        return BinCounts(edges, np.array([counts(Points(values, mass), edges) for mass in found.mass]))

    def maximise(self, stats: Any) -> Self:
        seen = stats.weight > 0
        if not seen.any():
            return self
        parts: list[tuple[Array, Array]] = []
        for index, mass in enumerate(stats.mass):
            if not seen[index]:
                parts.append(self.unstacked[index].bars if self.ready else (np.array([0.0, 1.0]), np.ones(1)))
            elif isinstance(stats, BinCounts):
                parts.append((stats.edges, mass / mass.sum()))
            else:
                points = Points(stats.rows[mass > 0, 0], mass[mass > 0])
                edges = edges_of(points, self.bins)
                parts.append((edges, counts(points, edges) / points.n))
        return self._stacked_bars(parts)

    def _stacked_bars(self, parts: list[tuple[Array, Array]]) -> Self:
        """A stack of histograms; those with fewer bins have empty ones without width at their end."""
        width = max(len(probs) for _, probs in parts)
        edges = np.array([np.pad(own, (0, width + 1 - len(own)), mode="edge") for own, _ in parts])
        probs = np.array([np.pad(own, (0, width - len(own))) for _, own in parts])
        return replace(self, edges=edges, probs=probs)

    def side_by_side(self, components: list[Histogram]) -> Self:
        return self._stacked_bars([one.bars for one in components])

    @property
    def n_parameters(self) -> int:
        """Bins − 1 of each component."""
        return sum(max(len(one.bars[1]) - 1, 0) for one in self.stacked.unstacked)

    def alerts(self, stats: Any) -> tuple[Alert, ...]:
        found = []
        for index, one in enumerate(self.stacked.unstacked):
            edges, probs = one.bars
            if len(probs) == 1 and self._fixed_edges is None and np.ptp(edges) <= 64 * np.spacing(np.abs(edges).max()):
                text = (
                    f"every value equals {edges.mean():g}, so the only bin has hardly any width. "
                    "Add data, or give edges."
                )
                found.append(Alert("collapsed", text, component=None if self.lone else index))
        return tuple(found)

    # ---- asking ------------------------------------------------------------------------------------------------------
    @cached_property
    def bars(self) -> tuple[Array, Array]:
        """Edges and probabilities of one component, without the bins that only a stack needs."""
        edges, probs = np.asarray(self.edges), np.asarray(self.probs)
        edges, probs = (edges, probs) if self.lone else (edges[0], probs[0])
        filled = np.diff(edges) > 0
        return np.concatenate([edges[:1], edges[1:][filled]]), probs[filled]

    @cached_property
    def _cumulated(self) -> Array:
        found = np.concatenate([[0.0], np.cumsum(self.bars[1])])
        return np.asarray(found / found[-1])

    def _log_prob(self, x: Array) -> Array:
        edges, probs = self.bars
        inside = (x >= edges[0]) & (x <= edges[-1])
        at = np.clip(np.searchsorted(edges, x, side="right") - 1, 0, len(probs) - 1)
        with np.errstate(divide="ignore"):
            heights = np.log(probs) - np.log(np.diff(edges))
        return np.where(np.isnan(x), 0.0, np.where(inside, heights[at], -np.inf))

    def log_density(self, x: Array) -> Array:
        values = np.asarray(x, dtype=float)[:, 0]
        return np.stack([one._log_prob(values) for one in self.stacked.unstacked], axis=1)  # noqa: SLF001

    def draw(self, n: int, rng: np.random.Generator) -> Array:
        found = []
        for one in self.stacked.unstacked:
            edges, probs = one.bars
            at = rng.choice(len(probs), n, p=probs / probs.sum())
            found.append(edges[at] + rng.random(n) * np.diff(edges)[at])
        return np.stack(found, axis=1)[:, :, None]

    def cumulative(self, x: Array) -> Array:
        return np.interp(x, self.bars[0], self._cumulated)

    def inverse(self, q: Array) -> Array:
        edges, probs = self.bars
        at = np.clip(np.searchsorted(self._cumulated, q) - 1, int(np.argmax(probs > 0)), len(probs) - 1)
        with np.errstate(divide="ignore", invalid="ignore"):
            share = np.where(probs[at] > 0, (q - self._cumulated[at]) / probs[at], 0.0)
        return np.asarray(edges[at] + np.clip(share, 0.0, 1.0) * np.diff(edges)[at])

    def _moments(self) -> tuple[Array, Array]:
        means, variances = [], []
        for one in self.stacked.unstacked:
            edges, probs = one.bars
            middle, width = edges[:-1] + np.diff(edges) / 2, np.diff(edges)
            mean = middle[0] + probs @ (middle - middle[0])
            means.append([mean])
            variances.append([probs @ (np.square(middle - mean) + np.square(width) / 12)])
        return np.array(means), np.array(variances)

    @property
    def mean(self) -> Any:
        """The mean, as if values were spread evenly in their bins."""
        return self._squeezed_answer(self._moments()[0])

    @property
    def var(self) -> Any:
        """The variance, as if values were spread evenly in their bins."""
        return self._squeezed_answer(self._moments()[1])

    def entropy(self) -> Any:
        """−E log p in nats."""
        self._of_one_column("entropy")
        edges, probs = self.bars
        filled = probs > 0
        return float(-np.sum(probs[filled] * (np.log(probs[filled]) - np.log(np.diff(edges)[filled]))))

    def marginal_columns(self, columns: list[int]) -> Any:
        return self

    def _options(self) -> dict[str, Any]:
        if not self.ready or not self.lone:
            return {"bins": "edges" if self._fixed_edges is not None else self.bins}
        edges, probs = self.bars
        return {"bins": len(probs), "low": float(f"{edges[0]:.6g}"), "high": float(f"{edges[-1]:.6g}")}


def _checked_bins(given: Any) -> Any:
    if isinstance(given, str):
        if given not in RULES:
            msg = f"Histogram: bins is one of {', '.join(RULES)}, a number of bins, or edges; got {given!r:.40}."
            raise ParameterError(msg)
        return given
    if isinstance(given, (int, np.integer)) and not isinstance(given, bool):
        if given < 1:
            msg = f"Histogram: bins is at least 1; got {given}."
            raise ParameterError(msg)
        return int(given)
    try:
        edges = np.array(given, dtype=float)
    except (TypeError, ValueError) as error:
        msg = f"Histogram: bins is a rule, a number of bins, or edges; got {given!r:.60}."
        raise ParameterError(msg) from error
    if edges.ndim != 1 or len(edges) < 2 or not np.isfinite(edges).all() or (np.diff(edges) <= 0).any():
        msg = f"Histogram: edges are two or more finite numbers in ascending order; got {given!r:.60}."
        raise ParameterError(msg)
    edges.flags.writeable = False
    return edges
