"""Kernel densities."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np

from suffice.core.family import WITHIN
from suffice.core.parameters import Domain, described
from suffice.densities import bandwidth as selectors
from suffice.densities.bandwidth import Points
from suffice.densities.boundary import LocallyLinear
from suffice.densities.kernel_options import checked_bandwidth, checked_bounds
from suffice.densities.kernels import KERNELS
from suffice.densities.nonparametric import MASS, ROWS, Nonparametric, kept
from suffice.densities.rows import WeightedRows
from suffice.densities.smooth import Bounds, Smooth
from suffice.display.fit_summary import column_names
from suffice.display.summary import Parameter
from suffice.engines.once import cached_property
from suffice.errors import DataError, ParameterError, SufficeWarning, UnsupportedError
from suffice.queries.conditional import ConditionalColumn
from suffice.types import Alert, Array

ROOT = Domain("a lower triangular matrix", core=2)
RESOLUTION = 4 * np.finfo(float).eps  # of a number: what a bandwidth is at least, relative to it


@dataclass(frozen=True, eq=False, repr=False)
class KDE(Nonparametric):
    r"""A kernel around each row: :math:`p(x) = \frac{1}{n} \sum_i w_i\, K_h(x - x_i)`.

    One column, or a product of kernels over several. The statistics are the distinct rows with their weights, so that
    parts of the data merge exactly; the bandwidth is chosen when they are estimated. In one column compact kernels are
    summed exactly and Gaussians to 1e-10 of the density, both in O(n log n); in several, Gaussians to 1e-8 by a tree.

    Parameters
    ----------
    bandwidth : str, float, array (d,) or array (d, d), default="sj"
        A method of :func:`bandwidth`, a number in the unit of the data, one for each column, or the covariance matrix
        of a Gaussian kernel. It is the standard deviation of a Gaussian, and the radius of other kernels, which a
        method's bandwidth is brought to by the factor that smooths as much. Over d columns, a method's bandwidth of
        each column is multiplied by the ratio of the normal rules for d columns and for one.
    kernel : str, default="gaussian"
        ``"gaussian"``, ``"epanechnikov"``, ``"triangular"``, ``"tophat"``, ``"biweight"`` or ``"cosine"``.
    bounds : (low, high) or a list of one for each column, optional
        Where values end, None where they do not: ``(0, None)``.
    method : {"reflect", "linear"}, default="reflect"
        At a bound, kernels are mirrored, so that the density is flat there, or take the form of a local line (Jones and
        Foster), of one column.
    rows, mass, root : arrays, set by a fit
        The distinct rows (m, d), their weights (m,), and the lower triangular matrix by which kernels are stretched.
    fixed, tied : set of str
        None: nothing is learned that could be.

    References
    ----------
    Marron, J. S. and Nolan, D. (1988). Canonical kernels for density estimation. Statistics & Probability Letters 7,
    195-199.
    Jones, M. C. and Foster, P. J. (1996). A simple nonnegative boundary correction method for kernel density
    estimation. Statistica Sinica 6, 1005-1013.
    Loader, C. R. (1999). Bandwidth selection: classical or plug-in? Annals of Statistics 27, 415-438.

    Examples
    --------
    >>> fit = sf.fit(sf.KDE(bandwidth=0.5), [1.0, 2.0, 4.0])
    >>> round(fit.distribution.cdf(2.0), 4)
    0.4924
    """

    bandwidth: Any = field(default="sj", metadata=described("str, float or array", "As above."))
    kernel: str = field(default="gaussian", metadata=described("str", "As above."))
    bounds: Any = field(default=None, metadata=described("pair", "As above."))
    method: str = field(default="reflect", metadata=described("str", "As above."))
    rows: Any = kept(ROWS)
    mass: Any = kept(MASS)
    root: Any = kept(ROOT)

    _main = "rows"
    estimated_by = "smoothing"

    def __post_init__(self) -> None:
        """Check the options and what was learned."""
        if self.kernel not in KERNELS:
            msg = f"KDE: kernel is one of {', '.join(KERNELS)}; got {self.kernel!r:.40}."
            raise ParameterError(msg)
        if self.method not in ("reflect", "linear"):
            msg = f'KDE: method is "reflect" or "linear"; got {self.method!r:.40}.'
            raise ParameterError(msg)
        object.__setattr__(self, "bandwidth", checked_bandwidth(self.bandwidth, self.kernel))
        object.__setattr__(self, "bounds", checked_bounds(self.bounds))
        super().__post_init__()
        learned = [one is not None for one in (self.rows, self.mass, self.root)]
        if any(learned) and not all(learned):
            msg = "KDE: rows, mass and root come together, as a fit sets them; give all of them, or none."
            raise ParameterError(msg)
        if all(learned):
            m, d = np.shape(self.rows)[-2:]
            root = np.asarray(self.root)
            right = np.shape(self.mass)[-1] == m and root.shape[-2:] == (d, d)
            if not right or not (np.diagonal(root, axis1=-2, axis2=-1) > 0).all() or np.triu(root, 1).any():
                msg = (
                    f"KDE: {m} rows of {d} columns have as many weights and a lower triangular root {(d, d)} with a "
                    f"positive diagonal; got {np.shape(self.mass)[-1]} weights and a root {root.shape[-2:]}."
                )
                raise ParameterError(msg)
            self._bounds_of(d)

    def _bounds_of(self, d: int) -> Bounds:
        """The bounds of each of d columns."""
        if self.bounds is None:
            return ((-np.inf, np.inf),) * d
        if len(self.bounds) not in (1, d):
            msg = f"KDE: bounds are one pair, or one for each of {d} columns; got {len(self.bounds)}."
            raise ParameterError(msg)
        if self.method == "linear" and d > 1:
            msg = f'KDE: method="linear" is of one column, but there are {d}; take method="reflect".'
            raise ParameterError(msg)
        own: Bounds = self.bounds * d if len(self.bounds) == 1 else self.bounds
        return own

    @property
    def columns(self) -> int | None:
        if self.rows is not None:
            return int(np.shape(self.rows)[-1])
        return len(self.bandwidth) if isinstance(self.bandwidth, np.ndarray) else None

    def for_data(self, rows: Any) -> Self:
        d = int(np.shape(rows)[1])
        self._bounds_of(d)
        if self.columns not in (None, d):
            msg = f"KDE describes {self.columns} columns, but the data have {d}."
            raise DataError(msg)
        if self.rows is not None:
            return self
        return replace(self, rows=np.zeros((0, d)), mass=np.zeros(0), root=np.eye(d))  # of no rows yet

    @cached_property
    def smooth(self) -> Smooth:
        """The density of one component, ready to be asked."""
        mass = np.asarray(self.mass)
        rows, root = np.asarray(self.rows), np.asarray(self.root)
        if not self.lone:
            mass, rows, root = mass[0], rows[0], root[0]
        seen = mass > 0
        kind = LocallyLinear if self.method == "linear" and self.bounds is not None else Smooth
        return kind(KERNELS[self.kernel], rows[seen], mass[seen], root, self._bounds_of(rows.shape[1]))

    @property
    def widths(self) -> Any:
        """The bandwidth of each column: a number for one, (d,), or (k, d) for a stack."""
        root = np.asarray(self.stacked.root)
        return self._squeezed_answer(np.sqrt(np.einsum("kij,kij->ki", root, root)))

    # ---- learning ----------------------------------------------------------------------------------------------------
    def maximise(self, stats: WeightedRows) -> Self:
        k, d = stats.mass.shape[0], stats.rows.shape[1]
        bounds = np.array(self._bounds_of(d))
        outside = (stats.rows < bounds[:, 0]) | (stats.rows > bounds[:, 1])
        if outside.any():
            row, column = np.argwhere(outside)[0].tolist()
            ends = " to ".join(f"{one:g}" for one in bounds[column])
            msg = (
                f"KDE has bounds {ends}, but the data have {stats.rows[row, column]:g} in column {column}. "
                "Move the bounds, or drop the value."
            )
            raise DataError(msg, value=float(stats.rows[row, column]))
        seen = stats.weight > 0
        if not seen.any():
            return self
        roots = np.array([self._root(stats.rows, mass) if mass.any() else np.eye(d) for mass in stats.mass])
        rows, mass = stats.rows, stats.mass
        if not seen.all() and self.ready:  # a component without rows keeps its own
            before = WeightedRows(np.asarray(self.rows)[0], np.where(seen[:, None], 0.0, self.mass), np.zeros(k))
            joined = replace(stats, family="", incomplete=np.zeros(k)) + before
            rows, mass = joined.rows, joined.mass
            roots = np.where(seen[:, None, None], roots, self.root)
        return replace(self, rows=np.broadcast_to(rows, (k, *rows.shape)), mass=mass, root=roots)

    def _root(self, rows: Array, mass: Array) -> Array:
        """The matrix that stretches the kernel of one component, (d, d)."""
        d = rows.shape[1]
        given = self.bandwidth
        if isinstance(given, np.ndarray) and given.ndim == 2:
            return np.asarray(np.linalg.cholesky(given))
        if not isinstance(given, str):
            return np.diag(np.broadcast_to(np.asarray(given, dtype=float), (d,)))
        kernel = KERNELS[self.kernel]
        widths = [selected(Points.of(rows[:, j], mass), given, d) for j in range(d)]
        return np.diag(np.array(widths) * kernel.canonical)

    def side_by_side(self, components: list[KDE]) -> Self:
        k = len(components)
        parts = [
            WeightedRows.of_component(one.smooth.rows, one.smooth.weights, j, k) for j, one in enumerate(components)
        ]
        whole: WeightedRows = sum(parts[1:], parts[0])
        rows, mass = whole.rows, whole.mass
        roots = np.array([one.smooth.root for one in components])
        return replace(self, rows=np.broadcast_to(rows, (k, *rows.shape)), mass=mass, root=roots)

    @property
    def n_parameters(self) -> int:
        """Σ w K(0)/Σ w K(xᵢ − xⱼ) − 1 of each component, rounded: what leaving rows out costs log L (Loader, 1999)."""
        found = 0.0
        for one in self.stacked.unstacked:
            smooth = one.smooth
            own = float(smooth.kernel.log(np.zeros(1))[0]) * smooth.rows.shape[1] - float(
                np.log(np.diagonal(smooth.root)).sum() + np.log(smooth.total)
            )
            found += max(float(smooth.weights @ np.exp(own - smooth.log_prob(smooth.rows))) - 1, 1.0)
        return round(found)

    def alerts(self, stats: WeightedRows) -> tuple[Alert, ...]:
        found = list(super().alerts(stats))
        for index, one in enumerate(self.stacked.unstacked):
            own = stats.rows[stats.mass[index] > 0]
            flat = np.flatnonzero((own == own[:1]).all(axis=0))
            if len(own) and len(flat) and isinstance(self.bandwidth, str):
                width = float(one.smooth.widths[flat[0]])
                text = (
                    f"every value of column {flat[0]} equals {own[0, flat[0]]:g}, so no bandwidth can be chosen; it "
                    f"was held at {width:.3g}. Give bandwidth= a number."
                )
                found.append(Alert("collapsed", text, columns=(int(flat[0]),), component=None if self.lone else index))
        return tuple(found)

    # ---- asking ------------------------------------------------------------------------------------------------------
    def log_density(self, x: Array) -> Array:
        rows = np.asarray(x, dtype=float)
        return np.stack([one.smooth.log_prob(rows) for one in self.stacked.unstacked], axis=1)

    def draw(self, n: int, rng: np.random.Generator) -> Array:
        return np.stack([one.smooth.draw(n, rng) for one in self.stacked.unstacked], axis=1)

    def cumulative(self, x: Array) -> Array:
        return self.smooth.cumulative(x)

    def inverse(self, q: Array) -> Array:
        return self.smooth.inverse(q)

    @property
    def mean(self) -> Any:
        """The mean of each column."""
        return self._squeezed_answer(np.array([one.smooth.moments[0] for one in self.stacked.unstacked]))

    @property
    def var(self) -> Any:
        """The variance of each column: that of the rows, and that of the kernel."""
        return self._squeezed_answer(np.array([one.smooth.moments[1] for one in self.stacked.unstacked]))

    def entropy(self) -> Any:
        """−E log p in nats, by quadrature."""
        self._of_one_column("entropy")
        smooth = self.smooth
        found = smooth.log_prob(smooth.panels[0][:, None])
        return -smooth.expectation(np.where(np.isfinite(found), found, 0.0), found)

    def kl(self, other: Any) -> float:
        """D(self‖other) in nats, by quadrature."""
        self._of_one_column("divergence")
        smooth = self.smooth
        nodes = smooth.panels[0]
        mine, theirs = smooth.log_prob(nodes[:, None]), np.asarray(other.log_prob(nodes))
        if np.isneginf(theirs[np.exp(mine) > 0]).any():
            return float("inf")
        with np.errstate(invalid="ignore"):
            return smooth.expectation(np.where(np.isfinite(mine), mine - theirs, 0.0), mine)

    # ---- some columns ------------------------------------------------------------------------------------------------
    def _of(self, smooth: Smooth) -> Self:
        """One component of the same kernel with another density."""
        bounds = smooth.bounds if smooth.bounded else None
        found: Self = replace(
            self, rows=smooth.rows, mass=smooth.weights, root=smooth.root, bounds=bounds, bandwidth=self._rule
        )
        return found

    @property
    def _rule(self) -> Any:
        return self.bandwidth if isinstance(self.bandwidth, str) else "sj"

    def marginal_columns(self, columns: list[int]) -> Any:
        if self.lone:
            return self._of(self.smooth.marginal(columns))
        root = np.array([one.smooth.marginal(columns).root for one in self.unstacked])
        own = self._bounds_of(int(self.columns or 1))
        bounds = tuple(own[j] for j in columns) if self.bounds is not None else None
        rows = np.asarray(self.rows)[..., columns]
        return replace(self, rows=rows, root=root, bounds=bounds, bandwidth=self._rule)

    def conditional(self, known: dict[int, Any]) -> Any:
        """The other columns: kernels as well, the nearer rows with more weight."""
        where = np.isin(np.arange(int(self.columns or 1)), list(known))
        values = np.array([known[j] for j in sorted(known)], dtype=float)
        return self._of(self.smooth.conditional(where, values))

    def conditional_column(self, x: Array, label: int) -> list[ConditionalColumn]:
        if self.columns != 1:
            msg = (
                "KDE: the distribution of a cell given the others of its row is another sum of kernels for each row; "
                "ask fit.given({…}) row by row."
            )
            raise UnsupportedError(msg)
        return super().conditional_column(x, label)

    def numbers(self, names: Any = None, errors: Any = None, reach: float = WITHIN) -> tuple[Parameter, ...]:
        """The bandwidth of each column."""
        if not self.ready or not self.lone:
            return ()
        columns = column_names(self, names)
        widths = np.atleast_1d(self.widths)
        return tuple(
            Parameter(column, "bandwidth", float(width), np.nan) for column, width in zip(columns, widths, strict=True)
        )

    def _options(self) -> dict[str, Any]:
        shown = self.bandwidth
        if self.ready and self.lone:
            widths = np.atleast_1d(self.widths)
            shown = float(f"{widths[0]:.6g}") if len(widths) == 1 else [float(f"{one:.6g}") for one in widths]
        options: dict[str, Any] = {"bandwidth": shown, "kernel": self.kernel if self.kernel != "gaussian" else None}
        options["method"] = self.method if self.method != "reflect" else None
        if self.bounds is not None:
            ends = [tuple(end if np.isfinite(end) else None for end in pair) for pair in self.bounds]
            options["bounds"] = ends if len(ends) > 1 else ends[0]
        return options | ({"rows": np.shape(self.rows)[-2]} if self.ready else {})


def selected(points: Points, method: str, d: int) -> float:
    """A method's bandwidth of one of d columns; of too few values the normal rule, and never below what floats tell."""
    least = RESOLUTION * max(float(np.abs(points.x).max()), np.finfo(float).tiny / RESOLUTION)
    if len(points.x) < 2:
        return least
    ratio = ((4 / (d + 2)) ** (1 / (d + 4)) * points.n ** (-1 / (d + 4))) / ((4 / 3) ** 0.2 * points.n**-0.2)
    try:
        found = selectors.select(points, method)
    except DataError as error:
        n = max(points.n, 1.0)
        middle = float(points.w @ points.x) / points.n
        spread = float(np.sqrt(points.w @ np.square(points.x - middle) / points.n))
        found = 1.06 * spread * n**-0.2
        warnings.warn(f"{error} KDE takes the normal rule, {found:.4g}.", SufficeWarning, stacklevel=2)
    return max(float(found * ratio), least)
