"""Pictures of consistency: probabilities and distances that fall as the sample grows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from suffice.errors import ParameterError
from suffice.plot.canvas import BLUE, GREY, RED, apart, dress, figure, plain, title
from suffice.theory.consistency import Consistency
from suffice.types import Array, Data

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LONG = 40  # letters of a distribution that a title holds
FADE = 0.14  # of a band of ± 1 standard error
LINES = (
    ("exceeds", "mean_error", "‖θ̂ − θ₀‖", BLUE, "o", "-"),
    ("uniform", "mean_gap", "sup |L_m − L|", RED, "s", "--"),
)


def consistency(table: Consistency, axes_pair: Data = None) -> Any:
    """Draw how often, and how far, estimates and likelihoods are off as the sample grows.

    On the left P(‖θ̂ − θ₀‖ > ε) and P(sup |L_m − L| > ε), the supremum over a grid of θ (the uniform law of large
    numbers), with bands of ± 1 standard error of the simulation. On the right the means of both distances on
    logarithmic axes; the grey line falls like 1/√m.

    Parameters
    ----------
    table : Consistency
        What :func:`suffice.theory.consistency` gives.
    axes_pair : optional
        Two Matplotlib axes; new ones where none are given.

    Returns
    -------
    tuple of matplotlib.axes.Axes
        The two axes.

    Examples
    --------
    >>> table = sf.theory.consistency(sf.Bernoulli(0.3), sizes=[10, 100, 1000], random_state=0)
    >>> left, right = sf.plot.consistency(table)  # doctest: +SKIP
    """
    if not isinstance(table, Consistency):
        msg = f"plot.consistency draws what sf.theory.consistency(…) gives; got {type(table).__name__}."
        raise ParameterError(msg)
    left, right = figure(10.0, 4.0).subplots(1, 2) if axes_pair is None else axes_pair
    sizes = table["size"]
    for share, mean, words, shade, mark, style in LINES:
        y, distance = table[share], table[mean]
        if np.isnan(y).all():  # no grid, so no supremum
            continue
        error = np.sqrt(y * (1 - y) / table.repeats)
        left.fill_between(sizes, y - error, y + error, color=shade, alpha=FADE, lw=0)
        look = {"color": shade, "marker": mark, "ls": style, "lw": 1.8, "ms": 6}
        left.plot(sizes, y, label=f"P({words} > {table.epsilon:g})", clip_on=False, zorder=3, **look)
        right.plot(sizes, distance, label=f"mean of {words}", **look)
    _slope(right, sizes, np.fmax(table["mean_error"], table["mean_gap"]))
    ticks = apart(sizes)
    for ax in (left, right):
        ax.set_xscale("log")
        ax.set(xlabel="rows m (log scale)")
        dress(ax)
        ax.margins(x=0.04)
        ax.set_xticks(ticks, [f"{one:,}" for one in ticks])
        ax.minorticks_off()
    _log_heights(right)
    left.set(ylabel="probability", ylim=(0, 1.02))
    right.set(ylabel="distance (log scale)")
    left.legend(frameon=False, fontsize=9, loc="best")
    right.legend(frameon=False, fontsize=9, loc="lower left")
    words = repr(table.distribution)
    name = plain(words if len(words) <= LONG else table.distribution.name, LONG)
    title(left, f"{name}: {table.repeats:,} samples of each size")
    best = "θ₀ maximises L(θ) on the grid" if table.truth_is_best else "θ₀ does NOT maximise L(θ) on the grid"
    title(right, f"{best if len(table.expected) else 'no grid, so no supremum'}{_named(table)}")
    return left, right


def _log_heights(ax: Axes) -> None:
    """A logarithmic axis with plain numbers."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter, NullLocator

    ax.set_yscale("log")
    ax.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    ax.yaxis.set_minor_locator(NullLocator())
    ax.yaxis.set_minor_formatter(NullFormatter())


def _slope(ax: Axes, sizes: Array, distance: Array) -> None:
    """A line that falls like 1/√m, above the distances."""
    there = np.isfinite(distance) & (distance > 0)
    if there.sum() > 1:
        height = 1.25 * float((distance * np.sqrt(sizes))[there].max())
        ax.plot(sizes, height / np.sqrt(sizes), color=GREY, lw=1, ls=":", label="slope of 1/√m")


def _named(table: Consistency) -> str:
    codes = ", ".join(dict.fromkeys(code for code, _ in table.alerts))
    return f"; {codes}" if codes else ""
