"""Pictures of columns: fitted and observed distributions, and how components differ."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from suffice.errors import ParameterError
from suffice.plot.canvas import BAR, DARK, GREY, axes, colour, dress, figure, marker, plain, title
from suffice.plot.column import Column
from suffice.plot.curves import CLIPPED, bins, crowded, extent, grid, heights
from suffice.plot.model_view import FADED, ModelView, ranked
from suffice.types import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from suffice.types import Data

MOST = 12  # columns of a picture
ACROSS = 3  # panels side by side
LEVELS = 10  # labels of a column that are shown
WHOLE = 60  # whole numbers that have a bar each
FINE = 121  # points of a curve
FILLED = 6  # components whose shares are filled; more of them would hide each other
LINES = 30  # of a profile
TICKS = 40  # rows that have a tick each


# ---- fitted and observed --------------------------------------------------------------------------------------------
def fitted(
    found: object, data: Data = None, *, columns: Sequence[Hashable] | None = None, ax: Axes | None = None
) -> Any:
    """Draw the fitted and the observed distribution, a panel for each column.

    Numbers: a histogram (and a tick for each of few rows), the density of the whole model and each component's share of
    it. Counts: the same with a bar for each number. Labels: the observed share of each level above the fitted one,
    which is made of the components' shares.

    Parameters
    ----------
    found : fit or distribution
        A fit, a fitted estimator, or a distribution.
    data : array, frame, columns by name, or files
        Rows to show; a fit knows its own, unless it has been in a file or they were changed.
    columns : sequence of labels, optional
        Names or places; of more than 12, the most informative by default.
    ax : matplotlib axes, optional
        Matplotlib axes for one column.

    Returns
    -------
    The axes, one for each column.

    Examples
    --------
    >>> fit = sf.fit(sf.Mixture(sf.Normal(), 2), [1, 2, 1, 7, 9, 8.0], random_state=0)
    >>> axes = sf.plot.fitted(fit)  # doctest: +SKIP
    """
    view = ModelView.of(found, data)
    chosen = view.to_draw(columns, MOST, "plot.fitted")
    if ax is not None:
        if len(chosen) != 1:
            msg = f"ax= holds one column, and there are {len(chosen)}; name one: columns=[{view.names[0]!r:.40}]."
            raise ParameterError(msg)
        return (panel(view, chosen[0], ax, legend=True),)
    if len(chosen) == 1:
        return (panel(view, chosen[0], axes(None, (5.6, 3.6)), legend=True),)
    across = min(ACROSS, len(chosen))
    down = -(-len(chosen) // across)
    sheet = figure(3.3 * across, 2.6 * down + 0.5)
    panels = np.ravel(sheet.subplots(down, across))
    for column, one in zip(chosen, panels, strict=False):
        panel(view, column, one)
    for empty in panels[len(chosen) :]:
        empty.remove()
    _key(sheet, panels[: len(chosen)])
    if columns is None and len(view.drawable) > len(chosen):
        _left_out(sheet, f"{len(view.drawable) - len(chosen):,} columns that tell less")
    return tuple(panels[: len(chosen)])


def panel(view: ModelView, column: Column, ax: Axes, *, legend: bool = False) -> Any:
    """One column of a model."""
    drawn = _drawn(view)
    if column.kind == "label":
        _bars(view, column, drawn, ax)
    else:
        _curves(view, column, drawn, ax)
    few = 0 if column.cells is None else int((~column.seen).sum())
    words = ["share of rows"] if column.kind == "label" else []
    words += [f"{few:,} of {view.n:,} missing"] if few else []
    ax.set_xlabel(", ".join(words))
    title(ax, plain(column.label, 34))
    dress(ax)
    if column.kind == "label":
        ax.tick_params(axis="y", length=0)
    if legend and (view.mixed or column.cells is not None):
        ax.legend(frameon=False, fontsize=8)
    return ax


def _drawn(view: ModelView) -> list[tuple[int, int]]:
    """The components with a weight to speak of, and the numbers of their colours; one alone is the whole."""
    live = [j for j, weight in enumerate(view.weights) if weight >= FADED]
    return ranked(view.weights, live) if view.mixed else []


def _key(sheet: Figure, panels: Array) -> None:
    """What the colours are, above all panels."""
    known: dict[str, Any] = {}
    for one in panels:
        for handle, label in zip(*one.get_legend_handles_labels(), strict=True):
            known.setdefault(label, handle)
    names = list(known)[:12]
    sheet.legend([known[name] for name in names], names, loc="outside upper left", ncols=5, frameon=False, fontsize=8)


def _called(view: ModelView, j: int) -> str:
    return f"{plain(view.components[j], 24)}, {100 * view.weights[j]:.0f} %"


def _curves(view: ModelView, column: Column, drawn: list[tuple[int, int]], ax: Axes) -> None:
    cells = held = None
    if column.cells is not None:
        cells = column.cells[column.seen]
        held = None if view.row_weights is None else view.row_weights[column.seen]
    parts = [column.parts[j] for j, _ in drawn] or list(column.parts)
    how = crowded(cells)
    if cells is not None and how == "clip":
        kept = (cells >= np.quantile(cells, CLIPPED)) & (cells <= np.quantile(cells, 1 - CLIPPED))
        beyond, cells, held = int((~kept).sum()), cells[kept], None if held is None else held[kept]
        ax.annotate(f"{beyond:,} rows beyond", (0.98, 0.9), xycoords="axes fraction", ha="right", fontsize=7)
    low, high = extent(parts, cells)
    low = max(low, float(cells.min()) / 2) if cells is not None and how == "log" else low
    few = column.kind == "count" and high - low <= WHOLE
    if column.kind == "count":
        low, high = np.floor(low), np.ceil(high)
        x: Array = np.unique(np.round(np.linspace(low, high, int(min(high - low, 2 * FINE)) + 1)))
    else:
        x = grid(parts, low, high, FINE)
    stretch: Any = 1.0
    if how == "log":  # of a density, that of the logarithm
        x = np.unique([*x[x >= low], *np.geomspace(low, high, FINE).round(0 if column.kind == "count" else 12)])
        x, stretch = x[x > 0], x[x > 0]
        ax.set_xscale("log")
    shares = [w * stretch * heights(part, x) for w, part in zip(column.weights, column.parts, strict=True)]
    tallest = np.inf
    if cells is not None and len(cells):
        edges = np.append(x, x[-1] + 1) - 0.5 if few else np.exp(bins(np.log(cells))) if how == "log" else bins(cells)
        bars, _ = np.histogram(cells, edges, weights=held, density=True)
        bars = bars * np.diff(edges) / np.diff(np.log(edges)) if how == "log" else bars
        ax.stairs(bars, edges, fill=True, color=BAR, label="observed")
        tallest = float(bars.max())
    total = np.sum(shares, axis=0)
    ax.plot(x, total, color=DARK, lw=2, marker="." if few else "", label="fitted")
    for j, i in drawn:
        look = {"marker": marker(i), "ms": 3, "lw": 1, "ls": ":"} if few else {"lw": 1.4}
        ax.plot(x, shares[j], color=colour(i), label=_called(view, j), **look)
        if not few and len(drawn) <= FILLED:
            ax.fill_between(x, shares[j], color=colour(i), alpha=0.12, lw=0)
    if cells is not None and 0 < len(cells) <= TICKS and not few:
        _row_ticks(view, column, drawn, ax)
    top = float(np.max(total[np.isfinite(total)], initial=0.0))
    top = max(min(top, 2 * tallest), tallest if np.isfinite(tallest) else 0.0)
    ax.set_ylim(0, 1.08 * (top or 1.0))
    ax.set(ylabel="density of the log" if how == "log" else "probability" if column.kind == "count" else "density")
    ax.locator_params(nbins=5, axis="y" if how == "log" else "both")


def _row_ticks(view: ModelView, column: Column, drawn: list[tuple[int, int]], ax: Axes) -> None:
    """A tick for each of few rows, in the colour of its most probable component: a histogram of them says little."""
    seen = np.flatnonzero(column.seen)
    shades = dict(drawn)
    tints = [colour(shades[j]) if j in shades else DARK for j in view.owners[seen]] if view.mixed else DARK
    ax.vlines(np.asarray(column.cells)[seen], 0, 0.06, color=tints, lw=1.4, transform=ax.get_xaxis_transform())


def _bars(view: ModelView, column: Column, drawn: list[tuple[int, int]], ax: Axes) -> None:
    """Horizontal bars: the observed share of each level, and under it the fitted one, made of the components'."""
    fit = column.weights @ column.probabilities
    seen = column.observed if column.cells is not None else fit
    order = np.arange(len(column.levels))
    rest: Array = order[:0]
    if len(order) > LEVELS:
        by_size = np.argsort(-np.maximum(fit, seen), kind="stable")
        order, rest = np.sort(by_size[: LEVELS - 1]), by_size[LEVELS - 1 :]
    names = [plain(column.levels[i], 18) for i in order] + ([f"{len(rest)} others"] if len(rest) else [])

    def of(values: Array) -> Array:
        tail = [values[rest].sum()] if len(rest) else []
        return np.concatenate([values[order], tail])

    place = np.arange(len(names))
    if column.cells is not None:
        ax.barh(place - 0.2, of(seen), 0.36, color=GREY, alpha=0.75, label="observed")
    left = np.zeros(len(names))
    if not drawn:
        ax.barh(place + 0.2, of(fit), 0.36, color=DARK, label="fitted")
    for j, i in drawn:
        share = of(column.weights[j] * column.probabilities[j])
        ax.barh(place + 0.2, share, 0.36, left, color=colour(i), alpha=0.9, label=_called(view, j))
        left += share
    ax.set_yticks(place, names)
    ax.invert_yaxis()
    ax.set(xlim=(0, 1.05 * max(float(of(fit).max()), float(of(seen).max()), 1e-9)))


