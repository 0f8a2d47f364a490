"""Pictures of mixtures: the density of one column over the data, or the components in two columns."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from suffice.core.family import Family
from suffice.errors import ParameterError, UnsupportedError
from suffice.models.mixture import Mixture
from suffice.plot.canvas import BAR, DARK, DASHES, axes, colour, dress, marker, plain, title
from suffice.plot.column import Column
from suffice.plot.component_columns import homes
from suffice.plot.curves import bins, extent, grid, heights, is_discrete
from suffice.plot.model_view import ModelView, model_of, ranked
from suffice.types import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from suffice.types import Data

SHOWN = 5000  # rows that a picture can hold
NAMED = 14  # components that a legend names
ALIKE = 2.5  # ratio of the ranges of two columns up to which both axes have the same unit
ROUND = np.linspace(0, 2 * np.pi, 145)  # an ellipse


def mixture(
    found: object, data: Data = None, ax: Axes | None = None, *, columns: Sequence[Hashable] | None = (0, 1)
) -> Any:
    """Draw a mixture: of one column its density over the data, of several its components in two of the columns.

    Parameters
    ----------
    found : fit or distribution
        A fit, a mixture, an estimator, or the posterior of a mixture, which is drawn at its expected parameters.
    data : array, frame, columns by name, or files
        Rows to show; a fit knows its own, unless it has been in a file or they were changed.
    ax : matplotlib axes, optional
        Matplotlib axes; new ones where none are given.
    columns : two labels
        Places or names of the two columns to show, or of one for its density.

    Returns
    -------
    The Matplotlib axes. One column: a histogram, the density of the mixture and each component's share of it, which add
    up to it. Two: rows in the colour of their most probable component, with its mean and the ellipses at 1 and 2
    standard deviations, which hold 39 % and 86 % of its rows.

    Examples
    --------
    >>> fit = sf.fit(sf.Mixture(sf.Normal(), 2), [1, 2, 1, 7, 9, 8.0], random_state=0)
    >>> ax = sf.plot.mixture(fit)  # doctest: +SKIP
    """
    model = mixture_of(found)
    view = ModelView.of(found, data)
    asked = columns if isinstance(columns, (tuple, list)) else (columns,)
    wanted = view.chosen([0] if len(view.names) == 1 else asked)
    if len(wanted) not in (1, 2):
        msg = f"columns are one or two, as in columns=(0, 1); got {columns!r}."
        raise ParameterError(msg)
    for column in wanted:
        if column.kind not in {"number", "count"}:
            raise refuse_column(column)
    labels, note = [plain(column.label) for column in wanted], f", {view.note}" if view.note else ""
    if len(wanted) == 1:
        part = Mixture(list(wanted[0].parts), weights=model.weights)
        return _density(part, wanted[0].cells, view.row_weights, labels[0], note, axes(ax))
    places = [normal_of(one, [view.columns.index(column) for column in wanted]) for one in model.parts]
    table = None if view.rows is None else [column.cells for column in wanted]
    who = None if view.rows is None else view.owners
    return _scatter(model, places, table, who, labels, note, axes(ax, (5.8 if model.n <= 4 else 7.4, 5.0)))


def mixture_of(found: object, who: str = "plot.mixture") -> Any:
    """The mixture to draw."""
    model, _ = model_of(found)
    if not (isinstance(model, Family) and model.is_mixture):
        got = getattr(model, "name", type(model).__name__)
        msg = f"{who} draws a Mixture, its fit or its posterior; got {got}. {CAN}"
        raise ParameterError(msg)
    if not model.ready:
        msg = "this Mixture has no parameters yet; fit it to data, or give its components some."
        raise ParameterError(msg)
    return model


CAN = (
    "It can draw one column of numbers of any family, or two columns of Normal or MultivariateNormal components: "
    "columns=(0, 1) by place or name, columns=0 for one of several."
)


def refuse_column(column: Column, who: str = "plot.mixture") -> UnsupportedError:
    """The refusal of a column that is no number."""
    return _refuse(column.family, who)


def _refuse(family: str, who: str = "plot.mixture") -> UnsupportedError:
    return UnsupportedError(f"{who} has no such picture of components that are {family}. {CAN}")


# ---- one column -----------------------------------------------------------------------------------------------------
def _density(model: Any, cells: Any, weights: Any, name: str, note: str, ax: Any) -> Any:
    """Histogram, density and the components' shares of it."""
    count = ""
    if cells is not None:
        kept = np.isfinite(cells)
        cells, weights = cells[kept], None if weights is None else weights[kept]
        count = f", {len(cells):,} rows"
    drawn = _drawn(model, None if cells is None else model.predict(cells))
    shown = [model.parts[j] for j in drawn]
    low, high = extent(shown, cells)
    discrete = all(is_discrete(part) for part in model.parts)
    x = np.arange(np.floor(low), np.ceil(high) + 1) if discrete else grid(shown, low, high)
    shares = np.stack([w * heights(part, x) for w, part in zip(model.weights, model.parts, strict=True)])
    if cells is not None and len(cells):
        edges = np.append(x, x[-1] + 1) - 0.5 if discrete else bins(cells)
        ax.hist(cells, edges, weights=weights, density=True, color=BAR, edgecolor="white", lw=0.4, label="data")
    style: dict[str, Any] = {"ls": ":", "ms": 4} if discrete else {}
    total = shares.sum(axis=0)
    ax.plot(x, total, color=DARK, lw=2.2, label="mixture", **({**style, "marker": "."} if discrete else {}))
    for j, i in ranked(model.weights, drawn):
        look = {**style, "marker": marker(i)} if discrete else {"ls": DASHES[1 + i // 7 % 3]}
        ax.plot(x, shares[j], color=colour(i), lw=1.7, label=_label(model, j), **look)
        if not discrete:
            ax.fill_between(x, shares[j], color=colour(i), alpha=0.12, lw=0)
    tallest = max((bar.get_height() for bar in ax.patches), default=np.inf)
    ax.set_ylim(0, 1.06 * max(min(float(total.max()), 3 * tallest), tallest if np.isfinite(tallest) else 0.0))
    word = "probability" if discrete else "density"
    ax.set(xlabel=name, ylabel=word)
    title(ax, f"{_kind(model)}: {word} and components' shares{count}{note}{_left_out(model, drawn)}")
    dress(ax)
    _legend(ax, 2)
    return ax


# ---- two columns ----------------------------------------------------------------------------------------------------
def normal_of(part: Any, columns: list[int]) -> tuple[Array, Array]:
    """Mean (2,) and covariance (2, 2) of a component in two columns."""
    if part.blocks:
        known = homes(part)
        (_, first, a), (_, second, b) = (known[column] for column in columns)
        if first == second:
            return normal_of(part.blocks[first], [a, b])
        means, covs = zip(*(normal_of(part.blocks[key], [i]) for key, i in ((first, a), (second, b))), strict=True)
        return np.concatenate(means), np.diag(np.ravel(covs))
    if not part.is_gaussian:
        raise _refuse(part.name)
    cov = np.asarray(part.cov) if part.row_vector else np.diag(np.atleast_1d(part.std) ** 2)
    return np.atleast_1d(part.mean)[columns], cov[np.ix_(columns, columns)]


def ellipse(mean: Array, cov: Array, reach: float) -> Array:
    """The points (2, 145) at so many standard deviations from a mean."""
    values, vectors = np.linalg.eigh(cov)
    circle = np.stack([np.cos(ROUND), np.sin(ROUND)])
    return np.asarray(mean[:, None] + reach * (vectors * np.sqrt(np.maximum(values, 0.0))) @ circle)


def _scatter(model: Any, places: Any, cells: Any, who: Any, labels: list[str], note: str, ax: Any) -> Any:
    """Rows by their most probable component, and each component's mean and ellipses."""
    count = ""
    drawn = _drawn(model, who)
    if cells is not None:
        chosen = np.flatnonzero(np.isfinite(cells[0]) & np.isfinite(cells[1]))
        count = f", {len(chosen):,} rows"
        if len(chosen) > SHOWN:
            chosen = np.sort(np.random.default_rng(0).choice(chosen, SHOWN, replace=False))
            count = f", {SHOWN:,} of {len(who):,} rows"
        for j, i in ranked(model.weights, drawn):
            mine = chosen[who[chosen] == j]
            look = {"s": 16, "alpha": 0.55, "lw": 0, "marker": marker(i), "color": colour(i)}
            ax.scatter(cells[0][mine], cells[1][mine], label=_label(model, j), rasterized=True, **look)
    for j, i in ranked(model.weights, drawn):
        mean, cov = places[j]
        for reach, width in ((1, 1.8), (2, 1.0)):
            x, y = ellipse(mean, cov, reach)
            label = _label(model, j) if who is None and reach == 1 else None
            ax.plot(x, y, color=colour(i), lw=width, ls="-" if reach == 1 else "--", label=label)
        ax.text(*mean, str(j), color="white", ha="center", va="center", fontsize=8, weight="bold", zorder=6)
        ax.plot(*mean[:, None], "o", color=colour(i), mec="white", mew=1.2, ms=12, zorder=5)
    ax.set(xlabel=labels[0], ylabel=labels[1])
    title(ax, f"{_kind(model)}: components at 1 and 2 std{count}{note}{_left_out(model, drawn)}")
    dress(ax)
    ax.margins(0.04)
    ratio = np.ptp(ax.get_xlim()) / np.ptp(ax.get_ylim())
    if 1 / ALIKE <= ratio <= ALIKE:  # one unit for both columns: ellipses have their true shape
        ax.set_aspect("equal", adjustable="datalim")
    _legend(ax, 0)
    return ax


def _drawn(model: Any, who: Any) -> list[int]:
    """The components to draw: those that rows are most probably from, and others with a weight to speak of."""
    least = 1e-3 if who is None else 0.5 / max(len(who), 1)
    rows = np.zeros(model.n) if who is None else np.bincount(who, minlength=model.n)
    found = [j for j in range(model.n) if rows[j] or model.weights[j] >= least]
    return found or list(range(model.n))


def _left_out(model: Any, drawn: list[int]) -> str:
    few = model.n - len(drawn)
    return f"; {few} component{'s'[: few != 1]} without rows left out" if few else ""


def _kind(model: Any) -> str:
    kinds = list(dict.fromkeys(one.name for one in model.parts))
    return f"{model.n} × {kinds[0]}" if len(kinds) == 1 else f"Mixture of {' and '.join(kinds)}"


def _label(model: Any, j: int) -> str:
    kind = f" {model.parts[j].name}" if len({one.name for one in model.parts}) > 1 else ""
    return f"component {j}{kind}, weight {model.weights[j]:.2g}"


def _legend(ax: Any, others: int) -> None:
    """Name the components, beside the picture where there are many of them, and not more than are readable."""
    handles, labels = ax.get_legend_handles_labels()
    room = NAMED + others
    if len(labels) > room:
        more = f"… {len(labels) - room + 1} more"
        handles, labels = [*handles[: room - 1], handles[0].__class__([], [])], [*labels[: room - 1], more]
    outside = {"loc": "upper left", "bbox_to_anchor": (1.0, 1.0)} if len(labels) > 4 + others else {}
    ax.legend(handles, labels, fontsize=8, framealpha=0.75, edgecolor="none", **outside)
