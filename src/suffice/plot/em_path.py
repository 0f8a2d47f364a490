"""Pictures of EM at work: the components and the responsibilities after some of its steps, in small multiples."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from suffice.em.result import Fit
from suffice.errors import ParameterError
from suffice.models.mixture import Mixture
from suffice.plot.canvas import BAR, DARK, across, colour, dress, figure, number, plain
from suffice.plot.curves import bins, grid, heights
from suffice.plot.mixtures import ellipse, mixture_of, normal_of, refuse_column
from suffice.plot.model_view import ModelView
from suffice.types import Array, Data, Seed

SHOWN = 1500  # rows that a small panel can hold
STRIP = 0.2  # height of the strip of rows, in parts of the height of the densities
ROOM = 0.06  # around the rows of two columns, in parts of their range


def em_steps(
    found: object,
    data: Data = None,
    steps: Sequence[int] = (0, 1, 2, 5, 10, 20),
    *,
    columns: Sequence[Hashable] | None = (0, 1),
    random_state: Seed = 0,
) -> Any:
    """Draw a mixture after some steps of EM: its components, and the rows in the colours of their responsibilities.

    Of one column the densities of the components, with the rows in a strip below; of two the rows, with the ellipses
    of each component at 1 and 2 standard deviations. A row that several components may have made has a mixed colour.
    All panels have the same axes, and each says its log-likelihood.

    Parameters
    ----------
    found : Mixture, Fit or estimator
        Where EM begins: the parameters of the mixture. A fit is begun anew, from components around rows that are drawn
        at random, and so is a mixture whose components are equal: EM would not move them.
    data : optional
        Rows; a fit knows its own.
    steps : sequence of int
        After how many steps of EM (an E-step and an M-step each) to draw; 0 is the start.
    columns : one or two labels
        Places or names of the two columns to show, or of one.
    random_state : int, optional
        Seed of the start, where it is drawn.

    Returns
    -------
    tuple of matplotlib.axes.Axes
        One for each of ``steps``.

    Examples
    --------
    >>> start = sf.Mixture([sf.Normal(0, 1), sf.Normal(1, 1)])
    >>> panels = sf.plot.em_steps(start, [1.0, 2.0, 1.5, 7.0, 9.0, 8.0], steps=(0, 1, 5))  # doctest: +SKIP
    """
    model = mixture_of(found, "plot.em_steps")
    counts = _check_steps(steps)
    view = ModelView.of(found, data)
    if view.rows is None or not view.n:
        msg = "plot.em_steps needs the rows that EM learns from: plot.em_steps(mixture, data)."
        raise ParameterError(msg)
    asked = columns if isinstance(columns, (tuple, list)) else (columns,)
    wanted = view.chosen([0] if len(view.names) == 1 else asked)
    if len(wanted) not in (1, 2):
        msg = f"columns are one or two, as in columns=(0, 1); got {columns!r}."
        raise ParameterError(msg)
    for column in wanted:
        if column.kind not in {"number", "count"}:
            raise refuse_column(column, "plot.em_steps")
    if isinstance(found, Fit) or hasattr(found, "fit_") or model.is_symmetric:
        path = _from_drawn_start(view, [column.cells for column in wanted], counts, random_state)
    else:
        path = _path(model, view, counts)
    scenes = [_scene(view, one) for one in path]
    sheet = figure(*_size(len(counts)))
    wide = across(len(counts))
    panels = sheet.subplots(-(-len(counts) // wide), wide, sharex=True, sharey=True, squeeze=False)
    made = tuple(panels.flat)[: len(counts)]
    for spare in tuple(panels.flat)[len(counts) :]:
        spare.remove()
    places = [view.columns.index(column) for column in wanted]
    draw = _one_column if len(places) == 1 else _two_columns
    draw(scenes, places, made)
    for ax, count, scene in zip(made, counts, scenes, strict=True):
        after = "start" if count == 0 else f"step {count:,}"
        ax.set_title(f"{after}: log L {number(_log_likelihood(scene))}", fontsize=10, loc="left")
        dress(ax)
    _label(panels, "x", plain(wanted[0].label))
    _label(panels, "y", plain(wanted[1].label) if len(wanted) == 2 else "density")
    handles, names = made[0].get_legend_handles_labels()
    sheet.legend(handles[:9], names[:9], loc="outside lower center", ncols=5, frameon=False, fontsize=9)
    return made


def _check_steps(steps: Any) -> list[int]:
    counts = list(steps) if isinstance(steps, (Sequence, np.ndarray, range)) else [steps]
    whole = all(isinstance(one, (int, np.integer)) and not isinstance(one, bool) and one >= 0 for one in counts)
    if not counts or not whole or sorted(set(counts)) != counts:
        msg = (
            f"steps are whole numbers from 0 on, each greater than the one before, as (0, 1, 2, 5); got {steps!r:.60}."
        )
        raise ParameterError(msg)
    return [int(one) for one in counts]


def _size(count: int) -> tuple[float, float]:
    wide = across(count)
    return 3.4 * wide + 0.6, 2.7 * -(-count // wide) + 0.7


# ---- the steps ------------------------------------------------------------------------------------------------------
def _from_drawn_start(view: ModelView, cells: list[Any], counts: list[int], random_state: Seed) -> list[Mixture]:
    """The path of EM from a drawn start, its components in the order of those of the model that they end near."""
    from scipy.optimize import linear_sum_assignment

    responsibilities = _drawn_responsibilities(view, cells, random_state)

    def walk(order: Array) -> list[Mixture]:
        held = responsibilities[:, order]
        held = held if view.row_weights is None else held * view.row_weights[:, None]
        return _path(view.model.em_step(view.rows, held), view, counts)

    as_drawn = np.arange(responsibilities.shape[1])
    found = walk(as_drawn)
    order = linear_sum_assignment(-view.responsibilities.T @ _scene(view, found[-1]).responsibilities)[1]
    return found if (order == as_drawn).all() else walk(order)


def _drawn_responsibilities(view: ModelView, cells: list[Any], random_state: Seed) -> Array:
    """Responsibilities (n, k) that lean, by half, towards the nearest of k rows drawn at random."""
    k = len(view.parts)
    table = np.column_stack([np.where(np.isfinite(one), one, np.nanmean(one)) for one in cells])
    spread = table.std(axis=0)
    table = table / np.where(spread > 0, spread, 1.0)
    different = np.unique(table, axis=0)
    if len(different) < k:
        msg = f"{k} components cannot begin at {len(different)} different rows; give a mixture with parameters."
        raise ParameterError(msg)
    centres = different[np.random.default_rng(random_state).choice(len(different), k, replace=False)]
    nearest = np.square(table[:, None] - centres).sum(axis=2).argmin(axis=1)
    return np.asarray(0.5 / k + 0.5 * np.eye(k)[nearest])


def _path(model: Mixture, view: ModelView, counts: list[int]) -> list[Mixture]:
    """The mixture after each of so many steps."""
    found = []
    for step in range(counts[-1] + 1):
        if step:
            model = model.em_step(view.rows, view.row_weights)
        if step in counts:
            found.append(model)
    return found


def _scene(view: ModelView, model: Mixture) -> ModelView:
    return replace(view, model=model, parts=tuple(model.parts), weights=np.asarray(model.weights))


def _log_likelihood(scene: ModelView) -> float:
    each = np.asarray(scene.model.log_prob(scene.rows))
    return float(each.sum() if scene.row_weights is None else scene.row_weights @ each)


def _colours(responsibilities: Array) -> Array:
    """The colours of the components, mixed by the responsibilities of each row, (n, 3)."""
    from matplotlib.colors import to_rgb

    return np.asarray(responsibilities @ np.array([to_rgb(colour(j)) for j in range(responsibilities.shape[1])]))


# ---- one column -----------------------------------------------------------------------------------------------------
def _one_column(scenes: list[ModelView], places: list[int], made: Any) -> None:
    cells = _numbers(scenes[0], places[0])
    there = np.flatnonzero(np.isfinite(cells))
    low, high = float(cells[there].min()), float(cells[there].max())
    room = ROOM * ((high - low) or 1.0)
    edges = bins(cells[there])
    held = scenes[0].row_weights
    bars, _ = np.histogram(cells[there], edges, weights=None if held is None else held[there], density=True)
    curves = []
    for scene in scenes:
        column = scene.columns[places[0]]
        x = grid(list(column.parts), low - room, high + room)
        curves.append((x, np.stack([w * heights(one, x) for w, one in zip(scene.weights, column.parts, strict=True)])))
    tallest = float(bars.max())
    top = 1.06 * max(tallest, min(max(float(one.sum(axis=0).max()) for _, one in curves), 1.8 * tallest))
    shown = _some(there)
    height = -STRIP * top * (0.15 + 0.7 * np.random.default_rng(0).random(len(shown)))
    for scene, (x, parts), ax in zip(scenes, curves, made, strict=True):
        ax.stairs(bars, edges, fill=True, color=BAR, label="data")
        ax.plot(x, parts.sum(axis=0), color=DARK, lw=1.8, label="mixture")
        for j, y in enumerate(parts):
            ax.plot(x, y, color=colour(j), lw=1.5, label=f"component {j}")
            ax.fill_between(x, y, color=colour(j), alpha=0.12, lw=0)
        look = {"s": 7, "lw": 0, "alpha": 0.8, "rasterized": True}
        ax.scatter(cells[shown], height, color=_colours(scene.responsibilities[shown]), **look)
        ax.axhline(0, color="#444444", lw=0.8)
        ax.set(xlim=(low - room, high + room), ylim=(-STRIP * top, top))
        ax.set_yticks([tick for tick in ax.get_yticks() if 0 <= tick <= top])


def _numbers(scene: ModelView, place: int) -> Array:
    """The cells of a column of numbers, NaN for a hole."""
    return np.asarray(scene.columns[place].cells, dtype=float)


def _some(rows: Array) -> Array:
    """At most so many rows, by a seed."""
    return rows if len(rows) <= SHOWN else np.sort(np.random.default_rng(0).choice(rows, SHOWN, replace=False))


# ---- two columns ----------------------------------------------------------------------------------------------------
def _two_columns(scenes: list[ModelView], places: list[int], made: Any) -> None:
    first, second = (_numbers(scenes[0], place) for place in places)
    shown = _some(np.flatnonzero(np.isfinite(first) & np.isfinite(second)))
    limits = [_limits(one[shown]) for one in (first, second)]
    for scene, ax in zip(scenes, made, strict=True):
        look = {"s": 11, "lw": 0, "alpha": 0.65, "rasterized": True}
        ax.scatter(first[shown], second[shown], color=_colours(scene.responsibilities[shown]), **look)
        for j, part in enumerate(scene.parts):
            mean, cov = normal_of(part, places)
            for reach, width in ((1, 1.9), (2, 1.1)):
                label = f"component {j}" if reach == 1 else None
                ax.plot(
                    *ellipse(mean, cov, reach), color=colour(j), lw=width, ls="-" if reach == 1 else "--", label=label
                )
            ax.plot(*mean[:, None], "o", color=colour(j), mec="white", mew=1.2, ms=7, zorder=5)
        ax.set(xlim=limits[0], ylim=limits[1])


def _limits(cells: Array) -> tuple[float, float]:
    low, high = float(cells.min()), float(cells.max())
    room = ROOM * ((high - low) or 1.0)
    return low - room, high + room


def _label(panels: Any, axis: str, name: str) -> None:
    """Name an axis once for each row or column of panels."""
    outer = [[ax for ax in row if ax.figure is not None] for row in (panels if axis == "y" else panels.T)]
    for row in outer:
        if row:
            ax = row[0] if axis == "y" else row[-1]
            ax.set(**{f"{axis}label": name})
            ax.tick_params(**({"labelbottom": True} if axis == "x" else {}))
