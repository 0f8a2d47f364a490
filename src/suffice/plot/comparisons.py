"""Pictures of classifiers side by side: learning curves, and boundaries or calibration."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from suffice.errors import ParameterError
from suffice.estimators.comparison import Comparison
from suffice.plot.canvas import DASHES, GREY, apart, axes, colour, dress, marker, title

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from suffice.types import Array, Data

FARTHEST = 1e6  # nats between two classes, beyond which a boundary is far anyway
FADE = 0.14  # of a band of ± 1 standard error
ROWS = ("#b9c4d4", "#e3b9a5")  # the two classes, paler than what was learned of them


def comparison(found: Comparison, axes_pair: Sequence[Axes] | None = None) -> Any:
    """Draw a comparison in two panels: learning curves, and boundaries or calibration.

    On the left the held-out error by number of training rows with bands of ± 1 standard error, and a ring where a model
    overtakes the generative model. On the right, of two classes in two columns, the rows with the boundary of each
    model, straight or curved; of more columns or classes, how often a class was right that had been given the
    probability p.

    Parameters
    ----------
    found : Comparison
        What ``sf.compare`` gives.
    axes_pair : two matplotlib axes, optional
        Two Matplotlib axes; new ones where none are given.

    Returns
    -------
    The two axes.

    Examples
    --------
    >>> left, right = sf.plot.comparison(sf.compare(X, y))  # doctest: +SKIP
    """
    if not isinstance(found, Comparison):
        msg = f"plot.comparison draws what sf.compare(X, y) gives; got {type(found).__name__}."
        raise ParameterError(msg)
    if axes_pair is None:
        left = axes(None, (10.4, 4.4))
        figure = left.figure
        left.remove()
        axes_pair = figure.subplots(1, 2)
    left, right = axes_pair
    _curves(found, left)
    if found.plane is not None and len(found.classes) == 2:
        _plane(found, right)
    else:
        _reliability(found, right)
    return left, right


def _curves(found: Comparison, ax: Any) -> None:
    for index, (name, curve) in enumerate(found.curves.items()):
        low, high = curve.error - curve.error_se, curve.error + curve.error_se
        ax.fill_between(curve.sizes, low, high, color=colour(index), alpha=FADE, lw=0)
        style = {"color": colour(index), "marker": marker(index), "ls": DASHES[index], "ms": 5, "lw": 1.6}
        ax.plot(curve.sizes, curve.error, label=name, **style)
    for index, (name, size) in enumerate(found.crossover.items(), start=1):
        if size is None:
            continue
        height = float(found.curves[name].error[found.sizes == size][0])
        ring = {"mfc": "none", "mec": colour(index), "mew": 1.8, "ms": 13 + 4 * (index - 1), "zorder": 5}
        ax.plot([size], [height], "o", label=f"{name} ahead from {size:,} rows on", **ring)
    ax.set_xscale("log")
    dress(ax)
    ax.margins(0.05, 0.06)
    ticks = apart(found.sizes)
    ax.set_xticks(ticks, [f"{one:,}" for one in ticks])
    ax.minorticks_off()
    ax.set(xlabel="training rows (log scale)", ylabel="held-out error")
    none = [name for name, size in found.crossover.items() if size is None]
    note = f"no crossover seen with {' or '.join(none)}" if none else None
    ax.legend(frameon=False, fontsize=8, title=note, title_fontsize=8, alignment="left")
    title(ax, f"Held-out error, {found.repeats} splits ± 1 std. error")


def _plane(found: Comparison, ax: Any) -> None:
    rows, codes = found.plane if found.plane is not None else (np.empty((0, 2)), np.empty(0))
    for code, label in enumerate(found.classes):
        mine = rows[codes == code]
        ax.plot(*mine.T, marker(code), color=ROWS[code], ms=3.2, mew=0, label=f"class {label}", zorder=1)
    ax.margins(0.03)
    x, y = ax.get_xlim(), ax.get_ylim()
    for index, (name, one) in enumerate(found.boundaries.items()):
        ends = None if one is None else _across(one.w, one.b, x, y)
        if ends is not None:
            ax.plot(*ends, color=colour(index), ls=DASHES[index], lw=2.2, label=name, zorder=3)
        elif name in found.surfaces:
            surface, look = found.surfaces[name], {"colors": colour(index), "linestyles": DASHES[index]}
            heights = np.nan_to_num(surface.log_odds, nan=0.0, posinf=FARTHEST, neginf=-FARTHEST)
            ax.contour(surface.x, surface.y, heights, [0], linewidths=2.2, zorder=3, **look)
            ax.plot([], [], color=colour(index), ls=DASHES[index], lw=2.2, label=name)
    dress(ax)
    across, up = (f"column {name}" if name.isdigit() else name for name in found.columns)
    ax.set(xlabel=across, ylabel=up, xlim=x, ylim=y)
    ax.legend(frameon=True, framealpha=0.85, edgecolor="none", fontsize=8)
    without = [name for name, one in found.boundaries.items() if one is None and name not in found.surfaces]
    note = f"; {without[0]} has none" if without else ""
    what = "boundaries" if found.surfaces else "w·x + b = 0"
    title(ax, f"{what}, learned from all {found.rows:,} rows{note}")


def _across(w: Array, b: float, x: Data, y: Data) -> Any:
    """Two points of w·x + b = 0 at the edges of the picture; None where it has no direction."""
    if abs(w[1]) * (y[1] - y[0]) >= abs(w[0]) * (x[1] - x[0]):
        return (x, [-(w[0] * end + b) / w[1] for end in x]) if w[1] else None
    return [-(w[1] * end + b) / w[0] for end in y], y


def _reliability(found: Comparison, ax: Axes) -> None:
    ax.plot([0, 1], [0, 1], color=GREY, lw=1, ls=":", zorder=1, label="as often as it was said")
    for index, name in enumerate(found.curves):
        if name not in found.calibration:
            continue
        one = found.calibration[name]
        seen = one.weight > 0
        area = 12 + 160 * one.weight[seen] / one.weight.sum()
        ax.plot(one.predicted[seen], one.observed[seen], color=colour(index), lw=1.4, ls=DASHES[index], zorder=2)
        label = f"{name}, calibration error {one.error:.3f}"
        ax.scatter(
            one.predicted[seen], one.observed[seen], s=area, color=colour(index), marker=marker(index), label=label
        )
    dress(ax)
    low = 0.0 if len(found.classes) == 2 else min(1 / len(found.classes), 0.5)
    ax.set(xlim=(low - 0.02, 1.02), ylim=(low - 0.02 if low == 0 else None, 1.02))
    what = f"p({found.classes[1]!r:.20})" if len(found.classes) == 2 else "p of the most probable class"
    ax.set(xlabel=f"{what}, mean of a bin", ylabel="how often it was so")
    ax.legend(frameon=False, fontsize=8)
    title(ax, "Calibration on held-out rows (area: rows)")
