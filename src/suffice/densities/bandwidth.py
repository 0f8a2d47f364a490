"""How wide a kernel should be: rules of thumb, Sheather and Jones, diffusion, cross-validation."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from math import pi, sqrt

import numpy as np
from scipy.fft import dct
from scipy.optimize import brentq

from suffice.densities.gauss_transform import Boxes
from suffice.densities.leave_one_out import log_leave_one_out
from suffice.errors import DataError, ParameterError, SufficeWarning
from suffice.statistics.weights import Weights
from suffice.tables.rows import numbers
from suffice.types import Array, Data

MESH = 2**14  # cells of the mesh of "isj": δ/h stays below 1e-2 where modes are 100 bandwidths apart
RUNGS = 33  # bandwidths that cross-validation tries first: each is 1.19 times the last
STEP = 2.0**-7  # of log h, in which the slope of a loss is taken: its error is below 1e-8 of the curvature
STEPS = 60  # doublings of a bracket before an equation is said to have no solution


@dataclass(frozen=True)
class Points:
    """Distinct values in ascending order with their weights; weight 2 is the value twice."""

    x: Array
    w: Array

    @classmethod
    def of(cls, x: Array, weights: Array | None = None) -> Points:
        """The distinct values of x (n,) with their summed weights; those without weight are left out."""
        if weights is None:
            values, count = np.unique(x, return_counts=True)
            return cls(values, count.astype(float))
        values, index = np.unique(x, return_inverse=True)
        mass = np.bincount(index, weights, len(values))
        kept = mass > 0
        return cls(values[kept], mass[kept])

    @property
    def n(self) -> float:
        """Σ w."""
        return float(self.w.sum())

    @property
    def std(self) -> float:
        """The standard deviation with divisor Σ w − 1."""
        centre = self.x[len(self.x) // 2]
        away = self.x - centre
        away = away - float(self.w @ away) / self.n
        return sqrt(float(self.w @ np.square(away)) / (self.n - 1))

    def quantile(self, q: float) -> float:
        """The quantile of R's type 7, of the values each repeated as often as it weighs."""
        below, place = np.cumsum(self.w), (self.n - 1) * q
        tie = 1e-12 * below[-1]
        last = len(self.x) - 1
        low = min(int(np.searchsorted(below, np.floor(place + tie) + tie, side="right")), last)
        high = min(int(np.searchsorted(below, np.ceil(place - tie) + tie, side="right")), last)
        share = place - np.floor(place + tie)
        return float(self.x[low] + max(share, 0.0) * (self.x[high] - self.x[low]))

    @property
    def quartile_range(self) -> float:
        """The distance between the quartiles."""
        return self.quantile(0.75) - self.quantile(0.25)

    def robust_scale(self, unit: float) -> float:
        """The smaller of standard deviation and quartile range / ``unit``, but for one that is 0."""
        std, middle = self.std, self.quartile_range / unit
        return min(std, middle) if middle > 0 else std

    def scaled(self, factor: float) -> Points:
        """The same values in other units."""
        return Points((self.x - self.x[len(self.x) // 2]) / factor, self.w)


# ---- rules of thumb --------------------------------------------------------------------------------------------------
def _silverman(points: Points) -> float:
    return float(0.9 * points.robust_scale(1.34) * points.n**-0.2)


def _scott(points: Points) -> float:
    return float(1.06 * points.robust_scale(1.34) * points.n**-0.2)


# ---- Sheather and Jones ----------------------------------------------------------------------------------------------
def _functional(points: Points, h: float, derivative: int) -> float:
    """Estimate ∫ f⁽ʳ⁾ f by Σ Σ φ⁽ʳ⁾((xᵢ − xⱼ)/h) / n(n − 1)hʳ⁺¹, over all pairs, i = j too."""
    n = points.n
    return Boxes.of(points.x, points.w, h).pair_sum(derivative) / (n * (n - 1) * h ** (derivative + 1))


def _curvature(points: Points) -> tuple[float, float]:
    """Estimates of ∫f″² and −∫f‴² at the pilot bandwidths of Sheather and Jones."""
    scale, n = points.robust_scale(1.349), points.n
    second = _functional(points, 1.24 * scale * n ** (-1 / 7), 4)
    third = -_functional(points, 1.23 * scale * n ** (-1 / 9), 6)
    if not (second > 0 and third > 0):
        msg = (
            "bandwidth: Sheather and Jones' pilot estimates are not positive, as with very few values or many ties. "
            'Use method="silverman".'
        )
        raise DataError(msg)
    return second, third


def _optimal(points: Points, roughness: float) -> float:
    """The bandwidth (R(K)/n∫f″²)^⅕ of a Gaussian kernel."""
    return float((1 / (2 * sqrt(pi) * points.n * roughness)) ** 0.2) if roughness > 0 else np.inf


def _sheather_jones(points: Points) -> float:
    second, third = _curvature(points)
    factor = 1.357 * (second / third) ** (1 / 7)
    highest = 1.144 * points.std * points.n**-0.2

    def equation(log_h: float) -> float:
        h = float(np.exp(log_h))
        return log_h - float(np.log(_optimal(points, _functional(points, factor * h ** (5 / 7), 4))))

    return _root(equation, highest)


def _root(equation: Callable[[float], float], highest: float) -> float:
    """The largest h up to ``highest`` where an increasing equation of log h is 0; above it where there is none."""
    high = float(np.log(highest))
    for _ in range(STEPS):
        if equation(high) > 0:
            break
        high += np.log(2)
    low = high
    for _ in range(STEPS):
        low -= 0.25
        if not equation(low) > 0:
            return float(np.exp(brentq(equation, low, min(low + 0.25, high), xtol=1e-15, rtol=1e-14)))
    msg = (
        "bandwidth: Sheather and Jones' equation has no solution, as where values are tied. "
        'Use method="sj-dpi" or "silverman".'
    )
    raise DataError(msg)


def _plug_in(points: Points) -> float:
    third = _curvature(points)[1]
    return _optimal(points, _functional(points, (2.394 / (points.n * third)) ** (1 / 7), 4))


# ---- Botev, Grotowski and Kroese -------------------------------------------------------------------------------------
def _improved(points: Points) -> float:
    """Improved Sheather–Jones: the fixed point t = ξγ⁽⁷⁾(t), t the squared bandwidth over the mesh's squared range."""
    span = float(points.x[-1] - points.x[0])
    low, whole = float(points.x[0]) - span / 2, 2 * span  # the range of the mesh
    place = (points.x - low) / whole * MESH - 0.5  # among the middles of cells
    cell = place.astype(int)
    right = points.w * (place - cell)  # shared between two cells, so that rounding moves no value to another one
    count = (np.bincount(cell, points.w - right, MESH) + np.bincount(cell + 1, right, MESH)) / points.n
    squared = np.square(dct(count)[1:] / 2)
    order = np.square(np.arange(1, MESH, dtype=float))
    n = points.n

    def functional(s: int, t: float) -> float:
        return float(2 * pi ** (2 * s) * np.sum(order**s * squared * np.exp(-order * pi**2 * t)))

    def next_time(t: float) -> float:
        f = functional(7, t)
        for s in range(6, 1, -1):
            odd = float(np.prod(np.arange(1, 2 * s, 2))) / sqrt(2 * pi)
            f = functional(s, (2 * (1 + 0.5 ** (s + 0.5)) / 3 * odd / n / f) ** (2 / (3 + 2 * s)))
        return float((2 * n * sqrt(pi) * f) ** -0.4)

    def equation(log_h: float) -> float:
        t = float(np.exp(2 * log_h))
        with np.errstate(all="ignore"):
            found = next_time(t)
        return 2 * log_h - float(np.log(found)) if np.isfinite(found) and found > 0 else 1.0

    return _root(equation, 1.144 * points.std * n**-0.2 / whole) * whole


# ---- cross-validation ------------------------------------------------------------------------------------------------
def _least_squares(points: Points) -> float:
    n = points.n

    def loss(log_h: float) -> float:
        h = float(np.exp(log_h))
        squared = Boxes.of(points.x, points.w, sqrt(2) * h).pair_sum() / (sqrt(2) * n**2)
        left_out = (Boxes.of(points.x, points.w, h).pair_sum() - n / sqrt(2 * pi)) / (n * (n - 1))
        return (squared - 2 * left_out) / h

    return _lowest(points, loss, "least-squares")


def _likelihood(points: Points) -> float:
    def loss(log_h: float) -> float:
        found = log_leave_one_out(points.x, points.w, float(np.exp(log_h)))
        return -float(points.w @ found) / points.n

    return _lowest(points, loss, "likelihood")


def _lowest(points: Points, loss: Callable[[float], float], method: str) -> float:
    """The largest bandwidth that is better than its neighbours, from a 64th of the normal rule to four times that.

    Ties pull the loss down towards bandwidth 0, so that its least value says nothing (Hall and Marron, 1991).
    """
    top = float(np.log(4 * 1.06 * points.std * points.n**-0.2))
    ladder = top + np.linspace(-np.log(256.0), 0.0, RUNGS)
    losses, at = {RUNGS - 1: loss(ladder[-1])}, RUNGS - 1
    while at > 0:
        losses[at - 1] = loss(ladder[at - 1])
        if losses[at - 1] >= losses[at]:
            break
        at -= 1
    if at == 0:
        warnings.warn(
            f"bandwidth: {method} cross-validation prefers ever smaller bandwidths, as where values are tied; the "
            f'smallest that was tried is taken. Use method="sj-dpi" or "silverman".',
            SufficeWarning,
            stacklevel=4,
        )
        return float(np.exp(ladder[0]))

    def slope(log_h: float) -> float:  # to the fourth order: the loss itself is too flat to tell its minimum well
        near, far = loss(log_h + STEP) - loss(log_h - STEP), loss(log_h + 2 * STEP) - loss(log_h - 2 * STEP)
        return (8 * near - far) / (12 * STEP)

    low, high = ladder[at - 1], ladder[min(at + 1, RUNGS - 1)]
    if not slope(low) < 0 < slope(high):
        return float(np.exp(ladder[at]))
    return float(np.exp(brentq(slope, low, high, xtol=1e-10)))


METHODS: dict[str, Callable[[Points], float]] = {
    "sj": _sheather_jones,
    "sj-dpi": _plug_in,
    "isj": _improved,
    "silverman": _silverman,
    "scott": _scott,
    "likelihood": _likelihood,
    "least-squares": _least_squares,
    "nrd0": _silverman,
    "nrd": _scott,
}


def bandwidth(x: Data, method: str = "sj", weights: Data = None) -> float:
    """Bandwidth of a Gaussian kernel for one column of numbers.

    Parameters
    ----------
    x : array (n,)
        The values; NaN is missing.
    method : str, default="sj"
        ``"sj"`` solves Sheather and Jones' equation, ``"sj-dpi"`` is their direct plug-in, ``"isj"`` the fixed point
        of Botev, Grotowski and Kroese. ``"silverman"`` (R's ``nrd0``) and ``"scott"`` (``nrd``) are rules of thumb.
        ``"likelihood"`` and ``"least-squares"`` are cross-validations that leave one row out, at the largest of their
        minima.
    weights : array (n,), optional
        One number of at least 0 per value; weight 2 is the value twice.

    Returns
    -------
    float
        The standard deviation of the kernel, in the unit of the values.

    Notes
    -----
    Sums over pairs are exact to rounding and take linear time, so that nothing is binned but for ``"isj"``. R's
    ``bw.SJ`` bins and stops early; it differs in the third digit.

    References
    ----------
    Sheather, S. J. and Jones, M. C. (1991). A reliable data-based bandwidth selection method for kernel density
    estimation. Journal of the Royal Statistical Society B 53, 683-690.
    Botev, Z. I., Grotowski, J. F. and Kroese, D. P. (2010). Kernel density estimation via diffusion. Annals of
    Statistics 38, 2916-2957.

    Examples
    --------
    >>> round(sf.bandwidth([1.0, 2.0, 4.0, 8.0], "silverman"), 6)
    1.65428
    """
    if method not in METHODS:
        msg = f"bandwidth: method is one of {', '.join(METHODS)}; got {method!r:.40}."
        raise ParameterError(msg)
    values = numbers(x, "bandwidth").astype(float)
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.ndim != 1:
        msg = f"bandwidth takes one column of numbers; got an array of shape {values.shape}. Give each column alone."
        raise DataError(msg)
    checked = Weights.of(weights, len(values)).values
    seen = ~np.isnan(values)
    if not np.isfinite(values[seen]).all():
        row = int(np.argmax(np.isinf(values)))
        msg = f"bandwidth takes finite numbers; row {row} has {values[row]:g}. Drop it, or mark it missing with NaN."
        raise DataError(msg)
    return select(Points.of(values[seen], None if checked is None else checked[seen]), method)


def select(points: Points, method: str) -> float:
    """The bandwidth of distinct values with weights, by one of ``METHODS``."""
    if len(points.x) < 2 or points.n <= 1:
        what = f"{len(points.x)} distinct value{'s' * (len(points.x) != 1)} of weight {points.n:g}"
        msg = f"bandwidth needs two distinct values and a weight above 1; got {what}. Give the bandwidth as a number."
        raise DataError(msg)
    unit = points.std  # in which sums neither overflow nor vanish
    found = METHODS[method](points.scaled(unit)) * unit
    gap = float(np.diff(points.x).min())
    if method == "sj" and points.n > 1.5 * len(points.x) and found < gap:
        warnings.warn(
            f"bandwidth: values are rounded to steps of {gap:g}, and Sheather and Jones' bandwidth {found:g} is below "
            'them: it describes the rounding. Use method="sj-dpi" or "silverman", or at least the step.',
            SufficeWarning,
            stacklevel=3,
        )
    return found
