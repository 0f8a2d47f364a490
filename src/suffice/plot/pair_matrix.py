"""Pictures of rows: every pair of some columns, with the components that made them and how sure that is."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from suffice.errors import ParameterError
from suffice.plot.canvas import GREY, axes, colour, dress, figure, marker, plain
from suffice.plot.column import Column
from suffice.plot.columns import _called, _drawn, panel
from suffice.plot.component_columns import homes, joint_covariance
from suffice.plot.curves import crowded
from suffice.plot.model_view import ModelView, ranked
from suffice.tables.subsample import SEED
from suffice.types import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from suffice.types import Data

MOST = 4  # columns that are shown unless asked for more
SHOWN = 2000  # rows
ROUND = np.linspace(0, 2 * np.pi, 73)  # an ellipse
JITTER = 0.28  # of labels, so that rows do not hide each other
LEVELS = 8  # labels with a tick


def pairs(
    found: object, data: Data = None, *, columns: Sequence[Hashable] | None = None, most: int = MOST, rows: int = SHOWN
) -> Any:
    """Draw rows in every pair of some columns, in the colour of their most probable component.

    Small and pale points are rows whose component is in doubt: size and opacity fall with the entropy of who made them.
    Ellipses are at 1 and 2 standard deviations of each component. Labels stand at their places, scattered about them.
    On the diagonal the column itself, fitted and observed. Very skewed columns of numbers above 0 have logarithmic
    axes, without ellipses.

    Parameters
    ----------
    found : fit or distribution
        A fit, a fitted estimator, or a distribution.
    data : array, frame, columns by name, or files
        Rows to show, as many as ``rows`` at most, chosen by seed 0; a fit knows its own.
    columns : sequence of labels, optional
        Names or places; by default the ``most`` with most information about the component.
    most : int
        Columns to show by default.
    rows : int
        Rows to show.

    Returns
    -------
    The axes by row and column; None above the diagonal.

    Examples
    --------
    >>> grid = sf.plot.pairs(sf.fit(sf.Mixture(sf.infer(df), 3), df))  # doctest: +SKIP
    """
    if most < 1 or rows < 1:
        msg = f"plot.pairs shows at least one column and one row; got most={most!r}, rows={rows!r}."
        raise ParameterError(msg)
    view = ModelView.of(found, data)
    chosen = view.to_draw(columns, most, "plot.pairs")
    if len(chosen) == 1:
        only = panel(view, chosen[0], axes(None, (5.6, 3.6)), legend=True)
        return np.array([[only]], dtype=object)
    return _matrix(view, chosen, rows)


def _matrix(view: ModelView, chosen: list[Column], rows: int) -> Any:
    """The lower half of all pairs, with the columns themselves on the diagonal."""
    d = len(chosen)
    sheet = figure(1.3 + 1.9 * d, 0.9 + 1.8 * d)
    made = sheet.subplots(d, d)
    few = view.fewer(rows)
    places = [view.columns.index(column) for column in chosen]
    for a, b in np.ndindex(d, d):
        if b > a:
            made[a, b].remove()
            made[a, b] = None
            continue
        if a == b:
            _diagonal(view, chosen[a], made[a, a])
        else:
            cross(few, places[b], places[a], made[a, b])
        _edges(made[a, b], chosen[b], chosen[a], bottom=a == d - 1, left=b == 0)
    for c in range(d):  # one range for each column, across and up
        below, left = [made[a, c] for a in range(c, d)], [made[c, b] for b in range(c)]
        ends = [one.get_xlim() for one in below] + [one.get_ylim() for one in left]
        if _is_crowded(chosen[c]) == "clip":
            ends = ends[:1]  # those of the diagonal, which counts the rows beyond
        low, high = (min(low for low, _ in ends), max(high for _, high in ends))
        for one in below:
            one.set_xlim(low, high)
        for one in left:
            one.set_ylim(low, high)
    _key(sheet, few, view.n)
    return made


def cross(view: ModelView, across: int, up: int, ax: Axes) -> Any:
    """One pair of columns: rows and ellipses."""
    columns = view.columns[across].pooled(LEVELS), view.columns[up].pooled(LEVELS)
    drawn = _drawn(view) or [(0, 0)]
    if view.rows is not None:
        both = columns[0].seen & columns[1].seen
        rng = np.random.default_rng(SEED)
        x, y = (_spread(column, rng) for column in columns)
        sure = 1.0 - view.doubt
        for j, i in ranked(view.weights, list(range(len(view.parts)))):
            mine = both & (view.owners == j)
            if mine.any():
                look = {"s": 3 + 11 * sure[mine], "alpha": 0.18 + 0.5 * sure[mine], "lw": 0, "marker": marker(i)}
                ax.scatter(x[mine], y[mine], color=colour(i), rasterized=True, **look)
    logarithmic = [_is_crowded(column) == "log" for column in columns]
    if "label" not in {columns[0].kind, columns[1].kind} and not any(logarithmic):
        for j, i in drawn:
            _ellipses(view, across, up, j, colour(i), ax)
    for column, axis, scale, log in zip(
        columns, (ax.xaxis, ax.yaxis), (ax.set_xscale, ax.set_yscale), logarithmic, strict=True
    ):
        if log:
            scale("log")
        else:
            _ticks(column, axis)
    dress(ax)
    ax.margins(0.05)
    return ax


def _is_crowded(column: Column) -> str:
    """How a column is drawn whose rows would stand in one place: see :func:`suffice.plot.curves.crowded`."""
    return "" if column.kind == "label" or column.cells is None else crowded(column.cells[column.seen])


def _spread(column: Column, rng: np.random.Generator) -> Array:
    """Where rows stand: numbers where they are, labels and counts of few values a little off."""
    cells = np.asarray(column.values, dtype=float)
    seen = cells[column.seen]
    crowded = column.kind == "count" and len(seen) and np.ptp(seen) <= 30
    return cells + rng.uniform(-JITTER, JITTER, len(cells)) if column.kind == "label" or crowded else cells


def _ellipses(view: ModelView, across: int, up: int, j: int, ink: str, ax: Axes) -> None:
    """A component at 1 and 2 standard deviations."""
    first, second = view.columns[across], view.columns[up]
    (mx, sx), (my, sy) = first.place(first.parts[j]), second.place(second.parts[j])
    known = homes(view.parts[j])
    cov = joint_covariance(view.parts[j], known[across], known[up])
    cov = np.diag([sx**2, sy**2]) if cov is None else cov
    if not np.isfinite(cov).all():
        return
    values, vectors = np.linalg.eigh(cov)
    circle = np.stack([np.cos(ROUND), np.sin(ROUND)])
    for reach, width, style in ((1, 1.5, "-"), (2, 0.9, "--")):
        x, y = np.array([[mx], [my]]) + reach * (vectors * np.sqrt(np.maximum(values, 0.0))) @ circle
        ax.plot(x, y, color=ink, lw=width, ls=style, gid=f"component {j}")


def _diagonal(view: ModelView, column: Column, ax: Axes) -> None:
    """The column by itself: labels as bars at their places, numbers as in ``plot.fitted``."""
    if column.kind == "label":
        _upright(view, column.pooled(LEVELS), ax)
    else:
        panel(view, column, ax)
    ax.set_title("", loc="left")
    ax.set(xlabel="", ylabel="")
    ax.set_yticks([])
    ax.spines["left"].set_visible(False)


def _upright(view: ModelView, column: Column, ax: Axes) -> None:
    """The observed share of each level, and next to it the fitted one, made of the components'."""
    place = np.arange(len(column.levels))
    if column.cells is not None:
        ax.bar(place - 0.2, column.observed, 0.36, color=GREY, alpha=0.75)
    low = np.zeros(len(place))
    for j, i in _drawn(view) or [(0, 0)]:
        share = column.weights[j] * column.probabilities[j]
        ax.bar(place + 0.2, share, 0.36, low, color=colour(i), alpha=0.9)
        low += share
    _ticks(column, ax.xaxis)
    dress(ax)