# ---- what sets the components apart
# ------------------------------------------------------------------------------------
def profile(found: object, data: Data = None, *, columns: Sequence[Hashable] | None = None) -> Any:
    """Draw the components side by side, a line for each column.

    Numbers and counts: the mean of each component, in standard deviations of the whole model from its mean, with a bar
    of ± 1 standard deviation of the component. Labels: the probability of each level under each component; the grey
    tick is the probability under the whole model.

    Parameters
    ----------
    found, data : fit or distribution, array or frame
        As in ``plot.fitted``; the data rank the columns where there are too many.
    columns : sequence of labels, optional
        Names or places; all by default, as far as 30 lines hold them.

    Returns
    -------
    The axes: of numbers, of labels, or both.

    Examples
    --------
    >>> axes = sf.plot.profile(sf.fit(sf.Mixture(sf.infer(df), 3), df))  # doctest: +SKIP
    """
    view = ModelView.of(found, data)
    among = view.drawable if columns is None else tuple(view.chosen(columns))
    numbers = view.most_informative(LINES, tuple(one for one in among if one.kind in {"number", "count"}))
    labels = tuple(one for one in among if one.kind == "label")
    labels = _that_fit(view, labels)
    lines = [(column, level) for column in labels for level in _levels_to_show(column)]
    if not numbers and not lines:
        msg = "plot.profile draws columns of numbers, counts or labels; this model has vectors alone."
        raise ParameterError(msg)
    panels = bool(numbers) + bool(lines)
    sheet = figure(5.6 if panels == 1 else 9.6, 1.5 + 0.3 * max(len(numbers), len(lines), 3))
    made = np.atleast_1d(sheet.subplots(1, panels))
    if numbers:
        _means(view, numbers, made[0])
    if lines:
        _chances(view, lines, made[-1])
    handles, names = made[0].get_legend_handles_labels()
    sheet.legend(handles[:12], names[:12], loc="outside upper left", ncols=4, frameon=False, fontsize=8)
    fewer = len([one for one in among if one.kind != "vector"]) - len(numbers) - len(labels)
    levels = sum(len(column.levels) - len(_levels_to_show(column)) for column in labels if len(column.levels) > 2)
    counts = ((fewer, "columns that tell less"), (levels, "rarer levels"))
    missing = [f"{count:,} {what}" for count, what in counts if count]
    if missing:
        _left_out(sheet, " and ".join(missing))
    return tuple(made)


