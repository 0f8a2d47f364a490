"""Pictures of likelihoods: the curve of one parameter, the surface of two, and the bound of EM under it."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING, Any

import numpy as np

from suffice.core.parameters import UNIT, Domain
from suffice.em.fit import fit
from suffice.errors import ParameterError, UnsupportedError
from suffice.plot.canvas import BLUE, GREY, RED, axes, dress, plain, title
from suffice.theory.likelihood import likelihood as likelihood_on
from suffice.theory.likelihood import likelihood_interval
from suffice.theory.likelihood import profile as likelihood_profile
from suffice.theory.models import as_distribution
from suffice.theory.paths import Path, as_path, display_name, domain_at, parameter_at, with_parameter
from suffice.types import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from suffice.core.distribution import Distribution
    from suffice.core.family import Family
    from suffice.types import Data

POINTS = 241
MIXTURE_POINTS = 61  # of a curve that takes a run of EM for each
GRID, MIXTURE_GRID = 61, 41  # points of a surface along each axis
ROOM = 0.2  # of a line, beyond its ends
DEEP = 8.0  # nats below the maximum that a surface shows
LEVELS = (0.5, 0.9, 0.95, 0.99)  # of the likelihood-ratio regions of a surface


def likelihood(
    distribution: Distribution,
    data: Data,
    name: Hashable = None,
    *,
    level: float = 0.95,
    weights: object = None,
    component: int | None = None,
    ax: Axes | None = None,
) -> Any:
    """Draw log L (the profile, where there are other free parameters) with the estimate and its interval.

    Heights are below the maximum, so that 0 is the estimate and the dashed line the cut of the likelihood-ratio
    interval.

    Parameters
    ----------
    distribution : Distribution or Fit
        A prototype, or a mixture from which EM begins.
    data : array, frame, columns by name, or files
        Rows.
    name : str or tuple, optional
        The parameter, where there are several; of a mixture as in :func:`suffice.theory.profile`: ``("mean", 0)``,
        ``("weights", 0)``, or a name with ``component=``.
    level : float
        Confidence of the interval.
    weights : array (n,), optional
        A weight for each row.
    component : int, optional
        The component that ``name`` belongs to.
    ax : matplotlib axes, optional

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> ax = sf.plot.likelihood(sf.Bernoulli(), [1, 0, 1, 1])  # doctest: +SKIP
    """
    model = as_distribution(distribution, "plot.likelihood")
    if name is None:
        if len(model.free) != 1:
            offer = ", ".join(map(str, model.free))
            msg = f"{model.name} has {len(model.free)} free parameters ({offer}); say which one to draw."
            raise ParameterError(msg)
        name = model.free[0]
    path = as_path(model, name, component)
    mixture = model.is_mixture
    if mixture and np.ndim(parameter_at(model, path)):
        msg = f"one curve shows one number; say which of {display_name(path)}, as in component=0 or ({name!r}, 0)."
        raise ParameterError(msg)
    ax = axes(ax)
    learned = fit(model, data, weights=weights, random_state=0, **({"start": model} if _begins(model) else {}))
    best, highest = float(parameter_at(learned, path)), learned.log_likelihood
    start = learned.distribution if mixture else model
    key: Any = path if mixture else name
    low, high = likelihood_interval(start, data, key, level, weights=weights)
    x = _around(_domain(learned.distribution, path), low, best, high, MIXTURE_POINTS if mixture else POINTS)
    y = likelihood_profile(start, data, key, x, weights=weights)
    if mixture and y.max() > highest:  # another maximum, which is higher
        best, highest = float(x[y.argmax()]), float(y.max())
    words = plain(display_name(path))
    _draw_curve(ax, x, y - highest, best, (low, high), -_half_chi2(level), words)
    kind = "profile log-likelihood" if len(model.free) > 1 or len(path) > 1 else "log-likelihood"
    ax.set(xlabel=words, ylabel="log L − its maximum")
    title(ax, f"{model.name}: {kind}, {level:.0%} interval {low:.4g} … {high:.4g}", pad=18)
    dress(ax)
    return ax


def _draw_curve(ax: Axes, x: Array, y: Array, best: float, ends: tuple[float, float], cut: float, words: str) -> None:
    """The curve below its maximum, the part above the cut shaded, and the estimate."""
    low, high = ends
    ax.plot(x, np.where(y > 4 * cut, y, np.nan), color=BLUE, lw=2)
    inside = (x >= low) & (x <= high)
    ax.fill_between(x, cut, np.where(inside, np.maximum(y, cut), cut), color=BLUE, alpha=0.15, lw=0)
    ax.axhline(cut, color=GREY, lw=1, ls="--")
    for end in (low, high):
        if np.isfinite(end) and x[0] <= end <= x[-1]:
            ax.plot([end, end], [3.2 * cut, cut], color=GREY, lw=1, ls=":")
    ax.plot([best], [0.0], "o", color=RED, ms=7, zorder=5, clip_on=False)
    placed: dict[str, Any] = {"textcoords": "offset points", "ha": "center", "color": RED, "annotation_clip": False}
    ax.annotate(f"{words} = {best:.4g}", (best, 0.0), (0, 9), **placed)
    ax.set_ylim(3.2 * cut, -0.12 * cut)


def _begins(model: Any) -> bool:
    """Whether a fit begins at these parameters: those of a mixture whose components differ."""
    return model.is_mixture and not model.is_symmetric


def _domain(model: Family, path: Path) -> Domain:
    domain = domain_at(model, path)
    return UNIT if domain.core == 1 and domain.rule is not None else domain


def _half_chi2(level: float) -> float:
    from scipy.special import gammaincinv

    return float(gammaincinv(0.5, level))


def _around(domain: Domain, low: float, best: float, high: float, points: int) -> Array:
    """Values that show the interval with room on both sides, its ends and the estimate among them."""
    ends = [end for end in (low, high) if np.isfinite(end)]
    span = max([abs(end - best) for end in ends] or [1.0])
    left, right = min([*ends, best]) - 0.7 * span, max([*ends, best]) + 0.7 * span
    left, right = _within(domain, left, right, span)
    return np.unique([*np.linspace(left, right, points), *(v for v in (*ends, best) if left <= v <= right)])


def _within(domain: Domain, left: float, right: float, span: float) -> tuple[float, float]:
    width = domain.high - domain.low
    inset = 1e-6 * (width if np.isfinite(width) else span)
    left = max(left, domain.low + (0 if domain.closed[0] else inset))
    return left, min(right, domain.high - (0 if domain.closed[1] else inset))


# ---- two parameters --------------------------------------------------------------------------------------------------
def surface(
    distribution: Distribution,
    data: Data,
    first: str | None = None,
    second: object = None,
    *,
    weights: Data = None,
    ax: Axes | None = None,
) -> Any:
    """Draw log L over two parameters as contours, the other parameters at their estimates.

    Lines are likelihood-ratio regions of 50, 90, 95 and 99 % for two parameters; the mark is the estimate.

    Parameters
    ----------
    distribution : Distribution or Fit
        A prototype, or a mixture from which EM begins.
    data : array, frame, columns by name, or files
        Rows.
    first, second : str or tuple, optional
        The parameters: names, or paths such as ``("mean", 0)``; by default the two that the family has.
    weights : array (n,), optional
        A weight for each row.
    ax : matplotlib axes, optional

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> ax = sf.plot.surface(sf.Normal(), [1.0, 2.0, 4.0])  # doctest: +SKIP
    """
    model = as_distribution(distribution, "plot.surface")
    if (first is None or second is None) and len(model.free) != 2:
        msg = f"{model.name} has {len(model.free)} free parameters; name the two to draw, as in surface(…, 'a', 'b')."
        raise ParameterError(msg)
    one, other = (as_path(model, key) for key in (first or model.free[0], second or model.free[1]))
    learned = fit(model, data, weights=weights, random_state=0, **({"start": model} if _begins(model) else {}))
    here = learned.distribution
    for path in (one, other):
        if np.ndim(parameter_at(here, path)):
            msg = f"a surface is over two numbers, and {display_name(path)} is a vector; name one entry of it."
            raise UnsupportedError(msg)
    lines = [_reach(here, data, path, weights) for path in (one, other)]
    values_at = likelihood_on(here, data, {one: lines[0], other: lines[1]}, weights=weights) - learned.log_likelihood
    ax = axes(ax, (6.4, 4.6))
    shade = np.linspace(-DEEP, 0, 17)
    ax.contourf(lines[0], lines[1], np.clip(values_at.T, -DEEP, 0), shade, cmap="Blues", alpha=0.75)
    from scipy.special import gammaincinv

    cuts = {-float(gammaincinv(1.0, part)): f"{part:.0%}" for part in LEVELS}  # half of χ² with 2 degrees of freedom
    drawn = ax.contour(lines[0], lines[1], values_at.T, sorted(cuts), colors="#333333", linewidths=0.9)
    ax.clabel(drawn, fmt={cut: cuts[cut] for cut in drawn.levels}, fontsize=8)
    ax.plot([parameter_at(here, one)], [parameter_at(here, other)], "o", color=RED, ms=7)
    ax.set(xlabel=plain(display_name(one)), ylabel=plain(display_name(other)))
    title(ax, f"{model.name}: log-likelihood, regions of the likelihood ratio; maximum {learned.log_likelihood:,.2f}")
    dress(ax)
    return ax


def _reach(model: Family, data: Data, path: Path, weights: object) -> Array:
    """A line through the estimate whose ends lie ``DEEP`` below it, or on a bound."""
    at, domain = float(parameter_at(model, path)), _domain(model, path)
    top = likelihood_on(model, data, {path: [at]}, weights=weights)[0]
    ends = []
    for side, bound in ((-1.0, domain.low), (1.0, domain.high)):
        step, end = 1e-3 * (abs(at) or 1.0), at
        for _ in range(60):
            end, step = at + side * step, 1.4 * step
            if side * (end - bound) >= 0:
                end = bound - side * 1e-6 * abs(bound - at)
                break
            if not likelihood_on(model, data, {path: [end]}, weights=weights)[0] > top - DEEP:
                break
        ends.append(end)
    span = ends[1] - ends[0]
    points = MIXTURE_GRID if model.is_mixture else GRID
    return np.linspace(*_within(domain, ends[0] - ROOM * span, ends[1] + ROOM * span, span), points)


# ---- the bound of EM -------------------------------------------------------------------------------------------------
def bound(
    mixture: Family,
    data: Data,
    name: Hashable,
    values: Array | None = None,
    *,
    component: int | None = None,
    ax: Any = None,
) -> Any:
    """Draw log L over one parameter of a mixture and EM's bound G(Q, θ) under it, touching at the given parameters.

    Q are the responsibilities at the given parameters θ_t; the circle is the highest point of the bound, where an
    M-step for this parameter alone leads.

    Parameters
    ----------
    mixture : Mixture or Fit
        The parameters θ_t.
    data : array, frame, columns by name, or files
        Rows.
    name : str or tuple
        The parameter, as in :func:`suffice.theory.likelihood`.
    values : array, optional
        Where to draw; by default around θ_t and the maximum of the curve.
    component : int, optional
        The component that ``name`` belongs to.
    ax : matplotlib axes, optional

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> start = sf.Mixture([sf.Normal(2, 1), sf.Normal(8, 1)])
    >>> ax = sf.plot.bound(start, [3.0, 4.0, 8.0, 9.0], "mean", component=0)  # doctest: +SKIP
    """
    model = as_distribution(mixture, "plot.bound")
    if not model.is_mixture:
        msg = f"plot.bound draws the bound of EM, which is of a mixture; got {model.name}."
        raise ParameterError(msg)
    path = as_path(model, name, component)
    if np.ndim(parameter_at(model, path)):
        msg = f"one curve shows one number; say which of {display_name(path)}, as in component=0."
        raise ParameterError(msg)
    at = float(parameter_at(model, path))
    x = _reach(model, data, path, None) if values is None else np.asarray(values, dtype=float)
    x = np.unique([*np.linspace(x[0], x[-1], POINTS), at]) if values is None else np.unique([*x, at])
    rows = model.read(model.materialize(data))
    soft = model.suffstats(rows, model.predict_proba(rows) if model.n > 1 else None)
    values_at = likelihood_on(model, data, {path: x})
    below = np.array([with_parameter(model, path, value).log_likelihood(soft) for value in x])
    ax = axes(ax)
    ax.plot(x, values_at, color=BLUE, lw=2, label="log L(θ)")
    ax.plot(x, below, color=RED, lw=1.8, ls="--", label="G(Q, θ), Q the responsibilities at θ_t")
    touch, top = int(np.argmin(np.abs(x - at))), int(np.nanargmax(below))
    ax.plot([at], [values_at[touch]], "o", color="#333333", ms=7, zorder=5, label=f"θ_t = {at:.4g}")
    ring = {"mfc": "white", "mec": RED, "mew": 1.6, "ms": 7, "zorder": 5}
    ax.plot([x[top]], [below[top]], "o", label=f"best of the bound, {x[top]:.4g}", **ring)
    finite = values_at[np.isfinite(values_at)]
    span = max(float(finite.max() - min(values_at[touch], np.median(finite))), 1e-6)
    ax.set_ylim(float(finite.max()) - 2.2 * span - 1, float(finite.max()) + 0.15 * span + 0.2)
    words = plain(display_name(path))
    ax.set(xlabel=words, ylabel="nats")
    title(ax, f"log-likelihood over {words}, and the bound that EM raises")
    ax.legend(frameon=False, fontsize=9)
    dress(ax)
    return ax