def _ticks(column: Column, axis: Any) -> None:
    if column.kind == "label":
        shown = range(min(len(column.levels), LEVELS))
        axis.set_ticks(list(shown), [plain(column.levels[i], 10) for i in shown])
    else:
        axis.get_major_locator().set_params(nbins=4)


def _edges(ax: Axes, across: Column, up: Column, *, bottom: bool, left: bool) -> None:
    """Names along the left and the bottom only."""
    ax.tick_params(labelsize=7)
    if across.kind == "label":
        ax.tick_params(axis="x", rotation=35)
    if not bottom:
        ax.tick_params(axis="x", labelbottom=False)
    if not left:
        ax.tick_params(axis="y", labelleft=False)
    if bottom:
        ax.set_xlabel(plain(across.label, 26), fontsize=8)
    if left:
        ax.set_ylabel(plain(up.label, 26), fontsize=8)


def _key(sheet: Figure, view: ModelView, rows: int) -> None:
    """The components and how many rows are shown, in the empty corner."""
    from matplotlib.lines import Line2D

    drawn = (_drawn(view) or [(0, 0)])[:12]
    handles = [Line2D([], [], color=colour(i), marker=marker(i), ls="-", lw=1.4, ms=5) for _, i in drawn]
    names = [_called(view, j) if view.mixed else "fitted" for j, _ in drawn]
    count = "" if not rows else f"{view.n:,} of {rows:,} rows" if rows > view.n else f"{rows:,} rows"
    note = "\nsmall and pale: in doubt" if view.mixed and rows else ""
    sheet.legend(
        handles, names, loc="upper right", bbox_to_anchor=(0.99, 0.985), frameon=False, fontsize=8,
        title=count + note or None, title_fontsize=8, alignment="left",
    )  # fmt: skip