def _that_fit(view: ModelView, labels: tuple[Column, ...]) -> tuple[Column, ...]:
    """The columns of labels that tell most, as far as their levels have lines, in the order of the model."""
    order = sorted(labels, key=lambda column: -view.information(column))
    used = np.cumsum([len(_levels_to_show(column)) for column in order])
    kept = order[: max(int(np.sum(used <= LINES)), 1)]
    return tuple(column for column in labels if column in kept)


def _left_out(sheet: Any, what: str) -> None:
    """Say what a picture has no room for."""
    sheet.supxlabel(f"left out: {what}", x=0.01, ha="left", fontsize=8, color=GREY)


def _levels_to_show(column: Column) -> list[int]:
    """Both of two levels say the same; of many, the most common."""
    if len(column.levels) <= 2:
        return [len(column.levels) - 1]
    whole = column.weights @ column.probabilities
    return [int(i) for i in np.sort(np.argsort(-whole, kind="stable")[:6])]


def _space(count: int, place: int) -> float:
    """A little above or below the line, so that components do not hide each other."""
    return 0.0 if count < 2 else 0.44 * (place / (count - 1) - 0.5)


def _means(view: ModelView, columns: list[Column], ax: Any) -> None:
    drawn = _drawn(view) or [(0, 0)]
    for order, (j, i) in enumerate(drawn):
        middle, reach = [], []
        for column in columns:
            (centre, spread), (mine, width) = column.place(column.whole), column.place(column.parts[j])
            scale = spread if spread > 0 else 1.0
            middle.append((mine - centre) / scale)
            reach.append(width / scale)
        place = np.arange(len(columns)) + _space(len(drawn), order)
        ax.hlines(place, np.subtract(middle, reach), np.add(middle, reach), color=colour(i), lw=1.6, alpha=0.45)
        look = {"ls": "", "marker": marker(i), "ms": 6.5, "mec": "white", "mew": 0.6}
        ax.plot(middle, place, color=colour(i), label=_called(view, j), **look)
    ax.axvline(0.0, color=GREY, lw=1)
    _lines(ax, [plain(column.label, 24) for column in columns])
    ax.set(xlabel="std from the mean of all rows")


def _chances(view: ModelView, lines: list[tuple[Column, int]], ax: Any) -> None:
    whole = [float(column.weights @ column.probabilities[:, level]) for column, level in lines]
    ax.plot(whole, np.arange(len(lines)), "|", color=GREY, ms=13, mew=2, zorder=1)
    drawn = _drawn(view) or [(0, 0)]
    for order, (j, i) in enumerate(drawn):
        chances = [float(column.probabilities[j, level]) for column, level in lines]
        place = np.arange(len(lines)) + _space(len(drawn), order)
        look = {"ls": "", "marker": marker(i), "ms": 6.5, "mec": "white", "mew": 0.6, "clip_on": False}
        ax.plot(chances, place, color=colour(i), label=_called(view, j), zorder=3, **look)
    _lines(ax, [f"{plain(column.label, 16)} = {plain(column.levels[level], 14)}" for column, level in lines])
    ax.set(xlabel="probability", xlim=(0, 1))


def _lines(ax: Axes, names: list[str]) -> None:
    for place in range(len(names)):
        ax.axhline(place, color=BAR, lw=0.7, zorder=0)
    ax.set_yticks(range(len(names)), names)
    ax.set_ylim(len(names) - 0.5, -0.5)
    dress(ax)
    ax.margins(x=0.04)
    ax.tick_params(axis="y", length=0)
